"""`ringmt` that kills itself (SIGKILL) right after the first write of an answer with the X-Request-ID `die-now`."""

import asyncio
import os
import signal
import sys
from typing import Any, cast
from unittest.mock import patch

from server.api.transport.protocol import LimitedProtocol
from server.cli import serve as serve_command
from server.cli.main import main

LAST_ID = "die-now"


class DyingTransport:
    """The transport below the server's protocol."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.transport = transport

    def write(self, data: bytes) -> None:
        if f"x-request-id: {LAST_ID}\r\n".encode() not in data:
            self.transport.write(data)
            return
        socket = self.transport.get_extra_info("socket").fileno()
        os.set_blocking(socket, True)
        while data:
            data = data[os.write(socket, data) :]
        os.kill(os.getpid(), signal.SIGKILL)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.transport, name)


class DyingProtocol(LimitedProtocol):
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, DyingTransport(transport)))


if __name__ == "__main__":
    with patch.object(serve_command, "LimitedProtocol", DyingProtocol):
        sys.exit(main())
