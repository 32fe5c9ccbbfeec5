"""The table of all errors that are answered: every type has one status. A dialect writes errors in its API's form."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from server.backends.alignment import CannotAlign
from server.backends.base import CannotScore
from server.documents.errors import Refused, TooLong, UnknownSentence
from server.engine.request import Cancelled, DeadlineExceeded, EngineStopped, ModelUnavailable, Overloaded
from server.files.formats.base import FileError, FileTooLarge, UnsupportedFile
from server.files.parser_pool import TooManyFiles
from server.stores.glossaries import GlossariesFull, UnknownGlossary
from server.stores.interface import StoreError, UnknownDocument
from server.stores.limits import StoreFull, TooLargeToKeep
from server.stores.translation_memories import MemoriesFull, UnknownEntry, UnknownMemory
from server.text.base.placeholders import TooManyPlaceholders
from server.text.markup.tokens import MalformedMarkup
from server.translation.glossary import TermRefused
from server.translation.memory_lookup import TooManyMatches
from server.translation.planning import PrefixRefused, TooManySentences
from server.translation.scoring import TooLongToScore
from server.translation_memory.exchange import MalformedFile

logger = logging.getLogger("ringmt")

ErrorType = Literal[
    "malformed",
    "unauthorized",
    "forbidden",
    "not_found",
    "method_not_allowed",
    "conflict",
    "too_large",
    "unsupported_media_type",
    "invalid_value",
    "overloaded",
    "quota_exceeded",
    "internal",
    "not_ready",
    "deadline_exceeded",
]


@dataclass(frozen=True)
class ErrorRow:
    status: int
    meaning: str


TABLE: Mapping[ErrorType, ErrorRow] = {
    "malformed": ErrorRow(400, "The body cannot be read: it is not what its Content-Type says."),
    "unauthorized": ErrorRow(401, "The request needs an API key, and has none or one that this server does not know."),
    "forbidden": ErrorRow(
        403, "The API key lacks the scope that this path needs, or the path is open to API keys only."
    ),
    "not_found": ErrorRow(404, "There is nothing at this path."),
    "method_not_allowed": ErrorRow(405, "The path does not take this method."),
    "conflict": ErrorRow(409, "The document's mode, state or length does not allow it, or the model is the only one."),
    "too_large": ErrorRow(413, "The body, a text or their number is larger than this server takes."),
    "unsupported_media_type": ErrorRow(415, "The body has a Content-Type or an encoding that is not taken here."),
    "invalid_value": ErrorRow(422, "A field is missing, unknown or has a value that cannot be used."),
    "overloaded": ErrorRow(429, "Too much is waiting, or the key's limit is reached; Retry-After: when to come back."),
    "quota_exceeded": ErrorRow(
        429, "The key has used its characters of the day or month; Retry-After: when it gets more."
    ),
    "internal": ErrorRow(500, "A fault of the server; the log has it under the request's id."),
    "not_ready": ErrorRow(503, "Loading, draining or failed; Retry-After says when to come back."),
    "deadline_exceeded": ErrorRow(504, "The work took longer than request_timeout, or than the request would wait."),
}

ADMISSION: tuple[ErrorType, ...] = (
    "unauthorized",
    "forbidden",
    "overloaded",
    "invalid_value",
    "internal",
    "not_ready",
    "deadline_exceeded",
)
"""What every ApiRoute may answer."""
BODY: tuple[ErrorType, ...] = ("malformed", "too_large", "unsupported_media_type")
"""What a route that reads a body may answer besides."""
QUOTA: tuple[ErrorType, ...] = ("quota_exceeded",)
"""What a route that translates may answer besides."""
RETRY_AFTER_SECONDS: Mapping[ErrorType, int] = {"overloaded": 1, "not_ready": 5}
_LONGEST_MESSAGE = 500


class ApiError(Exception):
    """An answer that reports an error. `param` is the field that it is about, `headers` go into the answer."""

    def __init__(
        self, kind: ErrorType, message: str, param: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.kind, self.message, self.param = kind, message, param
        self.headers = dict(headers or {})
        if kind in RETRY_AFTER_SECONDS:
            self.headers.setdefault("Retry-After", str(RETRY_AFTER_SECONDS[kind]))


class QuotaExceeded(ApiError):
    """More than one key may store."""


class Dialect(Protocol):
    """How the routes of one API write their errors."""

    @property
    def model(self) -> type[BaseModel]:
        """The schema of an error's body."""

    @property
    def id_headers(self) -> tuple[str, ...]:
        """Headers beside X-Request-ID that name the request on every answer."""

    def status(self, kind: ErrorType) -> int:
        """The status of a kind of errors."""

    def answer(self, error: ApiError, request_id: str) -> Response:
        """The body, status and headers of an error."""


