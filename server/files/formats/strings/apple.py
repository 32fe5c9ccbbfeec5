r"""Apple's .strings: `"key" = "value";`. Values are texts; keys, comments and the form of all else stay.

The file is UTF-8 or UTF-16, also without a byte order mark. Property lists in XML or binary form are refused.
"""

import re
from collections.abc import Iterator

from server.files.formats.base import Budget, DamagedFile, Encoding, OpenedFile, decode, shown
from server.files.formats.spans import Span, opened, value
from server.text.base.words import has_letters

_GAP = r"(?:\s|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+"
_STRING = r'"(?:[^"\\]|\\.)*+"'
_BARE = r"(?:[\w.$:-]|/(?![/*]))++"
_PAIR = re.compile(rf"{_GAP}(?:{_STRING}|{_BARE}){_GAP}(?:=(?:{_GAP})(?P<value>{_STRING}|{_BARE}){_GAP})?;", re.DOTALL)
_REST = re.compile(rf"{_GAP}\Z")
_ESCAPED = re.compile(r"\\(?:[Uu]([0-9A-Fa-f]{4})|([0-7]{1,3})|(.))", re.DOTALL)
_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_SPECIAL = re.compile(r'["\\\x00-\x1f]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def open_strings(data: bytes, language: str, budget: Budget) -> OpenedFile:
    if data.startswith((b"bplist", b"<?xml", b"<plist")):
        raise DamagedFile('the file is a property list in binary or XML form; convert it to text, "key" = "value";')
    text, encoding = _decoded(data)
    return opened(text, encoding.encode, _values(text), budget, encoding.notes)


def _decoded(data: bytes) -> tuple[str, Encoding]:
    """In UTF-16 without a byte order mark, every second byte of a quotation mark, slash or blank is zero."""
    name = "utf-16-be" if data[:1] == b"\x00" else "utf-16-le" if data[1:2] == b"\x00" else None
    if name is None or len(data) % 2:
        return decode(data)
    try:
        return data.decode(name), Encoding(name, notes=[f"read as {shown(name)}, which the file does not declare"])
    except UnicodeDecodeError as error:
        raise DamagedFile(f"the file is no {name.upper()} text (byte {error.start}); save it as UTF-8") from None


def _values(text: str) -> Iterator[Span]:
    end = 0
    while pair := _PAIR.match(text, end):
        end = pair.end()
        raw = pair["value"]
        if raw and has_letters(source := _read(raw)):
            yield value(*pair.span("value"), source, _write)
    if not _REST.match(text, end):
        line = text.count("\n", 0, end + len(text[end:]) - len(text[end:].lstrip())) + 1
        raise DamagedFile(f'the file is no .strings file: line {line} begins with no "key" = "value";')


def _read(raw: str) -> str:
    if not raw.startswith('"'):
        return raw

    def character(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return chr(int(match[2], 8)) if match[2] else _CHARACTERS.get(match[3], match[3])

    unescaped = _ESCAPED.sub(character, raw[1:-1])
    return _SURROGATES.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), unescaped)


def _write(text: str) -> str:
    escaped = _SPECIAL.sub(lambda match: _ESCAPES.get(match[0]) or f"\\U{ord(match[0]):04X}", text)
    return f'"{escaped}"'
