"""Where the values of a JSON file are in it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from server.files.formats.base import DamagedFile, Encoding, decode

_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s"{}\[\],:]++', re.DOTALL)
_DEEPEST = 64


@dataclass(eq=False, slots=True)
class Value:
    """A value from `start` to `end`. Of an object, `members` has the values by their keys; of a list, by "0", "1"..."""

    start: int
    end: int = 0
    members: dict[str, "Value"] = field(default_factory=dict)

    def get(self, *keys: str) -> "Value | None":
        """The value at a path."""
        inner: Value | None = self
        for key in keys:
            inner = None if inner is None else inner.members.get(key)
        return inner


@dataclass(frozen=True)
class JsonFile:
    text: str
    encoding: Encoding
    root: Value

    def string(self, value: Value | None) -> str | None:
        """The string of a value; None if it is none."""
        if value is None or self.text[value.start] != '"':
            return None
        return str(json.loads(self.text[value.start : value.end]))


def read_json(data: bytes) -> JsonFile:
    """Raises DamagedFile unless the file is an object."""
    text, encoding = decode(data)
    try:
        json.loads(text, parse_int=len, parse_float=len)  # numbers are not parsed: long ones take quadratic time
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"the file is no JSON, or has too many lists inside each other: {error}") from None
    root = json_tree(text)
    if not text.startswith("{", root.start):
        raise DamagedFile("the file has no JSON object, with strings by their keys")
    return JsonFile(text, encoding, root)


def quoted(text: str) -> str:
    """A string of JSON. Lone surrogates are escaped, which UTF-8 lacks."""
    return json.dumps(text, ensure_ascii=any(0xD800 <= ord(char) < 0xE000 for char in text))


def json_tree(text: str) -> Value:
    """The values of valid JSON. Raises DamagedFile where they are more than 64 deep."""
    tokens = _TOKEN.finditer(text)
    root = Value(0)
    open_values = [root]
    key: str | None = None
    for token, following in _with_next(tokens):
        mark = token[0]
        if mark in ",:":
            continue
        if mark in "}]":
            open_values.pop().end = token.end()
            key = None
            continue
        if key is None and following == ":":
            key = str(json.loads(mark))
            continue
        inner = Value(token.start(), token.end())
        around = open_values[-1]
        around.members[str(len(around.members)) if key is None else key] = inner
        key = None
        if mark in "{[":
            open_values.append(inner)
            if len(open_values) > _DEEPEST:
                raise DamagedFile(f"the file has objects more than {_DEEPEST} deep")
    return root.members["0"]


def _with_next(tokens: Iterator[re.Match[str]]) -> Iterator[tuple[re.Match[str], str]]:
    """Each token with the text of the next."""
    before: re.Match[str] | None = None
    for token in tokens:
        if before is not None:
            yield before, token[0]
        before = token
    if before is not None:
        yield before, ""
