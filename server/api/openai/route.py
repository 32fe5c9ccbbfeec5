"""How OpenAI's API writes errors."""

from typing import ClassVar

from fastapi import Request
from starlette.responses import JSONResponse, Response

from server.api.admission.api_route import ApiRoute
from server.api.openai.schemas import OpenAIError
from server.api.requests.errors import TABLE, ApiError, Dialect, ErrorType, printable

BAD_REQUEST: tuple[ErrorType, ...] = ("malformed", "too_large", "unsupported_media_type", "invalid_value", "conflict")
"""Errors that this API answers with 400."""
TYPES: dict[int, str] = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
CODES: dict[ErrorType, str] = {
    "unauthorized": "invalid_api_key",
    "not_found": "model_not_found",
    "too_large": "context_length_exceeded",
    "overloaded": "rate_limit_exceeded",
    "quota_exceeded": "insufficient_quota",
}


class OpenAIErrors:
    """`{"error": {"message", "type", "param", "code"}}`"""

    model = OpenAIError
    id_headers: tuple[str, ...] = ()

    def status(self, kind: ErrorType) -> int:
        return 400 if kind in BAD_REQUEST else TABLE[kind].status

    def answer(self, error: ApiError, request_id: str) -> Response:
        status = self.status(error.kind)
        details = {
            "message": printable(error.message),
            "type": self._type(error.kind, status),
            "param": None if error.param is None else printable(error.param),
            "code": CODES.get(error.kind),
        }
        return JSONResponse({"error": details}, status, error.headers)

    def _type(self, kind: ErrorType, status: int) -> str:
        if kind == "quota_exceeded":
            return "insufficient_quota"
        return TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")


OPENAI = OpenAIErrors()


class OpenAIRoute(ApiRoute):
    """Unknown fields and parameters are ignored: clients send many that mean nothing to a translation model."""

    dialect: ClassVar[Dialect] = OPENAI

    def check_query(self, request: Request) -> None:
        """Some clients name a version of the API."""
