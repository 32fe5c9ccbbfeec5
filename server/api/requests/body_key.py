"""Finds the API key in the body of a request without parsing the body, which is not authenticated yet."""

import json
import re
from urllib.parse import unquote_plus

from server.api.requests.errors import ApiError
from server.api.requests.forms import MULTIPART, URLENCODED, headers_of, media_type, parameters_of, parts_of

MAX_KEY_BYTES = 4096
_JSON_VALUE = re.compile(rb'\s*+:\s*+("(?:[^"\\]++|\\.)*+")', re.DOTALL)


def key_in(body: bytes | bytearray, content_type: str, field: str) -> str | None:
    """The text of `field` in a JSON body or a form, the last one where there are several; None without one, and for a
    body that is neither. In JSON the field may be at any depth: only a client that has a valid key can write one."""
    kind = media_type(content_type)
    name = field.encode()
    if kind == MULTIPART:
        return _of_part(body, content_type, field)
    return _of_urlencoded(body, name) if kind == URLENCODED else _of_json(body, name)


def _of_json(body: bytes | bytearray, name: bytes) -> str | None:
    quoted = b'"%s"' % name  # inside a string its quotes would be escaped
    position = body.rfind(quoted)
    start = position + len(quoted)
    value = None if position < 0 else _JSON_VALUE.match(body, start, start + MAX_KEY_BYTES)
    if value is None:
        return None
    try:
        return str(json.loads(bytes(value[1])))
    except ValueError:
        return None


def _of_urlencoded(body: bytes | bytearray, name: bytes) -> str | None:
    start = body.rfind(b"&%s=" % name) + 1
    if not start and not body.startswith(b"%s=" % name):
        return None
    start += len(name) + 1
    value, _, _ = bytes(body[start : start + MAX_KEY_BYTES]).partition(b"&")
    return unquote_plus(value.decode("latin-1"))


def _of_part(body: bytes | bytearray, content_type: str, name: str) -> str | None:
    boundary = parameters_of(content_type).get("boundary", "").encode("latin-1")
    value = None
    try:
        for head, start, end in parts_of(body, boundary):
            if parameters_of(headers_of(head).get("content-disposition", "")).get("name") == name:
                value = bytes(body[start : min(end, start + MAX_KEY_BYTES)]).decode("utf-8", errors="replace")
    except ApiError:  # errors in the body are answered only to requests with a key
        return None
    return value
