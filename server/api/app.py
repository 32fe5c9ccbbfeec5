"""The application: routes around a state that loads when it starts and drains when it stops."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from server.api.documents import documents_router, endpoints
from server.api.errors import TABLE, ApiError, answer, documented
from server.api.health import health_router
from server.api.middleware import CLIENT_GONE, RequestMiddleware
from server.api.models import models_router
from server.api.score import SCORE, score_router
from server.api.state import ServerState
from server.api.translate import PATH, translate_router
from server.documents.store import StoreError
from server.metrics import Metrics, package_version
from server.settings import Settings

logger = logging.getLogger("ringmt")


def create_app(settings: Settings) -> FastAPI:
    """The server as an ASGI application. Models are loaded in the background once it starts; /readyz tells when they
    are, and why not if they cannot be. `app.state.server` is the ServerState."""
    state = ServerState(settings, Metrics())
    app = FastAPI(
        title="RingMT",
        version=package_version(),
        description="Neural machine translation.",
        lifespan=lambda app: _lifespan(state),
        redirect_slashes=False,
        docs_url=None,  # These pages load scripts from elsewhere; a server on one's own machine does not.
        redoc_url=None,
    )
    app.state.server = state
    app.add_middleware(RequestMiddleware, metrics=state.metrics)
    app.add_exception_handler(HTTPException, _router_error)
    app.include_router(translate_router(state))
    app.include_router(score_router(state))
    app.include_router(documents_router(state))
    app.include_router(models_router(state))
    app.include_router(health_router(state))
    for path in (PATH, SCORE):
        state.metrics.start_endpoint(path, (200, *(int(status) for status in documented("translate")), CLIENT_GONE))
    for path, statuses in endpoints():
        state.metrics.start_endpoint(path, (*statuses, CLIENT_GONE))
    return app


@contextlib.asynccontextmanager
async def _lifespan(state: ServerState) -> AsyncIterator[None]:
    loading = asyncio.create_task(_start(state))
    try:
        yield
    finally:
        await loading
        await state.stop_jobs()
        await asyncio.to_thread(state.stop)


async def _start(state: ServerState) -> None:
    await asyncio.to_thread(_load, state)
    state.start_jobs()


def _load(state: ServerState) -> None:
    """Load in a thread; whatever goes wrong is the reason why the server is not ready."""
    try:
        state.load()
    except (ValueError, StoreError) as error:  # What cannot be used or opened: the message says it all.
        state.failure = str(error)
        logger.error("%s", error)
    except Exception as error:
        state.failure = f"loading failed: {error}"
        logger.exception("loading failed")


async def _router_error(request: Request, error: Exception) -> Response:
    """What the router raises, in the table's words: 404 and 405."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    kinds = {row.status: kind for kind, row in TABLE.items()}
    kind = kinds.get(status, "internal")
    message = f"{TABLE[kind].meaning} ({request.method} {request.url.path})"
    response = answer(ApiError(kind, message), request.state.request_id)
    if isinstance(error, HTTPException) and error.headers:
        response.headers.update(error.headers)
    return response
