"""JSON, and a value of JSON on each line (JSON Lines): string values are texts; keys and all other characters stay.

In the messages of a browser extension (objects that each have a "message"), only the messages are texts: what stands
beside them is for translators.
"""

import json
import re
from collections.abc import Iterator

from server.files.formats.base import Budget, DamagedFile, Encoding, FileOptions, OpenedFile, decode
from server.files.formats.constants import CONSTANTS, is_for_program, kept_note
from server.files.formats.key_paths import KeyPaths, State
from server.files.formats.spans import Span, opened, value
from server.text.base.words import has_letters

_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"(\s*+:)?|[{}\[\],]', re.DOTALL)
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"(\s*+:\s*+)?', re.DOTALL)
_LONGEST_NAME = 40
"""Characters of a key under which names for programs may be."""
_LINE = re.compile(r"[^\n]++")
_MESSAGES = "*.message"


def open_json(data: bytes, language: str, budget: Budget, options: FileOptions) -> OpenedFile:
    """`options.keys`: see `KeyPaths`."""
    text, encoding = decode(data)
    try:
        parsed = _parsed(text)
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"the file is no JSON, or has too many lists inside each other: {error}") from None
    keys = options.keys or (_MESSAGES if _is_of_extension(parsed) else "")
    del parsed
    kept: list[str] = []
    file = opened(text, encoding.encode, _spans(text, keys, encoding, kept), budget, encoding.notes)
    return _with_note(file, kept)


def open_json_lines(data: bytes, language: str, budget: Budget, options: FileOptions) -> OpenedFile:
    """`options.keys` are those of each line."""
    text, encoding = decode(data)
    lines = [line for line in _LINE.finditer(text) if line[0].strip()]
    for line in lines:
        try:
            _parsed(line[0])
        except (ValueError, RecursionError) as error:
            number = text.count("\n", 0, line.start()) + 1
            raise DamagedFile(f"line {number} is no JSON, or has too many lists inside each other: {error}") from None

    kept: list[str] = []

    def spans() -> Iterator[Span]:
        for line in lines:
            for span in _spans(line[0], options.keys, encoding, kept):
                yield span._replace(start=line.start() + span.start, end=line.start() + span.end)

    return _with_note(opened(text, encoding.encode, spans(), budget, encoding.notes), kept)


def _with_note(file: OpenedFile, kept: list[str]) -> OpenedFile:
    if kept:
        file.notes.append(kept_note(kept))
    return file


def _parsed(text: str) -> object:
    return json.loads(text, parse_int=len, parse_float=len)  # numbers are not parsed: they take quadratic time


def _spans(text: str, keys: str, encoding: Encoding, kept: list[str]) -> Iterator[Span]:
    """The values of a text that is known to be JSON; `kept` gets the keys of values for programs."""

    def write(translation: str) -> str:
        try:
            translation.encode(encoding.name)
        except UnicodeEncodeError:
            return json.dumps(translation)
        return json.dumps(translation, ensure_ascii=False)

    for match in _values(text, KeyPaths.parse(keys)) if keys else _all_values(text, kept):
        source = str(json.loads(match[0]))
        if has_letters(source) and source not in CONSTANTS:
            yield value(*match.span(), source, write)


def _is_of_extension(parsed: object) -> bool:
    """Whether it is {"name": {"message": "text", "description": ...}, ...}."""
    return (
        isinstance(parsed, dict)
        and bool(parsed)
        and all(isinstance(value, dict) and isinstance(value.get("message"), str) for value in parsed.values())
        and any("description" in value or "placeholders" in value for value in parsed.values())
    )


def _all_values(text: str, kept: list[str]) -> Iterator[re.Match[str]]:
    """The strings that are no keys, but for names for programs, whose keys are appended to `kept`. The text is known to
    be JSON."""
    key, end = "", -1
    for match in _STRING.finditer(text):
        if match[1] is not None:
            key, end = match[0][: -len(match[1])], match.end()
            continue
        if match.start() == end and len(key) < _LONGEST_NAME and is_for_program(str(json.loads(key)), match[0][1:-1]):
            kept.append(key[1:-1])
        else:
            yield match


def _values(text: str, paths: KeyPaths) -> Iterator[re.Match[str]]:
    """The strings that `paths` choose. The text is known to be JSON."""
    state = paths.start
    stack: list[tuple[State, int | None]] = []
    """For every open object or list its state, and in a list the index of the next element."""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in "}]":
            stack.pop()
        elif token == ",":
            around, index = stack[-1]
            if index is not None:
                stack[-1] = around, index + 1
        elif match[1] is not None:
            state = paths.step(stack[-1][0], str(json.loads(token[: -len(match[1])])))
        else:
            around, index = stack[-1] if stack else (state, None)
            if index is not None:
                state = paths.element(around, index)
            if token in "{[":
                stack.append((state, 0 if token == "[" else None))
            elif paths.is_chosen(state):
                yield match
