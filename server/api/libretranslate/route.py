"""How LibreTranslate's API reads requests and writes errors."""

from typing import ClassVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from server.api.admission.api_route import ApiRoute, ProbeRoute
from server.api.libretranslate.schemas import LibreError
from server.api.requests.errors import TABLE, ApiError, Dialect, ErrorType, printable
from server.api.requests.root_path import route_path
from server.api.requests.validation_errors import first_error, invalid_field

KEY_FIELD = "api_key"

BAD_REQUEST: tuple[ErrorType, ...] = ("malformed", "too_large", "unsupported_media_type", "invalid_value", "conflict")
"""Errors that this API answers with 400."""


class LibreErrors:
    """`{"error": message}`"""

    model = LibreError
    id_headers: tuple[str, ...] = ()

    def status(self, kind: ErrorType) -> int:
        if kind == "unauthorized":
            return TABLE["forbidden"].status
        return 400 if kind in BAD_REQUEST else TABLE[kind].status

    def answer(self, error: ApiError, request_id: str) -> Response:
        if error.kind == "unauthorized":
            error = ApiError("forbidden", "Invalid API key")
        return JSONResponse({"error": printable(error.message)}, self.status(error.kind), error.headers)


LIBRE = LibreErrors()


class LibreRoute(ApiRoute):
    """Fields, and the key as `api_key`, are sent as JSON, form, multipart or query; unknown fields are ignored."""

    dialect: ClassVar[Dialect] = LIBRE
    reads_forms = True
    key_field = KEY_FIELD

    def check_query(self, request: Request) -> None:
        """The key may be a parameter of any route."""

    def invalid(self, error: RequestValidationError) -> ApiError:
        first = first_error(error)
        if first["type"] == "missing" and len(first["loc"]) > 1:
            name = str(first["loc"][-1])
            return ApiError("invalid_value", f"Invalid request: missing {name} parameter", name)
        shown = invalid_field(first, self.body_model)
        return ApiError(shown.kind, f"Invalid request: {shown.message}", shown.param)


class LibreProbeRoute(ProbeRoute):
    """A route that is answered in every state of the server."""

    dialect: ClassVar[Dialect] = LIBRE


class CorsForPaths:
    """CORS for some paths, which pages of any origin may use."""

    def __init__(self, app: ASGIApp, starts: tuple[str, ...]) -> None:
        self.app, self.starts = app, starts
        self._open = CORSMiddleware(
            app, allow_origins=["*"], allow_methods=["GET", "POST"], allow_headers=["Authorization", "Content-Type"]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_open = scope["type"] == "http" and route_path(scope).startswith(self.starts)
        await (self._open if is_open else self.app)(scope, receive, send)
