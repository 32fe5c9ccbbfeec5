"""Routes of DeepL's API: how they read requests and write errors."""

from typing import Any, ClassVar
from urllib.parse import urlencode

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.responses import JSONResponse, Response

from server.api.admission.api_route import ApiRoute
from server.api.deepl.schemas import DeepLError
from server.api.requests.body import BodyLimit, parsed_apart, read_body
from server.api.requests.body_budget import BodyReservation
from server.api.requests.errors import TABLE, ApiError, Dialect, ErrorType, QuotaExceeded, documented_error, printable
from server.api.requests.forms import URLENCODED, media_type, parse_form
from server.api.requests.validation_errors import first_error, path_of

BAD_REQUEST: tuple[ErrorType, ...] = ("malformed", "unsupported_media_type", "invalid_value", "conflict")
"""The status of all quota errors."""
QUOTA_EXCEEDED = 456
FULL: dict[int | str, dict[str, Any]] = {
    QUOTA_EXCEEDED: documented_error("The key keeps as many glossaries as it may.", DeepLError)
}


class DeepLErrors:
    """`{"message": message}`; X-Trace-ID on every answer."""

    model = DeepLError
    id_headers: tuple[str, ...] = ("X-Trace-ID",)

    def status(self, kind: ErrorType) -> int:
        if kind == "unauthorized":
            return TABLE["forbidden"].status
        if kind == "quota_exceeded":
            return QUOTA_EXCEEDED
        return 400 if kind in BAD_REQUEST else TABLE[kind].status

    def answer(self, error: ApiError, request_id: str) -> Response:
        status = QUOTA_EXCEEDED if isinstance(error, QuotaExceeded) else self.status(error.kind)
        return JSONResponse({"message": printable(error.message)}, status, error.headers)


DEEPL = DeepLErrors()


class DeepLRoute(ApiRoute):
    """Fields come as JSON, form, multipart or query; those of a GET too may come as a form. The key may be the field
    `auth_key` of the query or of an urlencoded form, as older clients send it."""

    dialect: ClassVar[Dialect] = DEEPL
    reads_forms = True
    key_field = "auth_key"

    async def _read(self, request: Request, held: BodyReservation, limit: BodyLimit, body: bytearray | None) -> Request:
        if self.body_field is not None:
            return await super()._read(request, held, limit, body)
        given = await read_body(request, held, limit)
        fields = await parsed_apart(given, parse_form, given, request.headers.get("content-type", ""))
        pairs = [pair for pair in fields.multi_items() if isinstance(pair[1], str)]
        if not pairs:
            return request
        query = urlencode([*request.query_params.multi_items(), *pairs])
        return Request({**request.scope, "query_string": query.encode()}, request.receive)

    def body_may_have_key(self, request: Request) -> bool:
        kind = media_type(request.headers.get("content-type", ""))
        return kind == URLENCODED and super().body_may_have_key(request)

    def validated(self, fields: object) -> object:
        if isinstance(fields, dict):
            fields = {name: value for name, value in fields.items() if name != self.key_field}
        return super().validated(fields)

    def check_query(self, request: Request) -> None:
        """The key may be a parameter of any route."""

    def invalid(self, error: RequestValidationError) -> ApiError:
        first = first_error(error)
        name = path_of(first["loc"][1:])
        if first["type"] == "missing" and name:
            return ApiError("invalid_value", f"'{name}' is missing.", name)
        if first["type"] == "extra_forbidden":
            return ApiError("invalid_value", f"'{name}' is not known here.", name)
        if not name:
            return ApiError("invalid_value", "The body must be a JSON object or a form.")
        return ApiError("invalid_value", f"Value for '{name}' not supported. {first['msg']}.", name)


class DeepLPollRoute(DeepLRoute):
    """A route that reads the state of earlier work: its requests do not count for the key's concurrency."""

    is_work = False
