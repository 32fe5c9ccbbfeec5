"""`ringmt serve`: one process or several, every setting a flag or a RINGMT_ variable."""

import argparse
import ipaddress
import logging
import logging.config
import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from server.api.app import create_app
from server.api.serving import file_counts
from server.api.serving.server_state import ServerState
from server.api.serving.shared_models import list_models
from server.api.transport.connection_limits import Connections
from server.api.transport.protocol import LimitedProtocol
from server.artifact.discovery import find_models
from server.cli.command import add_setting_flags, settings_of
from server.cli.draining_server import STOP_SECONDS, DrainingServer
from server.cli.process_shape import described, divided, num_processes
from server.cli.worker_server import WorkerServer
from server.keys.ring import KeyRing
from server.keys.shared_traffic import COMMON_WORDS, OWN_WORDS, forget_work
from server.runtime.processes.board import Board
from server.runtime.processes.listening import listen
from server.runtime.processes.shared_rows import SharedRows
from server.runtime.processes.supervisor import Forked, Supervisor
from server.runtime.processes.worker_process import WorkerProcess, shared_folder
from server.runtime.trim_heap import IdleCleanup
from server.settings import SETTINGS, Settings
from server.telemetry.logs import log_config

logger = logging.getLogger("ringmt")

KEEP_ALIVE_SECONDS = 75
"""Idle time of a connection between two requests: longer than clients pause (DeepL's client polls a document every 5
seconds) and than proxies keep connections (nginx: 60), because a request on a connection that is being closed is
lost."""

BACKLOG = 2048
"""Connections that wait until they are accepted, as many as uvicorn lets wait."""
OTHER_FILES = 512
"""Open files other than connections: graphs, stores and logs."""
SWITCH_INTERVAL = 0.0005
"""Seconds after which a Python thread yields to another. A decoding thread needs the interpreter for some microseconds
in every step; with Python's default of 5 ms it waits while whole requests are parsed (4% of the throughput)."""


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
        models = find_models(settings.models)  # a wrong path or a duplicate name fails before the port is bound
        count = num_processes(settings)
        return _serve(settings) if count == 1 else _serve_in_processes(settings, count, models)


def _serve(settings: Settings, process: WorkerProcess | None = None) -> int:
    """Serve until a signal; returns the exit status. `process`: this one, of a server with several."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    app = create_app(settings, process)
    state: ServerState = app.state.server
    config = config_of(settings, app)
    server = DrainingServer(config, state) if process is None else WorkerServer(config, state, process)
    if process is None:
        _warn_of_open_port(settings, state.keys)
    allow_open_files(settings.max_connections + OTHER_FILES)
    logger.info("%d threads decode, per model (--num-workers)", settings.engine.num_workers)
    server.forced_exit.start()
    IdleCleanup(server.is_idle).start()
    server.run()
    if state.failure is not None:
        if process is None:
            print(f"ringmt: {state.failure}", file=sys.stderr)
        else:
            process.why_not_started.write_text(state.failure)
        return 1
    if server.num_aborted:
        logger.warning("stopped; requests in flight that were given up: %d", server.num_aborted)
        return 1
    logger.info("stopped; all that was in flight was answered")
    return 0


def _serve_in_processes(settings: Settings, count: int, models: Mapping[str, Path]) -> int:
    """As `_serve`, with several processes."""
    logging.config.dictConfig(log_config(settings.log_level, settings.log_format))
    share = divided(settings, count)
    _warn_of_open_port(settings, KeyRing.load(settings.api_keys))  # wrong keys fail here, and not in every process
    board, rows = Board(count), SharedRows(count, COMMON_WORDS, OWN_WORDS)
    file_rows = SharedRows(count, 0, file_counts.OWN_WORDS)
    listening = listen(settings.host, settings.port, BACKLOG)
    allow_open_files(settings.max_connections + OTHER_FILES)
    host, port = listening[0].getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    logger.info("listening on http://%s:%d", shown, port)
    logger.info("%s", described(share, count))
    with shared_folder() as folder:
        locks = {folder / "rows.lock": rows, folder / "files.lock": file_rows}
        _open(locks)
        list_models(folder, models)
        longest = settings.drain_timeout + STOP_SECONDS + STOP_SECONDS

        def forget(slot: int) -> None:
            forget_work(rows, slot)
            file_counts.forget_files(file_rows, slot)

        outcome = Supervisor(listening, board, longest, forget).run()
        if isinstance(outcome, Forked):
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the supervisor's
            _open(locks)
            return _serve(share, WorkerProcess(outcome.slot, board, outcome.channel, rows, file_rows, folder))
        reason = WorkerProcess.reason_in(folder)
        if outcome.status and reason is not None:
            print(f"ringmt: {reason}", file=sys.stderr)
        return outcome.status


def _open(rows: Mapping[Path, SharedRows]) -> None:
    for lock, each in rows.items():
        each.open(lock)


def _warn_of_open_port(settings: Settings, keys: KeyRing) -> None:
    if not keys.is_required and not is_loopback(settings.host):
        logger.warning(
            "listening on %s without API keys: every client that reaches this port has full access; "
            "--api-keys closes it (`ringmt key NAME` makes a key)",
            settings.host,
        )


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
        http=LimitedProtocol.within(Connections(settings.max_connections, state.metrics, _counter(state.process))),
        ws="none",  # no route uses WebSocket; by default uvicorn does, if a library for it is installed
        log_config=log_config(settings.log_level, settings.log_format),
        access_log=False,  # uvicorn's access log has query strings and no request ids
        server_header=False,
        proxy_headers=False,  # `ForwardedRequests` reads them
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, round(settings.drain_timeout)),
    )


def _counter(process: WorkerProcess | None) -> Callable[[int], None]:
    """Where the number of open connections is published."""
    return (lambda number: None) if process is None else partial(process.board.set_connections, process.slot)


SERVE = ServeCommand()
