"""One of several processes of a server: it takes connections from the supervisor instead of a port."""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
from types import FrameType

import uvicorn

from server.api.serving.server_state import ServerState
from server.cli.draining_server import DrainingServer
from server.runtime.processes.board import CLOSING, OPEN, READY
from server.runtime.processes.supervisor import STOP_AT_ONCE
from server.runtime.processes.worker_process import WorkerProcess

logger = logging.getLogger("ringmt")


class WorkerServer(DrainingServer):
    """Drains at SIGTERM, however many come: an init system may send one to every process of a server, and the
    supervisor another. Stops at once at the supervisor's STOP_AT_ONCE."""

    def __init__(self, config: uvicorn.Config, state: ServerState, process: WorkerProcess) -> None:
        super().__init__(config, state)
        self._process = process
        self._connecting: set[asyncio.Task[None]] = set()
        signal.signal(STOP_AT_ONCE, self.handle_exit)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(1)
        self.servers = []
        self._process.board.beat(self._process.slot, OPEN)
        asyncio.get_running_loop().add_reader(self._process.channel.receiving.fileno(), self._take)
        self.started = True

    def _take(self) -> None:
        connection = self._process.channel.receive()
        if connection is not None:
            self._connecting.add(task := asyncio.create_task(self._connect(connection)))
            task.add_done_callback(self._connecting.discard)

    async def _connect(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the client has gone
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await asyncio.get_running_loop().connect_accepted_socket(self._protocol, connection)
        self._process.board.count_received(self._process.slot)

    def _protocol(self) -> asyncio.Protocol:
        protocol: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == STOP_AT_ONCE:
            self._state.drain.begin()
            self._state.drain.stop_waiting()
            self.force_exit = True
        elif sig == signal.SIGTERM:
            self._state.drain.begin()

    async def on_tick(self, counter: int) -> bool:
        ends = await super().on_tick(counter)
        if not ends and self._state.failure is None and self._state.why_not_alive is not None:
            logger.error("this process ends, and another one takes its place: %s", self._state.why_not_alive)
            self._state.drain.begin()
        is_ready = self._state.why_not_ready is None
        self._process.board.beat(self._process.slot, CLOSING if ends else READY if is_ready else OPEN)
        if ends:  # what waits goes to other processes
            asyncio.get_running_loop().remove_reader(self._process.channel.receiving.fileno())
        return ends
