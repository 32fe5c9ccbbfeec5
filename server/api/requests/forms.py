"""Forms, urlencoded and multipart, parsed in a time that is linear in their bytes, whatever the bytes are.

Starlette's parser decodes with any Python codec that a client names, some of which take quadratic time, and steps
through what surrounds a boundary byte by byte. This one decodes with the charsets of CHARSETS, and finds boundaries
with `bytes.find`.
"""

import io
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote_to_bytes

from starlette.datastructures import FormData, Headers, UploadFile

from server.api.requests.errors import ApiError
from server.runtime.checkpoints import checkpoint

URLENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
FORM_TYPES = (URLENCODED, MULTIPART)
CHARSETS: Mapping[str, str] = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "ascii",
    "ascii": "ascii",
    "iso-8859-1": "latin-1",
    "latin1": "latin-1",
    "windows-1252": "cp1252",
}
"""Charsets that a form may declare, in lower case, and the codec of each. All of them take linear time."""
MAX_FIELDS = 1000
"""Fields, or parts, of one form; as many as Starlette takes."""
MAX_PART_HEAD_BYTES = 16 * 1024
"""All headers of one part."""
MAX_BOUNDARY_BYTES = 256
_SLICE = 64 * 1024
"""Bytes of a urlencoded value that are decoded at a time."""
_PADDING = 256
"""Bytes after a boundary in which its line must end."""

_PARAMETER = re.compile(
    r'[ \t]*+;[ \t]*+(?P<name>[^\s=;"]++)[ \t]*+(?:=[ \t]*+'
    r'(?:"(?P<quoted>(?:[^"\\]++|\\.)*+)"(?=[ \t]*+(?:;|\Z))|"(?P<plain>[^"]*+)"|(?P<token>[^;"]*+)))?',
    re.DOTALL,
)


class FormFile(UploadFile):
    """A file of a form, in memory: Starlette's own reads and closes in a thread, as if it were on disk."""

    def __init__(self, data: bytes, filename: str, headers: Headers) -> None:
        super().__init__(io.BytesIO(data), size=len(data), filename=filename, headers=headers)

    async def read(self, size: int = -1) -> bytes:
        return self.file.read(size)

    async def seek(self, offset: int) -> None:
        self.file.seek(offset)

    async def close(self) -> None:
        self.file.close()


