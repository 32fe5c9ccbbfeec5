"""`GET /livez`, `/readyz`, `/metrics`, and `/` that says where things are."""

import asyncio
import contextlib

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from server.api.errors import ApiError, documented
from server.api.schemas import Status
from server.api.state import ServerState
from server.metrics import package_version

STORE_SECONDS = 1.0
"""How long the metrics wait for the store to count its documents; else they say what it last counted."""


def health_router(state: ServerState) -> APIRouter:
    """The routes, bound to a server's state."""
    router = APIRouter(tags=["operations"])

    @router.get("/livez", summary="Is the engine alive? If not, restart", responses=documented("probe"))
    async def livez() -> Status:
        if state.why_not_alive is not None:
            raise ApiError("not_ready", state.why_not_alive)
        return Status()

    @router.get("/readyz", summary="Has every model translated, and may requests come?", responses=documented("probe"))
    async def readyz() -> Status:
        state.check_ready()
        return Status()

    @router.get("/metrics", summary="Metrics in Prometheus' text format", response_class=Response)
    async def metrics() -> Response:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STORE_SECONDS):
                await asyncio.to_thread(state.count_documents)
        return Response(state.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)

    @router.get("/", summary="Where things are")
    async def root() -> dict[str, str]:
        return {
            "name": "RingMT",
            "version": package_version(),
            "translate": "/v1/translate",
            "documents": "/v1/documents",
            "models": "/v1/models",
            "languages": "/v1/languages",
            "openapi": "/openapi.json",
            "ready": "/readyz",
            "metrics": "/metrics",
        }

    return router