def known_error(error: Exception) -> ApiError | None:
    """The answer for an error of the API, the translator, the engine or the documents; None for a fault of the server.

    It has no traceback: the frames that the error passed would keep the request, its body and all that was made of it,
    as long as the answer is kept, or until a full garbage collection where a frame refers to the answer."""
    match error:
        case ApiError():
            return error.with_traceback(None)
        case Overloaded():
            return ApiError("overloaded", "too many sentences are waiting; try again later")
        case TooManyFiles():
            return ApiError("overloaded", str(error))
        case TermRefused():
            return ApiError("invalid_value", str(error), "glossary")
        case PrefixRefused():
            return ApiError("invalid_value", f"target_prefix: {error}", "target_prefix")
        case TooManySentences() | TooManyMatches():
            return ApiError("too_large", str(error), "text")
        case TooLongToScore():
            return ApiError("too_large", str(error), "items")
        case CannotAlign():
            return ApiError("invalid_value", f"alignment: {error}", "alignment")
        case CannotScore():
            return ApiError("invalid_value", str(error), "model")
        case DeadlineExceeded():
            return ApiError(
                "deadline_exceeded", "the work did not finish within the server's request_timeout, or the request's own"
            )
        case UnsupportedFile():
            return ApiError("unsupported_media_type", str(error), "file")
        case FileTooLarge():
            return ApiError("too_large", str(error), "file")
        case MalformedMarkup() | TooManyPlaceholders():
            return ApiError("invalid_value", str(error), "text")
        case FileError():
            return ApiError("invalid_value", str(error), "file")
        case UnknownDocument():
            return ApiError("not_found", "there is no such document: it never existed, was deleted, or has expired")
        case UnknownGlossary():
            return ApiError("not_found", "there is no such glossary: it never existed, or was deleted")
        case UnknownMemory():
            return ApiError("not_found", "there is no such translation memory: it never existed, or was deleted")
        case UnknownEntry():
            return ApiError("not_found", "the translation memory has no such entry")
        case MalformedFile():
            return ApiError("invalid_value", str(error), "file")
        case GlossariesFull() | MemoriesFull():
            return QuotaExceeded("too_large", str(error))
        case UnknownSentence():
            return ApiError("not_found", str(error))
        case Refused():
            return ApiError("conflict", str(error))
        case TooLong():
            return ApiError("too_large", str(error), error.param)
        case StoreFull():
            return ApiError("overloaded", str(error), headers={"Retry-After": str(error.seconds_left(time.time()))})
        case TooLargeToKeep():
            return ApiError("too_large", str(error))
        case StoreError():
            logger.error("%s", error)
            return ApiError("not_ready", "the documents cannot be reached at the moment; the server's log says why")
        case ModelUnavailable():
            return ApiError("not_ready", str(error))
        case EngineStopped() | Cancelled():
            return ApiError("not_ready", "the server is stopping or its model has failed")
    return None


def printable(text: str) -> str:
    """`text` as every JSON reader takes it: lone surrogates are escaped, and a long text is cut."""
    valid = text.encode("utf-8", errors="backslashreplace").decode("utf-8")
    return valid if len(valid) <= _LONGEST_MESSAGE else valid[:_LONGEST_MESSAGE] + "..."


class ErrorDetails(BaseModel):
    type: ErrorType
    message: str
    param: str | None = Field(default=None, description="The field that the error is about.")
    request_id: str


class ErrorAnswer(BaseModel):
    """Every answer that is no success."""

    error: ErrorDetails


class NativeErrors:
    """The errors of /v1."""

    model = ErrorAnswer
    id_headers: tuple[str, ...] = ()

    def status(self, kind: ErrorType) -> int:
        return TABLE[kind].status

    def answer(self, error: ApiError, request_id: str) -> Response:
        details: dict[str, str] = {"type": error.kind, "message": printable(error.message)}
        if error.param is not None:
            details["param"] = printable(error.param)
        details["request_id"] = request_id
        return JSONResponse({"error": details}, self.status(error.kind), error.headers)


NATIVE = NativeErrors()


def documented(
    *kinds: ErrorType, meanings: Mapping[ErrorType, str] | None = None, dialect: Dialect = NATIVE
) -> dict[int | str, dict[str, Any]]:
    """The error statuses of a route for its OpenAPI entry. `meanings` say more than the table does."""
    described = {kind: TABLE[kind].meaning for kind in TABLE} | dict(meanings or {})
    by_status: dict[int | str, list[str]] = {}
    for kind in TABLE:
        if kind in kinds:
            by_status.setdefault(dialect.status(kind), []).append(described[kind])
    return {
        status: documented_error(" ".join(meanings_of_status), dialect.model)
        for status, meanings_of_status in by_status.items()
    }


def documented_error(description: str, model: type[BaseModel]) -> dict[str, Any]:
    """An error of a route for its OpenAPI entry. It refers to the schema (see `Application`): of a model, FastAPI would
    build a serializer for each status of each route."""
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"description": description, "content": {"application/json": {"schema": schema}}}
