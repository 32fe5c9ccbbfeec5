"""A server that finishes what is in work before it stops."""

import logging
import socket
from types import FrameType

import uvicorn

from server.api.serving.server_state import ServerState
from server.runtime.forced_exit import ForcedExit
from server.runtime.processes.listening import ANY_IPV6, listen

logger = logging.getLogger("ringmt")

STOP_SECONDS = 5.0
"""Seconds after drain_timeout in which the process must exit: aborted requests are answered, engines and stores
closed."""


class DrainingServer(uvicorn.Server):
    """Drains at the first signal: new requests are rejected, /readyz reports it, and requests in flight finish within
    drain_timeout. Stops at once at a second signal, and exits when the models cannot be loaded."""

    def __init__(self, config: uvicorn.Config, state: ServerState) -> None:
        super().__init__(config)
        self._state = state
        self.num_aborted = 0
        """Requests that were still in flight at the stop."""
        self.forced_exit = ForcedExit(self._ends_at, self._status)
        """Started by ServeCommand, because it ends the process."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if sockets is not None or self.config.host != ANY_IPV6 or not socket.has_dualstack_ipv6():
            await super().startup(sockets)
            return
        try:
            [listening] = listen(ANY_IPV6, self.config.port, self.config.backlog)
        except OSError as error:
            logger.error("%s", error)
            raise SystemExit(1) from None
        await super().startup([listening])
        self._log_started_message([listening])

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().serve(sockets)
        finally:
            self.forced_exit.server_stopped()

    def is_idle(self) -> bool:
        """Whether the server has started, and no requests and no sentences (of documents, for example) are in
        flight."""
        return self._state.is_loaded and not (self.server_state.tasks or self._state.num_sentences)

    def _ends_at(self) -> float | None:
        drained_at = self._state.drain.ends_at
        return None if drained_at is None else drained_at + STOP_SECONDS

    def _status(self, has_stopped: bool) -> int:
        return int(not has_stopped or self._state.failure is not None or bool(self.num_aborted))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._state.drain.is_running:
            self._state.drain.stop_waiting()
            self.force_exit = True
        else:
            self._state.drain.begin()

    async def on_tick(self, counter: int) -> bool:
        if self._state.failure is not None:
            return True
        if self._state.drain.is_running and not (self.server_state.tasks and self._state.drain.seconds_left):
            self.num_aborted = len(self.server_state.tasks)
            if self.num_aborted:
                await self._state.give_up()
            self.config.timeout_graceful_shutdown = 1  # seconds to answer these requests
            return True
        return await super().on_tick(counter)