def media_type(content_type: str) -> str:
    """The type of a Content-Type without its parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def parse_form(body: bytes | bytearray, content_type: str, max_field_bytes: int | None = None) -> FormData:
    """The fields of a form, with FormFile for files; empty for a `content_type` that is no form. `max_field_bytes`: of
    one field of a multipart form that is no file. Raises ApiError: 400, 413, or 415 for a charset that is not taken."""
    kind, parameters = media_type(content_type), parameters_of(content_type)
    if kind not in FORM_TYPES:
        return FormData()
    codec = codec_of(parameters.get("charset"))
    if kind == URLENCODED:
        return FormData(list(_urlencoded(body, codec)))
    return FormData(list(_multipart(body, _boundary(parameters), codec, max_field_bytes)))


def parameters_of(value: str) -> dict[str, str]:
    """The parameters of a header's value by their names in lower case, the last of a name. What follows the first that
    cannot be read is left out, and so are those with a `*`, which RFC 7578 forbids in forms."""
    parameters: dict[str, str] = {}
    position = len(value.partition(";")[0])
    while (parameter := _PARAMETER.match(value, position)) is not None:
        position = parameter.end()
        name, quoted = parameter["name"].lower(), parameter["quoted"]
        if quoted is not None:
            parameters[name] = re.sub(r'\\(["\\])', r"\1", quoted)
        else:
            parameters[name] = parameter["plain"] or (parameter["token"] or "").strip()
    return {name: text for name, text in parameters.items() if "*" not in name}


def codec_of(charset: str | None) -> str:
    """The codec of a charset that a client declared, UTF-8 without one. Raises ApiError (415) for others than those of
    CHARSETS."""
    if charset is None:
        return "utf-8"
    codec = CHARSETS.get(charset.strip().lower())
    if codec is None:
        raise ApiError("unsupported_media_type", f"charset '{charset}' is not taken for forms; send them as UTF-8")
    return codec


def parts_of(body: bytes | bytearray, boundary: bytes) -> Iterator[tuple[bytes, int, int]]:
    """The head of every part of a multipart body, and where its data begins and ends. Raises ApiError (400)."""
    delimiter = b"\r\n--" + boundary
    if body.count(delimiter) > MAX_FIELDS + 1:  # counted before they are parsed: each costs more than a byte does
        raise _malformed(f"it has more than {MAX_FIELDS} parts")
    end = 0 if body.startswith(delimiter[2:]) else body.find(delimiter) + 2
    if end == 1:
        raise _malformed("the boundary of its Content-Type is not in it")
    position = end + len(delimiter) - 2
    while not body.startswith(b"--", position):
        line_end = body.find(b"\r\n", position, position + _PADDING)
        if line_end < 0 or body[position:line_end].strip(b" \t"):
            raise _malformed("a boundary does not end its line")
        head_end = body.find(b"\r\n\r\n", line_end, line_end + MAX_PART_HEAD_BYTES)
        if head_end < 0:
            raise _malformed(f"the headers of a part do not end within {MAX_PART_HEAD_BYTES} bytes")
        start = head_end + 4
        end = body.find(delimiter, start - 2)  # a part without data has its headers' last line break before it
        if end < 0:
            raise _malformed("its last part has no end")
        yield bytes(body[line_end + 2 : head_end]), start, max(start, end)
        position = end + len(delimiter)


def _multipart(
    body: bytes | bytearray, boundary: bytes, codec: str, max_field_bytes: int | None
) -> Iterator[tuple[str, str | UploadFile]]:
    with memoryview(body) as whole:
        for head, start, end in parts_of(body, boundary):
            headers = headers_of(head)
            options = parameters_of(headers.get("content-disposition", ""))
            if "name" not in options:
                raise _malformed("a part has no name in its Content-Disposition")
            name = _text(options["name"].encode("latin-1"), codec, "a name")
            if "filename" not in options and max_field_bytes is not None and end - start > max_field_bytes:
                message = f"field '{name}' has more than {max_field_bytes} bytes; a file has a filename in its part"
                raise ApiError("too_large", message, name)
            data = bytes(whole[start:end])
            if "filename" in options:
                filename = options["filename"].encode("latin-1").decode(codec, errors="replace")
                yield name, FormFile(data, without_folder(filename), headers)
            else:
                declared = parameters_of(headers.get("content-type", "")).get("charset")
                yield name, _text(data, codec if declared is None else codec_of(declared), f"field '{name}'")


def _urlencoded(body: bytes | bytearray, codec: str) -> Iterator[tuple[str, str]]:
    if body.count(b"&") >= MAX_FIELDS:
        raise _malformed(f"it has more than {MAX_FIELDS} fields")
    for field in bytes(body).split(b"&"):
        if field:
            name, _, value = field.partition(b"=")
            shown = _text(_unquoted(name), codec, "a name")
            yield shown, _text(_unquoted(value), codec, f"field '{shown}'")


def _unquoted(part: bytes) -> bytes | bytearray:
    """A name or a value without its escapes. In slices: `unquote_to_bytes` makes an object of every escape, which are a
    hundred bytes of memory for three."""
    decoded = bytearray()
    start = 0
    while start < len(part):
        checkpoint()
        end = start + _SLICE
        cut = part.rfind(b"%", end - 2, end)  # an escape is not cut in two
        end = end if cut < 0 else cut
        decoded += unquote_to_bytes(part[start:end].replace(b"+", b" "))
        start = end
    return decoded


def headers_of(head: bytes) -> Headers:
    """The headers of a part."""
    pairs = (line.partition(b":") for line in head.split(b"\r\n"))
    return Headers(raw=[(name.strip().lower(), value.strip()) for name, _, value in pairs])


def _boundary(parameters: Mapping[str, str]) -> bytes:
    boundary = parameters.get("boundary", "").encode("latin-1")
    if not 0 < len(boundary) <= MAX_BOUNDARY_BYTES:
        raise _malformed(f"its Content-Type needs a boundary of at most {MAX_BOUNDARY_BYTES} bytes")
    return boundary


def without_folder(filename: str) -> str:
    """The name alone of what very old browsers send: C:\\folder\\name, \\\\host\\folder\\name."""
    is_path = filename[1:3] == ":\\" or filename.startswith("\\\\")
    return filename.rpartition("\\")[2] if is_path else filename


def _text(data: bytes | bytearray, codec: str, what: str) -> str:
    try:
        return data.decode(codec)
    except UnicodeDecodeError as error:
        raise _malformed(f"{what} is not {codec} at byte {error.start}") from None


def _malformed(reason: str) -> ApiError:
    return ApiError("malformed", f"the body is not the form that its Content-Type says: {reason}")
