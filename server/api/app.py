"""The ASGI application: routes, and the server's state, which is loaded at the start and drained at the stop."""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Iterator
from typing import TypeVar

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

from server.api.adapters import registry as adapters
from server.api.admission.api_route import ApiRoute
from server.api.admission.middleware import CLIENT_GONE, RequestMiddleware
from server.api.deepl import documents as deepl_documents
from server.api.deepl import glossaries as deepl_glossaries
from server.api.deepl import routes as deepl
from server.api.deepl import translation_memories as deepl_memories
from server.api.deepl.route import DEEPL
from server.api.libretranslate import files as libretranslate_files
from server.api.libretranslate import routes as libretranslate
from server.api.libretranslate import spec
from server.api.libretranslate.route import CorsForPaths
from server.api.mcp import route as mcp
from server.api.mcp.errors import MCP
from server.api.native import (
    document_events,
    document_list,
    documents,
    files,
    glossaries,
    keys,
    models,
    score,
    translate,
    translation_memories,
)
from server.api.openai import chat
from server.api.openai.route import OPENAI
from server.api.operations import docs, health
from server.api.operations import web_page as page
from server.api.requests.errors import ApiError, Dialect
from server.api.requests.openapi import Application
from server.api.requests.router_errors import answer_router_errors
from server.api.serving.server_state import GIVE_UP_SECONDS, ServerState
from server.api.transport.forwarded import ForwardedRequests, Proxies
from server.api.transport.peer_requests import PeerRequests
from server.engine.worker import STOP_SECONDS
from server.keys.ring import KeyRing
from server.keys.shared_traffic import new_traffic
from server.runtime.dedicated_thread import in_dedicated_thread
from server.runtime.processes.worker_process import WorkerProcess
from server.runtime.setting_fields import SettingsError
from server.runtime.time_limit import at_most
from server.runtime.trim_heap import collect
from server.settings import Settings
from server.stores.interface import StoreError
from server.telemetry.collector import open_tracing
from server.telemetry.metrics import Metrics, package_version

logger = logging.getLogger("ringmt")

ROUTERS: tuple[APIRouter, ...] = (
    translate.router,
    libretranslate.router,
    deepl.router,
    chat.router,
    score.router,
    documents.router,
    document_list.router,
    document_events.router,
    files.router,
    files.polls,
    glossaries.router,
    translation_memories.router,
    models.router,
    models.admin,
    keys.router,
    keys.admin,
    libretranslate.probes,
    libretranslate_files.router,
    libretranslate_files.downloads,
    spec.router,
    deepl_documents.router,
    deepl_documents.polls,
    deepl_glossaries.router,
    deepl_memories.router,
    *adapters.ROUTERS,
    *mcp.routers(),
    health.router,
    page.router,
    docs.router,
)
"""Routes are tried in this order: those that translate texts come first."""

Kind = TypeVar("Kind", bound=APIRoute)

DIALECTS: dict[str, Dialect] = {"/v2/": DEEPL, "/v3/": DEEPL, "/v1/chat/": OPENAI, mcp.PATH: MCP}
"""Beginnings of paths -> the form of errors for those that are no route."""


def create_app(settings: Settings, process: WorkerProcess | None = None) -> FastAPI:
    """The server as an ASGI application; of one `process` of it, if it has several. At its start models are loaded in
    the background; /readyz answers whether they are ready, or why not. `app.state.server` is the ServerState. Raises
    SettingsError."""
    try:
        proxies = Proxies(settings.root_path, settings.forwarded_allow_ips)
    except ValueError as error:
        raise SettingsError(f"root_path, forwarded_allow_ips: {error}") from None
    state = ServerState(settings, Metrics(), _keys(settings, process), process=process)
    app = Application(
        error_models={route.dialect.model for route in _routes(ApiRoute) if route.include_in_schema},
        title="RingMT",
        version=package_version(),
        description="Neural machine translation.",
        lifespan=lambda app: _lifespan(state),
        redirect_slashes=False,
        docs_url=None,  # FastAPI's page loads its scripts from other hosts
        redoc_url=None,
        # FastAPI's traces would contain whole URLs, and so texts
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.server = state
    logs_access = settings.access_log == "on"
    app.add_middleware(RequestMiddleware, state=state, logs_access=logs_access, dialects=DIALECTS)
    app.add_middleware(CorsForPaths, starts=(*libretranslate.PATHS, *adapters.FOR_BROWSERS))
    if state.group is not None:
        app.add_middleware(PeerRequests, peers=state.group.peers)
    app.add_middleware(ForwardedRequests, proxies=proxies)
    for router in ROUTERS:
        # FastAPI's include_router would build all routes a second time, in the first request.
        app.router.routes.extend(router.routes)
    _check_access(app)
    answer_router_errors(app, _routes(APIRoute))
    for route in _routes(ApiRoute):
        statuses = (route.status_code or 200, *(int(status) for status in route.responses), CLIENT_GONE)
        state.metrics.start_endpoint(route.path, dict.fromkeys(statuses))
    return app


def _keys(settings: Settings, process: WorkerProcess | None) -> KeyRing:
    if process is None:
        return KeyRing.load(settings.api_keys)
    return KeyRing.load(settings.api_keys, new_traffic(process.rows, process.slot))


def _check_access(app: FastAPI) -> None:
    """Raise TypeError for a route without access."""
    for route in app.routes:
        path = getattr(route, "path", route)
        if path != app.openapi_url and not hasattr(route, "access"):
            raise TypeError(f"{path} does not say who may use it: route_class=ApiRoute.requiring(SCOPE), or ProbeRoute")


def _routes(kind: type[Kind]) -> Iterator[Kind]:
    for router in ROUTERS:
        yield from (route for route in router.routes if isinstance(route, kind))


@contextlib.asynccontextmanager
async def _lifespan(state: ServerState) -> AsyncIterator[None]:
    state.tracing = open_tracing(os.environ)
    watching = [asyncio.create_task(state.loop_lag.run()), asyncio.create_task(state.supervisor.run())]
    loading = state.loading = asyncio.create_task(_start(state))
    try:
        yield
    finally:  # nothing here waits without a limit
        state.drain.begin()
        await at_most(state.drain.seconds_left + GIVE_UP_SECONDS, loading)
        await at_most(state.drain.seconds_left + GIVE_UP_SECONDS, state.stop_jobs())
        await at_most(state.drain.seconds_left + STOP_SECONDS + GIVE_UP_SECONDS, in_dedicated_thread(state.stop))
        if state.group is not None:
            state.group.close()
        for watch in watching:
            watch.cancel()


async def _start(state: ServerState) -> None:
    await in_dedicated_thread(_load, state)
    if state.failure is None:
        try:
            await state.join()
        except ApiError as error:
            state.failure = f"a model that other processes serve cannot be loaded: {error.message}"
            logger.error("%s", state.failure)
    if state.is_loaded and not state.drain.is_running:
        state.start_jobs()


def _load(state: ServerState) -> None:
    """Load in a thread. An error becomes the reason why the server is not ready."""
    try:
        state.load()
        collect()
    except (ValueError, StoreError) as error:  # the message says what to do
        state.failure = str(error)
        logger.error("%s", error)
    except Exception as error:
        state.failure = f"loading failed: {error}"
        logger.exception("loading failed")
