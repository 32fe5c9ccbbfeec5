"""What can go wrong, in one table: every type of error has one status, and every failure is answered from here."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from starlette.responses import JSONResponse

from server.backends.base import CannotScore
from server.documents.service import Refused, TooLong, TooManyDocuments, UnknownSentence
from server.documents.store import StoreError, UnknownDocument
from server.engine.request import Cancelled, DeadlineExceeded, EngineStopped, Overloaded
from server.scoring import TooLongToScore
from server.translator import TooManySentences

logger = logging.getLogger("ringmt")

ErrorType = Literal[
    "malformed",
    "not_found",
    "method_not_allowed",
    "conflict",
    "too_large",
    "unsupported_media_type",
    "invalid_value",
    "overloaded",
    "internal",
    "not_ready",
    "deadline_exceeded",
]


Route = Literal["translate", "document write", "document read", "probe"]
"""Kinds of routes: those of one kind answer with the same errors."""
_BODIES: tuple[Route, ...] = ("translate", "document write")
_DOCUMENTS: tuple[Route, ...] = ("document write", "document read")
_WORKING: tuple[Route, ...] = ("translate", "document write", "document read")


@dataclass(frozen=True)
class ErrorRow:
    """`answered_by`: kinds of routes; the router itself answers for an unknown path and has no documentation."""

    status: int
    meaning: str
    answered_by: tuple[Route, ...]


TABLE: Mapping[ErrorType, ErrorRow] = {
    "malformed": ErrorRow(400, "The body is not JSON in UTF-8.", _BODIES),
    "not_found": ErrorRow(404, "There is nothing at this path.", _DOCUMENTS),
    "method_not_allowed": ErrorRow(405, "The path does not take this method.", ()),
    "conflict": ErrorRow(409, "The document's mode, state or length does not allow it.", _DOCUMENTS),
    "too_large": ErrorRow(413, "The body, a text or their number is larger than this server takes.", _BODIES),
    "unsupported_media_type": ErrorRow(415, "The body must be application/json, not compressed.", _BODIES),
    "invalid_value": ErrorRow(422, "A field is missing, unknown or has a value that cannot be used.", _WORKING),
    "overloaded": ErrorRow(429, "Too much is waiting already; Retry-After says when to come back.", _WORKING),
    "internal": ErrorRow(500, "A fault of the server; the log has it under the request's id.", _WORKING),
    "not_ready": ErrorRow(
        503, "Loading, draining or failed; Retry-After says when to come back.", (*_WORKING, "probe")
    ),
    "deadline_exceeded": ErrorRow(504, "The work took longer than request_timeout.", _BODIES),
}

RETRY_AFTER_SECONDS: Mapping[ErrorType, int] = {"overloaded": 1, "not_ready": 5}
_LONGEST_MESSAGE = 500


class ApiError(Exception):
    """An answer that is no success. `param` is the field it is about."""

    def __init__(self, kind: ErrorType, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.kind, self.message, self.param = kind, message, param


def from_engine(error: Exception) -> ApiError | None:
    """What an error of the translator, engine or documents means at the door; None for a fault of the server."""
    match error:
        case Overloaded():
            return ApiError("overloaded", "too many sentences are waiting; try again later")
        case TooManySentences():
            return ApiError("too_large", str(error), "text")
        case TooLongToScore():
            return ApiError("too_large", str(error), "items")
        case CannotScore():
            return ApiError("invalid_value", str(error), "model")
        case DeadlineExceeded():
            return ApiError("deadline_exceeded", "the work did not finish within the server's request_timeout")
        case UnknownDocument():
            return ApiError("not_found", "there is no such document: it never was, was deleted, or expired")
        case UnknownSentence():
            return ApiError("not_found", str(error))
        case Refused():
            return ApiError("conflict", str(error))
        case TooLong():
            return ApiError("too_large", str(error), error.param)
        case TooManyDocuments():
            return ApiError("overloaded", str(error))
        case StoreError():
            logger.error("%s", error)
            return ApiError("not_ready", "the documents cannot be reached at the moment; the server's log says why")
        case EngineStopped() | Cancelled():
            return ApiError("not_ready", "the server is stopping or its model has failed")
    return None


def answer(error: ApiError, request_id: str) -> JSONResponse:
    """The body, status and headers of an error."""
    details: dict[str, str] = {"type": error.kind, "message": printable(error.message)}
    if error.param is not None:
        details["param"] = printable(error.param)
    details["request_id"] = request_id
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS[error.kind])} if error.kind in RETRY_AFTER_SECONDS else None
    return JSONResponse({"error": details}, TABLE[error.kind].status, headers)


def printable(text: str) -> str:
    """`text` that any JSON reader takes: a lone surrogate becomes its escape, a long text its beginning."""
    valid = text.encode("utf-8", errors="backslashreplace").decode("utf-8")
    return valid if len(valid) <= _LONGEST_MESSAGE else valid[:_LONGEST_MESSAGE] + "..."


def documented(route: Route) -> dict[int | str, dict[str, Any]]:
    """The error statuses of a route for its OpenAPI entry."""
    return {
        row.status: {"description": row.meaning, "content": {"application/json": {"schema": BODY_SCHEMA}}}
        for row in TABLE.values()
        if route in row.answered_by
    }


BODY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["type", "message", "request_id"],
            "properties": {
                "type": {"type": "string", "enum": list(TABLE)},
                "message": {"type": "string"},
                "param": {"type": "string", "description": "The field that the error is about."},
                "request_id": {"type": "string"},
            },
        }
    },
}
