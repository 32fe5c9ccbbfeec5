"""`GET /livez`, `/readyz`, `/metrics`."""

import asyncio
import contextlib

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from server.api.admission.api_route import ProbeRoute
from server.api.requests.errors import ApiError, documented
from server.api.requests.fields import Status
from server.api.serving.server_state import ServerState
from server.stores.threads import in_store_thread

STORE_SECONDS = 1.0
"""Seconds that /metrics waits for the store to count its documents; then it has the last count."""

router = APIRouter(tags=["operations"], route_class=ProbeRoute)


@router.get("/livez", summary="Is the process well? If not, restart", responses=documented("not_ready"))
async def livez(request: Request) -> Status:
    return _status(_state(request).why_not_alive)


@router.get(
    "/readyz",
    summary="Does a model translate? If not, send no requests",
    responses=documented("not_ready"),
)
async def readyz(request: Request) -> Status:
    return _status(_state(request).why_not_ready)


@router.get(
    "/metrics",
    summary="Metrics in Prometheus' text format",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    state = _state(request)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STORE_SECONDS):
            await in_store_thread(state.count_documents)
    exposed = state.metrics.exposition() if state.group is None else await state.group.exposition()
    return Response(exposed, media_type=CONTENT_TYPE_LATEST)


def _status(reason: str | None) -> Status:
    """Raise ApiError with the reason, unless it is None."""
    if reason is not None:
        raise ApiError("not_ready", reason)
    return Status()


def _state(request: Request) -> ServerState:
    state: ServerState = request.app.state.server
    return state
