"""The parts of a mail (RFC 2045, RFC 2046) with the places of their bytes."""

import email.message
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from server.files.formats.base import DamagedFile

MAX_PARTS = 1000
MAX_DEPTH = 10
"""Parts inside each other."""
_MAX_VALUE = 2000
"""Bytes of a header field that is read, at most."""
_FIELD = re.compile(rb"^([!-9;-~]+):[ \t]*((?:[^\r\n]|\r?\n[ \t])*+)", re.MULTILINE)
_LINE_END = re.compile(rb"\r?\n")
_EMPTY_LINE = re.compile(rb"\r?\n\r?\n")


@dataclass(frozen=True)
class Field:
    """A header field, from byte `start` to byte `end` without its line end; its value begins at `value_start`."""

    start: int
    value_start: int
    end: int
    value: bytes

    @property
    def text(self) -> str:
        """The value in one line."""
        value = re.sub(rb"\r?\n(?=[ \t])", b"", self.value[:_MAX_VALUE])
        try:
            return value.decode()  # RFC 6532
        except UnicodeDecodeError:
            return value.decode("cp1252", errors="replace")


@dataclass(frozen=True)
class Part:
    """A part of the mail `data`, or all of it: header fields from byte `start` on, the content from `body` to `end`."""

    data: bytes
    start: int
    body: int
    end: int

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The first field of every name, in small letters."""
        fields: dict[str, Field] = {}
        for match in _FIELD.finditer(self.data, self.start, self.body):
            name = match[1].decode("ascii").lower()
            fields.setdefault(name, Field(match.start(), match.start(2), match.end(), match[2]))
        return fields

    def text(self, name: str) -> str:
        """The value of a field; "" if there is none."""
        field = self.fields.get(name)
        return "" if field is None else field.text

    @cached_property
    def _message(self) -> email.message.Message:
        message = email.message.Message()
        for name in ("content-type", "content-disposition"):
            if value := self.text(name).strip():
                message[name] = value
        return message

    @property
    def content_type(self) -> str:
        return self._message.get_content_type()

    @property
    def charset(self) -> str:
        """As it is declared; "" if it is not."""
        return str(self._message.get_content_charset() or "")

    def parameter(self, name: str) -> str:
        """A parameter of the type of the content, in small letters."""
        return str(self._message.get_param(name) or "").lower()

    @property
    def is_attachment(self) -> bool:
        return self._message.get_content_disposition() == "attachment" or self._message.get_filename() is not None

    @property
    def boundary(self) -> bytes:
        """What divides the parts of this one; empty if it has none."""
        return str(self._message.get_boundary() or "").encode("ascii", errors="replace")


def parts_of(data: bytes) -> Iterator[Part]:
    """The mail and all its parts, a part before those inside of it. Raises DamagedFile."""
    count = 0
    waiting = [(_part(data, 0, len(data)), 0)]
    while waiting:
        part, depth = waiting.pop()
        count += 1
        if count > MAX_PARTS or depth > MAX_DEPTH:
            raise DamagedFile(f"the mail has more than {MAX_PARTS} parts, or parts more than {MAX_DEPTH} deep")
        yield part
        if part.content_type.startswith("multipart/") and 0 < len(part.boundary) <= 70:
            inner = [(_part(data, start, end), depth + 1) for start, end in _between(part)]
            waiting += reversed(inner)


def _part(data: bytes, start: int, end: int) -> Part:
    """The part of these bytes: its content begins after the first empty line."""
    is_headless = data[start : start + 1] in (b"\r", b"\n")
    match = _LINE_END.match(data, start, end) if is_headless else _EMPTY_LINE.search(data, start, end)
    return Part(data, start, end if match is None else match.end(), end)


def _between(part: Part) -> Iterator[tuple[int, int]]:
    """Where the parts inside of a part begin and end."""
    line = re.compile(rb"(?:\A|(?<=\n))--" + re.escape(part.boundary) + rb"(--)?[ \t]*+(?:\r?\n|\Z)")
    start: int | None = None
    for match in line.finditer(part.data, part.body, part.end):
        if start is not None:
            end = match.start()
            end -= 2 if part.data[end - 2 : end] == b"\r\n" else 1
            if end >= start:
                yield start, end
        if match[1]:
            return
        start = match.end()
    if start is not None:
        yield start, part.end
