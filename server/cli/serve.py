"""`ringmt serve`: one process, every setting a flag or a RINGMT_ variable."""

import argparse
import ipaddress
import logging
import socket
import sys
from types import FrameType

import uvicorn
from fastapi import FastAPI

from server.api.app import create_app
from server.api.serving.server_state import ServerState
from server.api.transport.connection_limits import Connections
from server.api.transport.protocol import PromptProtocol
from server.artifact.discovery import find_models
from server.cli.command import add_setting_flags, settings_of
from server.runtime.forced_exit import ForcedExit
from server.runtime.trim_heap import FullCollections
from server.settings import SETTINGS, Settings
from server.telemetry.logs import log_config

logger = logging.getLogger("ringmt")

KEEP_ALIVE_SECONDS = 75
"""Idle time of a connection between two requests: longer than clients pause (DeepL's client polls a document every 5
seconds) and than proxies keep connections (nginx: 60), because a request on a connection that is being closed is
lost."""

OTHER_FILES = 512
"""Open files other than connections: graphs, stores and logs."""
STOP_SECONDS = 5.0
"""Seconds after drain_timeout in which the process must exit: aborted requests are answered, engines and stores
closed."""

ANY_IPV6 = "::"
"""Every interface, over IPv6 and over IPv4 as well."""
SWITCH_INTERVAL = 0.0005
"""Seconds after which a Python thread yields to another. A decoding thread needs the interpreter for some microseconds
in every step; with Python's default of 5 ms it waits while whole requests are parsed (4% of the throughput)."""


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
        try:  # asyncio's own socket for :: takes no connections over IPv4
            address = (ANY_IPV6, self.config.port)
            listening = socket.create_server(
                address, family=socket.AF_INET6, backlog=self.config.backlog, dualstack_ipv6=True
            )
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
        drained_at = self._state.drained_at
        return None if drained_at is None else drained_at + STOP_SECONDS

    def _status(self, has_stopped: bool) -> int:
        return int(not has_stopped or self._state.failure is not None or bool(self.num_aborted))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._state.is_draining:
            self._state.hurry()
            self.force_exit = True
        else:
            self._state.drain()

    async def on_tick(self, counter: int) -> bool:
        if self._state.failure is not None:
            return True
        if self._state.is_draining and not (self.server_state.tasks and self._state.drain_seconds_left):
            self.num_aborted = len(self.server_state.tasks)
            if self.num_aborted:
                await self._state.give_up()
            self.config.timeout_graceful_shutdown = 1  # seconds to answer these requests
            return True
        return await super().on_tick(counter)


class ServeCommand:
    """`ringmt serve`."""

    help = (
        "Answer translation requests over HTTP. SIGTERM lets requests in flight finish within --drain-timeout; "
        "a second one stops at once."
    )

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        add_setting_flags(parser, SETTINGS)

    def run(self, args: argparse.Namespace, /) -> int:
        settings = settings_of(args, SETTINGS)
        find_models(settings.models)  # a wrong path or a duplicate name fails before the port is bound
        sys.setswitchinterval(SWITCH_INTERVAL)
        app = create_app(settings)
        state: ServerState = app.state.server
        server = DrainingServer(config_of(settings, app), state)
        if not state.keys.is_required and not is_loopback(settings.host):
            logger.warning(
                "listening on %s without API keys: every client that reaches this port has full access; "
                "--api-keys closes it (`ringmt key NAME` makes a key)",
                settings.host,
            )
        allow_open_files(settings.max_connections + OTHER_FILES)
        logger.info("%d threads decode, per model (--num-workers)", settings.engine.num_workers)
        server.forced_exit.start()
        FullCollections(server.is_idle).start()
        server.run()
        if state.failure is not None:
            print(f"ringmt: {state.failure}", file=sys.stderr)
            return 1
        if server.num_aborted:
            logger.warning("stopped; requests in flight that were given up: %d", server.num_aborted)
            return 1
        logger.info("stopped; all that was in flight was answered")
        return 0


def is_loopback(host: str) -> bool:
    """Whether an address is reachable from this machine only; False for other names than localhost."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def allow_open_files(count: int) -> None:
    """Raise the limit of open files of this process, up to its hard limit: each connection is an open file."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def config_of(settings: Settings, app: FastAPI) -> uvicorn.Config:
    """The configuration of uvicorn: one process, the log of `server.telemetry.logs`."""
    state: ServerState = app.state.server
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=PromptProtocol.within(Connections(settings.max_connections, state.metrics)),
        ws="none",  # no route uses WebSocket; by default uvicorn does, if a library for it is installed
        log_config=log_config(settings.log_level, settings.log_format),
        access_log=False,  # uvicorn's access log has query strings and no request ids
        server_header=False,
        proxy_headers=False,  # `ForwardedRequests` reads them
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, round(settings.drain_timeout)),
    )


SERVE = ServeCommand()
