"""One connection: limits on the head of a request, because a client that never completes one would hold its connection
for ever, and answers that leave whole."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from server.api.joined_writes import JoinedWrites

HEAD_SECONDS = 10.0
"""Seconds for a request line and headers, and for a new connection to send anything."""
MAX_HEAD_BYTES = 64 * 1024
"""The largest request line and headers together."""


class PromptProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits of time and size on the head of a request, which uvicorn's own lacks (routes limit
    the body), and with head and body of an answer in one write."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._is_in_head, self._head_bytes = True, 0
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._writes = JoinedWrites(transport, self.loop)
        super().connection_made(self._writes)
        self._be_patient()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._is_in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(b"431 Request Header Fields Too Large")
                return
        if (self._is_in_head or self._is_idle) and self._patience is None:
            self._be_patient()

    def on_message_begin(self) -> None:
        self._is_in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._is_in_head, self._head_bytes = False, 0
        self._forget_patience()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        self._writes.flush()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_patience()
        super().connection_lost(exc)

    @property
    def _is_idle(self) -> bool:
        """Whether no request of this connection is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _be_patient(self) -> None:
        self._patience = self.loop.call_later(HEAD_SECONDS, self._lose_patience)

    def _forget_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _lose_patience(self) -> None:
        self._patience = None
        if self._is_idle and not self.transport.is_closing():
            if self._head_bytes:
                self._refuse(b"408 Request Timeout")
            else:
                self.transport.close()

    def _refuse(self, status: bytes) -> None:
        head = b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        self.transport.write(head)
        self.transport.close()
