"""RingMT under Ray Serve: `serve run docker/ray/serve.yaml`, or

    serve run server.ray_deployment:application num_replicas=2 context_store=redis://HOST:6379/0

A replica is the same application as `ringmt serve`, in a process of Ray. Ray's proxy listens; Ray starts replicas,
checks their health and drains them. Admission, engine and documents are RingMT's.
"""

import asyncio
import contextlib
import logging.config
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from fastapi import FastAPI
from ray import serve

from server.api.app import create_app
from server.api.serving.server_state import ServerState
from server.cli.serve import SWITCH_INTERVAL
from server.runtime.nearest_name import nearest
from server.runtime.setting_fields import SettingsError
from server.settings import SETTINGS, Settings
from server.telemetry.logs import log_config

# Ray sends usage data to its vendor unless this is set before it starts.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

STOP_SECONDS = 10.0
"""Seconds after drain_timeout until Ray kills a replica: documents are released, engines and stores closed."""
POLL_SECONDS = 0.1
"""Seconds between two readiness checks of a starting replica."""
OF_RAY = ("host", "port")
"""Settings of the listener, which is Ray's proxy."""


def application(arguments: Mapping[str, object]) -> Any:
    """The application builder for `serve run` and the import_path of a Serve configuration. `arguments` are
    num_replicas (default 1) and settings by their names (context_store, models, ...), which override RINGMT_ variables
    of the calling process. Raises SettingsError for an unknown argument or an invalid value."""
    values = {name: str(value) for name, value in arguments.items()}
    replicas = values.pop("num_replicas", "1")
    if not replicas.isdecimal() or int(replicas) < 1:
        raise SettingsError(f"num_replicas must be a whole number from 1, not '{replicas}'")
    known = [setting.name for setting in SETTINGS if setting.name not in OF_RAY]
    for name in values:
        if name in OF_RAY:
            raise SettingsError(f"{name} is set in http_options of Serve's configuration: Ray's proxy listens")
        if name not in known:
            raise SettingsError(f"unknown argument {name}: {nearest(name, ['num_replicas', *known])}")
    settings = Settings.load(os.environ, values)
    if settings.processes != "1":
        raise SettingsError(f"processes {settings.processes}: Ray starts replicas in their place, num_replicas=N")
    if int(replicas) > 1 and not settings.context_store.startswith("redis://"):
        raise SettingsError(
            f"replicas share their documents over Redis, not over {settings.context_store}: "
            "context_store=redis://HOST:PORT/DB, or num_replicas=1"
        )
    deployment = serve.deployment(serve.ingress(_builder(settings))(Replica))
    return deployment.options(
        name="RingMT",
        num_replicas=int(replicas),
        max_ongoing_requests=settings.engine.max_waiting,  # RingMT queues, batches and rejects requests itself
        graceful_shutdown_timeout_s=settings.drain_timeout + STOP_SECONDS,
        health_check_period_s=10,
        health_check_timeout_s=5,
        ray_actor_options={
            "num_cpus": settings.engine.num_workers,
            "num_gpus": sum(name.startswith("cuda") for name in settings.engine.device.split(",")),
        },
        logging_config={"enable_access_log": False},  # without request ids; --access-log has them
    ).bind()


class Replica:
    """The health check of a replica. Ray sets `app`."""

    app: FastAPI

    def check_health(self) -> None:
        """As /livez. Raises RuntimeError when Ray should replace this replica."""
        state: ServerState = self.app.state.server
        reason = state.why_not_alive
        if reason is not None:
            raise RuntimeError(reason)


def _builder(settings: Settings) -> Callable[[], FastAPI]:
    def build() -> FastAPI:
        logging.config.dictConfig(log_config(settings.log_level, settings.log_format))
        sys.setswitchinterval(SWITCH_INTERVAL)
        app = create_app(settings)
        app.router.lifespan_context = _start_when_ready(app)
        return app

    return build


def _start_when_ready(app: FastAPI) -> Callable[[FastAPI], contextlib.AbstractAsyncContextManager[None]]:
    """The application's lifespan, which starts only when the server is ready: then Ray sends requests to the
    replica."""
    lifespan = app.router.lifespan_context
    state: ServerState = app.state.server

    @contextlib.asynccontextmanager
    async def start_when_ready(app: FastAPI) -> AsyncIterator[None]:
        async with lifespan(app):
            while state.why_not_ready is not None:
                if state.failure is not None:
                    raise RuntimeError(state.failure)
                await asyncio.sleep(POLL_SECONDS)
            yield

    return start_when_ready
