r"""Java's .properties: the values are texts; keys, comments and the form of all other lines stay.

The grammar is that of `java.util.Properties.load`. A file is read as UTF-8 or, where it is none, as ISO-8859-1, and
written in the same; characters that ISO-8859-1 lacks become \uXXXX there, as do all but ASCII in a file of ASCII. A
value with arguments ({0}) whose apostrophes are all doubled is a pattern of `java.text.MessageFormat`, where '' is an
apostrophe.
"""

import re
from collections.abc import Callable, Iterator

from server.files.formats.base import Budget, DamagedFile, OpenedFile, decode
from server.files.formats.constants import CONSTANTS
from server.files.formats.spans import Span, opened, value
from server.text.base.words import has_letters

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_BLANK = " \t\f"
_LINE_END = r"(?:\r\n?|\n)"
_ENTRY = re.compile(
    rf"[{_BLANK}]*+(?:[#!][^\r\n]*+|(?P<key>(?:[^\s=:\\]|\\{_LINE_END}[{_BLANK}]*+|\\.|[^\S{_BLANK}\r\n])*+)"
    rf"(?P<separator>(?:[{_BLANK}]|\\{_LINE_END})*+[=:]?(?:[{_BLANK}]|\\{_LINE_END})*+)"
    rf"(?P<value>(?:[^\\\r\n]|\\{_LINE_END}|\\.)*+)\\?){_LINE_END}?"
)
_ESCAPED = re.compile(rf"\\(?:u([0-9A-Fa-f]{{4}})|({_LINE_END}[{_BLANK}]*+)|(.))")
_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_SPECIAL = re.compile(r"[\\\n\t\r\f\x00-\x1f]")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f"}
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_QUOTED = re.compile(r"'\{[^{}']{0,100}+\}'")
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_ARGUMENT = re.compile(r"\{\d{1,3}[,}]")


def open_properties(data: bytes, language: str, budget: Budget) -> OpenedFile:
    text, encode = _decoded(data)
    return opened(text, encode, _values(text), budget)


def _decoded(data: bytes) -> tuple[str, Callable[[str], bytes]]:
    """The characters of a file, and what writes characters in its encoding."""
    if data.isascii():
        return _checked(data.decode("ascii")), lambda text: _with_escapes(text, "ascii")
    if not data.startswith(_UTF_16) and not _is_utf8(data):
        return _checked(data.decode("iso8859-1")), lambda text: _with_escapes(text, "iso8859-1")
    text, encoding = decode(data)
    return text, encoding.encode


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _checked(text: str) -> str:
    if "\x00" in text:
        raise DamagedFile("the file is no text: it has zero bytes")
    return text


def _with_escapes(text: str, codec: str) -> bytes:
    if text.isascii():
        return text.encode("ascii")
    limit = 0x80 if codec == "ascii" else 0x100
    return "".join(char if ord(char) < limit else _escape_utf16(char) for char in text).encode(codec)


def _escape_utf16(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def _values(text: str) -> Iterator[Span]:
    end = 0
    while end < len(text):
        entry = _ENTRY.match(text, end)
        if entry is None or entry.end() == end:
            raise DamagedFile(f"the file is no .properties file: line {text.count(chr(10), 0, end) + 1}")
        end = entry.end()
        raw = entry["value"]
        if raw and has_letters(source := _read(raw)) and source not in CONSTANTS:
            is_pattern = _is_pattern(source)
            shown = source.replace("''", "'") if is_pattern else source

            is_quoting = not is_pattern and _QUOTED.search(source) is not None

            def write(translation: str, is_pattern: bool = is_pattern, is_quoting: bool = is_quoting) -> str:
                if is_quoting:  # an apostrophe would end or begin a quotation
                    translation = _APOSTROPHE.sub("\u2019", translation)
                return _write(translation.replace("'", "''") if is_pattern else translation)

            yield value(*entry.span("value"), shown, write)


def _is_pattern(source: str) -> bool:
    """Whether it is a pattern of MessageFormat: one that has no apostrophes is one, too."""
    return _ARGUMENT.search(source) is not None and "'" not in source.replace("''", "")


def _read(raw: str) -> str:
    def character(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return "" if match[2] is not None else _CHARACTERS.get(match[3], match[3])

    unescaped = _ESCAPED.sub(character, raw) if "\\" in raw else raw
    return _SURROGATES.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), unescaped)


def _write(text: str) -> str:
    """In one line. A value must not begin with what belongs to the separator."""
    escaped = _SPECIAL.sub(lambda match: _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04X}", text)
    return "\\" + escaped if escaped[:1] in {" ", "=", ":"} else escaped
