"""How LibreTranslate's API reads requests and writes errors."""

import contextlib
from collections.abc import Mapping
from typing import Any, ClassVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from server.api.access import presented_key
from server.api.body import FORM_TYPES, ReadRequest, form_of, parse, read_body
from server.api.errors import TABLE, ApiError, Dialect, ErrorType, printable
from server.api.invalid import first_error, invalid_field
from server.api.libretranslate_schemas import LibreError
from server.api.route import DoorRoute, ProbeRoute
from server.api.state import ServerState

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


async def key_field(request: Request, body: bytes) -> str | None:
    """The field `api_key` of a body: JSON, or a form that may hold files. Raises ApiError for what is neither."""
    if request.headers.get("content-type", "").lower().startswith(FORM_TYPES):
        form = await form_of(ReadRequest.of_form(request, body))
        value: object = form.get(KEY_FIELD)
        await form.close()
    else:
        fields = parse(body)
        value = fields.get(KEY_FIELD) if isinstance(fields, Mapping) else None
    return value if isinstance(value, str) else None


class LibreRoute(DoorRoute):
    """Fields come as JSON, form, multipart or query; unknown ones are ignored."""

    dialect: ClassVar[Dialect] = LIBRE
    reads_forms = True

    async def presented(self, request: Request, state: ServerState) -> str | None:
        """A key may also be the field `api_key`, of the query or of a body in any form. Raises ApiError (413)."""
        found = presented_key(request) or request.query_params.get(KEY_FIELD)
        if found is not None or self.body_field is None:
            return found
        request._body = await read_body(request, state.settings.max_body_bytes)  # read again from memory
        with contextlib.suppress(ApiError):  # errors in the body are answered only to requests with a key
            found = await key_field(request, request._body)
        return found

    def check_query(self, request: Request) -> None:
        """A key may come as a parameter of any route."""

    def invalid(self, error: RequestValidationError) -> ApiError:
        first = first_error(error)
        if first["type"] == "missing" and len(first["loc"]) > 1:
            name = str(first["loc"][-1])
            return ApiError("invalid_value", f"Invalid request: missing {name} parameter", name)
        told = invalid_field(first, self.body_model)
        return ApiError(told.kind, f"Invalid request: {told.message}", told.param)


class LibreProbeRoute(ProbeRoute):
    """A route of this API that is answered whatever the server's state is."""

    dialect: ClassVar[Dialect] = LIBRE


class OpenToPages:
    """CORS for some paths only: pages from anywhere may use these."""

    def __init__(self, app: ASGIApp, starts: tuple[str, ...]) -> None:
        self.app, self.starts = app, starts
        self._open = CORSMiddleware(
            app, allow_origins=["*"], allow_methods=["GET", "POST"], allow_headers=["Authorization", "Content-Type"]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_open = scope["type"] == "http" and scope["path"].startswith(self.starts)
        await (self._open if is_open else self.app)(scope, receive, send)


def with_forms(model: str) -> dict[str, Any]:
    """The addition to a route's OpenAPI for a body that may also be a form; `model` is the name of its schema."""
    schema = {"schema": {"$ref": f"#/components/schemas/{model}"}}
    return {"requestBody": {"content": dict.fromkeys(FORM_TYPES, schema)}}
