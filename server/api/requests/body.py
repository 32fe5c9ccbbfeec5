"""Reads untrusted request bodies: JSON and, for some routes, forms and the query."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from starlette.datastructures import UploadFile
from starlette.requests import Request

from server.api.requests.body_budget import BodyReservation
from server.api.requests.errors import ApiError
from server.api.requests.forms import FORM_TYPES, media_type, parse_form
from server.runtime.offload import offload

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

DISCARDED_BYTES = 16 * 2**20
"""Bytes of a too large body that are read and discarded, because a client reads no answer while it still writes."""
MAX_FIELD_BYTES = 64 * 1024
"""Bytes of one field beside a file."""
FORM_BYTES = 256 * 1024
"""Bytes of a form beside its file."""
INLINE_BYTES = 32 * 1024
"""Bytes of a body that is parsed in the event loop, in a few milliseconds at most."""
MAX_JSON_VALUES = 100_000
"""Values of one JSON body: a million empty lists are 3 MB of JSON and 70 MB of objects."""
_JSON_TYPE = re.compile(r"application/json\s*(;\s*charset=\"?utf-8\"?\s*)?", re.IGNORECASE)
_JSON_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{,]', re.DOTALL)


class ReadRequest(Request):
    """A request whose body has been read and parsed; FastAPI takes the parsed value."""

    @classmethod
    def of_value(cls, request: Request, value: object) -> "ReadRequest":
        """A request whose JSON body is `value`."""
        other = [pair for pair in request.scope["headers"] if pair[0] not in (b"content-type", b"content-length")]
        scope = {**request.scope, "headers": [*other, (b"content-type", b"application/json")]}
        read = cls(scope, request.receive)
        read._body, read._json = b"read", value
        return read

    @classmethod
    def of_bytes(cls, request: Request, body: bytes) -> "ReadRequest":
        """A request whose body was read, for a route that parses it."""
        read = cls(request.scope, request.receive)
        read._body = body
        return read

    @classmethod
    def of_form(cls, request: Request, body: bytes | bytearray) -> "ReadRequest":
        """A request whose body is a form with files that was read before. Raises ApiError: 400, 413 or 415."""
        read = cls(request.scope, request.receive)
        read._form = parse_form(body, request.headers.get("content-type", ""), MAX_FIELD_BYTES)
        return read


def check_json(request: Request) -> None:
    """Raise ApiError (415) unless the Content-Type is JSON."""
    check_encoding(request)
    content_type = request.headers.get("content-type", "")
    if not _JSON_TYPE.fullmatch(content_type.strip()):
        raise ApiError("unsupported_media_type", f"Content-Type must be application/json, not '{content_type}'")


def fields_of(request: Request, body: bytes | bytearray) -> object:
    """The fields of a request: of a JSON body, of a form and the query together, or of the query if there is no body.
    A field of both is the query's, as in Flask's `request.values`; one that is given several times in either is a list.
    Raises ApiError: 400 or 415."""
    if not body:
        return _fields(request.query_params.multi_items())
    content_type = request.headers.get("content-type", "")
    kind = media_type(content_type)
    if kind == "application/json":
        return parse(body)
    if kind in FORM_TYPES:
        return _fields(parse_form(body, content_type).multi_items()) | _fields(request.query_params.multi_items())
    accepted = ", ".join(("application/json", *FORM_TYPES))
    raise ApiError("unsupported_media_type", f"Content-Type must be one of {accepted}, not '{kind}'")


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if isinstance(value, UploadFile):
            raise ApiError("invalid_value", f"{name}: must be a text, not a file", name)
        if name not in fields:
            fields[name] = value
        elif isinstance(fields[name], list):
            fields[name].append(value)
        else:
            fields[name] = [fields[name], value]
    return fields


def check_encoding(request: Request) -> None:
    """Raise ApiError (415) for a body that is compressed."""
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        raise ApiError("unsupported_media_type", f"Content-Encoding '{encoding}' is not supported; send it plain")


async def parsed_apart(
    body: bytes | bytearray,
    function: Callable[Parameters, Result],
    /,
    *args: Parameters.args,
    **kwargs: Parameters.kwargs,
) -> Result:
    """The result of `function`, which parses `body`: a large body is parsed in a thread (see `offload`), so that it
    blocks no event loop. Raises what `function` raises."""
    if len(body) > INLINE_BYTES:
        return await offload(function, *args, **kwargs)
    return function(*args, **kwargs)


@dataclass(frozen=True)
class BodyLimit:
    """The largest body in bytes, and the message for a larger one."""

    num_bytes: int
    message: str

    @classmethod
    def of_fields(cls, num_bytes: int) -> "BodyLimit":
        """The limit of a body without files."""
        return cls(
            num_bytes, f"the body is larger than {num_bytes} bytes (--max-body-bytes); send fewer texts at a time"
        )

    @classmethod
    def of_file(cls, num_bytes: int) -> "BodyLimit":
        """The limit of a form with a file of `num_bytes` at most."""
        return cls(num_bytes + FORM_BYTES, too_large_file(num_bytes))


def too_large_file(num_bytes: int) -> str:
    """The message for a file of more than `num_bytes`."""
    return f"the file is larger than {num_bytes} bytes (--max-file-bytes); split it, or make its pictures smaller"


async def read_body(request: Request, held: BodyReservation, body_limit: BodyLimit) -> bytearray:
    """The body; `held` counts its bytes. Raises ApiError: 413 for more bytes than the limit, 429 if too many bytes are
    held."""
    limit = body_limit.num_bytes
    body = bytearray()
    size = 0
    async with held.being_read():
        async for chunk in request.stream():
            size += len(chunk)
            if size <= limit:
                await held.grow(len(chunk))
                body += chunk
            elif body:
                body.clear()
                held.drop()
            if size > limit + DISCARDED_BYTES:
                break
    if size > limit:
        raise ApiError("too_large", body_limit.message)
    return body


def parse(body: bytes | bytearray) -> object:
    """Parse JSON by RFC 8259: UTF-8, no NaN. Raises ApiError: 400 with the place of the error, 413 for too many
    values."""
    if values_in(body) > MAX_JSON_VALUES:
        raise ApiError("too_large", f"the body has more than {MAX_JSON_VALUES} values; send fewer at a time")
    try:
        parsed: object = json.loads(body.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise ApiError("malformed", f"the body is not UTF-8: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ApiError("malformed", f"the body is not JSON: {error.msg} at {where}") from None
    except RecursionError:
        raise ApiError("malformed", "the body is nested too deep") from None
    except ValueError as error:  # A number of thousands of digits.
        raise ApiError("malformed", f"the body is not JSON: {error}") from None
    return parsed


def _refuse_constant(name: str) -> None:
    raise ApiError("malformed", f"the body is not JSON: {name} is no JSON number")


def values_in(body: bytes | bytearray) -> int:
    """An upper bound of the values of a JSON text, apart from values that are alone in a list or an object; counted up
    to MAX_JSON_VALUES + 1."""
    count = sum(map(body.count, (b",", b"[", b"{")))
    if count <= MAX_JSON_VALUES:
        return count
    count = 0  # without those in strings, of which valid JSON has two for a value at most
    for number, token in enumerate(_JSON_TOKEN.finditer(body)):
        count += body[token.start()] != 0x22
        if count > MAX_JSON_VALUES or number > 4 * MAX_JSON_VALUES:
            return MAX_JSON_VALUES + 1
    return count
