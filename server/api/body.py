"""Reading a JSON body that anybody may have written."""

import json
import re
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from server.api.errors import ApiError
from server.settings import nearest

Body = TypeVar("Body", bound=BaseModel)

DISCARDED_BYTES = 16 * 2**20
"""Read and thrown away of a body that is too large: a client that still writes does not hear the answer."""
_JSON_TYPE = re.compile(r"application/json\s*(;\s*charset=\"?utf-8\"?\s*)?", re.IGNORECASE)


async def read_json(request: Request, schema: type[Body], limit: int) -> Body:
    """The body as `schema`, read up to `limit` bytes. Raises ApiError: 400, 413, 415 or 422."""
    _check_headers(request)
    return validate(parse(await _read(request, limit)), schema)


def _check_headers(request: Request) -> None:
    content_type = request.headers.get("content-type", "")
    if not _JSON_TYPE.fullmatch(content_type.strip()):
        raise ApiError("unsupported_media_type", f"Content-Type must be application/json, not '{content_type}'")
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        raise ApiError("unsupported_media_type", f"Content-Encoding '{encoding}' is not supported; send plain JSON")


async def _read(request: Request, limit: int) -> bytes:
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
    """JSON as RFC 8259 has it: UTF-8, no NaN. Raises ApiError that says where it stops being JSON."""
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


def validate(value: object, schema: type[Body]) -> Body:
    """`value` as `schema`. Raises ApiError about the first field that does not fit, the unknown ones before others."""
    if not isinstance(value, dict):
        raise ApiError("invalid_value", "the body must be a JSON object")
    unknown = [key for key in value if key not in schema.model_fields]
    if unknown:
        message = f"unknown field '{unknown[0]}': {nearest(unknown[0], schema.model_fields)}"
        raise ApiError("invalid_value", message, unknown[0])
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        message = _sentence(first["msg"])
        if not first["loc"]:  # It is about several fields.
            raise ApiError("invalid_value", message) from None
        raise ApiError("invalid_value", f"{_path(first['loc'])}: {message}", str(first["loc"][0])) from None


def _path(location: Sequence[str | int]) -> str:
    """Where in the body, as one would write it: items[3].target"""
    return "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in location).removeprefix(".")


def _sentence(message: str) -> str:
    return message.removeprefix("Input ").removeprefix("Value error, ")
