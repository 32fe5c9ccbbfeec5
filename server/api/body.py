"""Reads request bodies, which may hold anything: JSON, and for routes that take them forms and the query."""

import json
import re
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.types import Message

from server.api.errors import ApiError

DISCARDED_BYTES = 16 * 2**20
"""How much of a body that is too large is read and discarded: a client reads no answer while it still writes."""
_JSON_TYPE = re.compile(r"application/json\s*(;\s*charset=\"?utf-8\"?\s*)?", re.IGNORECASE)
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")


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
    def of_form(cls, request: Request, body: bytes) -> "ReadRequest":
        """A request whose body is a form that was read before."""

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        return cls(request.scope, receive)


async def read_json(request: Request, limit: int) -> object:
    """The body as JSON, read up to `limit` bytes. Raises ApiError: 400, 413 or 415."""
    _check_encoding(request)
    content_type = request.headers.get("content-type", "")
    if not _JSON_TYPE.fullmatch(content_type.strip()):
        raise ApiError("unsupported_media_type", f"Content-Type must be application/json, not '{content_type}'")
    return parse(await read_body(request, limit))


async def read_fields(request: Request, limit: int) -> object:
    """The fields of a request: of a JSON body, of a form, or of the query if there is no body. A field that is given
    several times is a list. Raises ApiError: 400, 413 or 415."""
    _check_encoding(request)
    body = await read_body(request, limit)
    content_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if not body:
        return _fields(request.query_params.multi_items())
    if content_type == "application/json":
        return parse(body)
    if content_type in FORM_TYPES:
        return _fields((await form_of(ReadRequest.of_form(request, body))).multi_items())
    accepted = ", ".join(("application/json", *FORM_TYPES))
    raise ApiError("unsupported_media_type", f"Content-Type must be one of {accepted}, not '{content_type}'")


async def form_of(request: Request) -> FormData:
    """The request's form. Raises ApiError (400) for one that cannot be parsed."""
    try:
        return await request.form()
    except Exception as error:  # malformed bytes make the form parser raise errors of many kinds
        reason = getattr(error, "detail", None) or str(error)
        raise ApiError("malformed", f"the body is not the form that its Content-Type says: {reason}") from None


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


def _check_encoding(request: Request) -> None:
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        raise ApiError("unsupported_media_type", f"Content-Encoding '{encoding}' is not supported; send it plain")


async def read_body(request: Request, limit: int) -> bytes:
    """Raises ApiError (413) for more than `limit` bytes."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= limit:
            chunks.append(chunk)
        elif size > limit + DISCARDED_BYTES:
            break
    if size > limit:
        raise ApiError("too_large", f"the body is larger than {limit} bytes; send fewer texts at a time")
    return b"".join(chunks)


def parse(body: bytes) -> object:
    """JSON by RFC 8259: UTF-8, no NaN. Raises ApiError (400) that says where it is wrong."""
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
