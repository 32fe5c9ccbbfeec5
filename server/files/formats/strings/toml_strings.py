"""The strings of TOML with their keys, and where they are (TOML 1.0). Only what is needed to find them is read."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from server.files.formats.base import DamagedFile

_TOKEN = re.compile(
    r'#[^\n]*+|"""(?:[^"\\]++|\\.|"{1,2}(?!"))*+"{3,5}'
    r"|'''(?:[^']++|'{1,2}(?!'))*+'{3,5}"
    r'|"(?:[^"\\\n]++|\\[^\n])*+"'
    r"|'[^'\n]*+'|[A-Za-z0-9_+:-]++|[ \t\r]++|[\n=.,\[\]{}]",
    re.DOTALL,
)
_DEEPEST = 64
_ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([ \t\r]*+\n\s*+)|(.))", re.DOTALL)
_CHARACTERS = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}
_SPECIAL = re.compile(r'[\\"\x00-\x08\x0a-\x1f\x7f]')
_SPECIAL_IN_LINES = re.compile(r'\\|"(?=")|"\Z|[\x00-\x08\x0b-\x1f\x7f]')
_ESCAPES = {"\b": "\\b", "\n": "\\n", "\f": "\\f", "\r": "\\r", "\\": "\\\\", '"': '\\"'}


class TomlString(NamedTuple):
    """A value from `start` to `end`, quotation marks included, and the keys that lead to it."""

    path: tuple[str, ...]
    start: int
    end: int
    raw: str

    @property
    def text(self) -> str:
        return _read(self.raw)

    def write(self, text: str) -> str:
        """Another text with the same quotation marks, or with others where these cannot have it."""
        if self.raw.startswith(('"""', "'''")):
            newline = "\r\n" if "\r\n" in self.raw else "\n"
            first = newline if self.raw[3:].startswith(("\n", "\r\n")) else ""
            if self.raw.startswith("'''") and "'''" not in text and text[-1:] != "'" and not _unprintable(text):
                return f"'''{first}{text.replace(chr(10), newline)}'''"
            escaped = _SPECIAL_IN_LINES.sub(_escape, text)
            return f'"""{first}{escaped.replace(chr(10), newline)}"""'
        if self.raw.startswith("'") and "'" not in text and "\n" not in text and not _unprintable(text):
            return f"'{text}'"
        return f'"{_SPECIAL.sub(_escape, text)}"'


def toml_strings(text: str) -> Iterator[TomlString]:
    """The strings that are values. Raises DamagedFile for what is no TOML."""
    table: list[str] = []
    keys: list[str] = []
    around: list[tuple[str, tuple[str, ...]]] = []
    """The open lists and tables, each with the keys that lead to it."""
    is_header = is_value = False
    end = 0
    while end < len(text):
        token = _TOKEN.match(text, end)
        if token is None:
            raise DamagedFile(f"the text is no TOML: line {text.count(chr(10), 0, end) + 1}")
        mark, end = token[0], token.end()
        if mark[0] in " \t\r#":
            continue
        path = (*(around[-1][1] if around else table), *keys)
        is_string = mark[0] in "\"'"
        if mark == "\n":
            if not around:
                keys, is_header, is_value = [], False, False
        elif is_header:
            if mark not in "[].":
                table.append(_read(mark))
        elif mark == "[" and not (around or keys or is_value):
            table, is_header = [], True
        elif mark in "[{":
            around.append((mark, path))
            keys, is_value = [], mark == "["
        elif mark in "]}":
            if not around:
                raise DamagedFile("the text is no TOML: a bracket closes nothing")
            around.pop()
            keys, is_value = [], True
        elif mark == ",":
            keys, is_value = [], bool(around) and around[-1][0] == "["
        elif mark == "=":
            is_value = True
        elif is_value and is_string:
            yield TomlString(path, token.start(), token.end(), mark)
        elif not is_value and mark != ".":
            keys.append(_read(mark))
        if max(len(around), len(keys), len(table)) > _DEEPEST:
            raise DamagedFile(f"the text has lists or tables more than {_DEEPEST} deep")


def _read(raw: str) -> str:
    for quotes in ('"""', "'''", '"', "'"):
        if raw.startswith(quotes) and len(raw) >= 2 * len(quotes):
            inner = raw[len(quotes) : -len(quotes)]
            if len(quotes) == 3:
                inner = inner.replace("\r\n", "\n").removeprefix("\n")
            return _ESCAPED.sub(_character, inner) if quotes[0] == '"' and "\\" in inner else inner
    return raw


def _character(match: re.Match[str]) -> str:
    if code := match[1] or match[2]:
        number = int(code, 16)
        return chr(number) if number < 0xD800 or 0xDFFF < number < 0x110000 else "\ufffd"
    return "" if match[3] else _CHARACTERS.get(match[4], match[4])


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04X}"


def _unprintable(text: str) -> bool:
    return any((ord(char) < 0x20 and char not in "\t\n") or char == "\x7f" for char in text)
