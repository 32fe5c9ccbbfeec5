"""The router's own answers: 404 for an unknown path, 405 for a method that a path does not take."""

from collections.abc import Iterable

from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from server.api.requests.errors import TABLE, ApiError


def answer_router_errors(app: FastAPI, routes: Iterable[APIRoute]) -> None:
    """Turn what Starlette and FastAPI raise into errors of the table. `routes` are all routes of the application."""
    known = list(routes)
    kinds = {row.status: kind for kind, row in TABLE.items()}

    async def router_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        kind = kinds.get(error.status_code, "internal")
        headers = dict(error.headers or {})
        if kind == "method_not_allowed":
            headers["Allow"] = ", ".join(sorted(_methods(known, request)))
        if kind in ("not_found", "method_not_allowed"):
            detail = f"{TABLE[kind].meaning} ({request.method} {request.scope['path']})"
        else:
            detail = str(error.detail)
        raise ApiError(kind, detail, headers=headers)

    app.add_exception_handler(HTTPException, router_error)


def _methods(routes: Iterable[APIRoute], request: Request) -> set[str]:
    """The methods of every route at the request's path."""
    matching = (route for route in routes if route.matches(request.scope)[0] != Match.NONE)
    methods = {method for route in matching for method in route.methods or ()}
    return methods | {"HEAD"} if "GET" in methods else methods
