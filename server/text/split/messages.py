"""Arguments of ICU MessageFormat that choose among texts: plural, selectordinal, select, choice.

Grammar (https://unicode-org.github.io/icu/userguide/format_parse/messages/, and java.text.ChoiceFormat):

    argument = "{" name "," ("plural" | "selectordinal" | "select") ","
               ["offset:" number] (selector "{" message "}")+ "}"
             | "{" name "," "choice" "," limit message ("|" limit message)* "}"
    message  = (text | "{" name ["," type ["," style]] "}" | argument)*

A separator (U+001C to U+001F) is between two texts, and no argument goes beyond it.
In a message, an apostrophe before a brace quotes all text up to the next apostrophe; two apostrophes are one.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from server.runtime.checkpoints import checkpoint
from server.text.base.words import Place

MAX_DEPTH = 12
"""Arguments inside each other."""
_SPACE = r"[ \t\r\n\u200e\u200f]*+"
_BEGINNING = re.compile(
    rf"\{{{_SPACE}[^\s{{}},'\"#|]{{1,100}}+{_SPACE},{_SPACE}(plural|selectordinal|select|choice){_SPACE},{_SPACE}"
)
_OFFSET = re.compile(rf"offset:{_SPACE}\d{{1,9}}+{_SPACE}")
_SELECTOR = re.compile(rf"(?:=\d{{1,9}}+|[^\s{{}}=,'|#]{{1,100}}+){_SPACE}\{{")
_LIMIT = re.compile(rf"{_SPACE}-?(?:\d{{1,19}}+(?:\.\d{{1,19}}+)?|\u221e)[#<\u2264]")
_STOP = re.compile(r"[{}'|\x1c-\x1f]")
_VALUE = re.compile(r"\{\{[^{}\x1c-\x1f]*+\}\}|\{[^{}'\x1c-\x1f]*+(?:'[^'\x1c-\x1f]*+'[^{}'\x1c-\x1f]*+)*+\}")
"""An argument without texts, or a value of another template language."""
_QUOTED = re.compile(r"[^'\x1c-\x1f]*+'")
_SPACES = re.compile(_SPACE)


class Argument(NamedTuple):
    """An argument from `start` to `end`, and the places of its texts in order, those of arguments inside of it, too."""

    start: int
    end: int
    texts: tuple[Place, ...]


class _Malformed(Exception):
    """The text is no argument, though it begins like one."""


def find_arguments(text: str) -> Iterator[Argument]:
    """The outermost arguments of a text that choose among texts. What does not follow the grammar is no argument.
    Linear in len(text), times MAX_DEPTH for malformed ones."""
    end = 0
    while match := _BEGINNING.search(text, end):
        checkpoint()
        texts: list[Place] = []
        try:
            end = _argument(text, match, texts, 1)
        except _Malformed:
            end = match.start() + 1
        else:
            yield Argument(match.start(), end, tuple(texts))


def _argument(text: str, beginning: re.Match[str], texts: list[Place], depth: int) -> int:
    """The end of the argument that begins there; its texts are appended to `texts`."""
    if depth > MAX_DEPTH:
        raise _Malformed
    at = beginning.end()
    if beginning[1] == "choice":
        return _choice(text, at, texts, depth)
    if beginning[1] != "select" and (offset := _OFFSET.match(text, at)):
        at = offset.end()
    is_empty = True
    while selector := _SELECTOR.match(text, at):
        at = _message(text, selector.end(), texts, depth, "}")
        spaces = _SPACES.match(text, at)
        at, is_empty = spaces.end() if spaces else at, False
    if is_empty or text[at : at + 1] != "}":
        raise _Malformed
    return at + 1


def _choice(text: str, at: int, texts: list[Place], depth: int) -> int:
    while limit := _LIMIT.match(text, at):
        at = _message(text, limit.end(), texts, depth, "|}")
        if text[at - 1] == "}":
            return at
    raise _Malformed


def _message(text: str, at: int, texts: list[Place], depth: int, ends: str) -> int:
    """The position after the end of the message that begins at `at`; its texts, around and inside of arguments, are
    appended to `texts`."""
    start = at
    while stop := _STOP.search(text, at):
        at, sign = stop.start(), stop[0]
        if sign in ends:
            texts.append((start, at))
            return at + 1
        if sign == "'":
            at = _after_apostrophe(text, at)
        elif sign == "|":
            at += 1
        elif sign != "{":
            break
        elif inner := _BEGINNING.match(text, at):
            texts.append((start, at))
            start = at = _argument(text, inner, texts, depth + 1)
        elif value := _VALUE.match(text, at):
            at = value.end()
        else:
            break
    raise _Malformed


def _after_apostrophe(text: str, at: int) -> int:
    following = text[at + 1 : at + 2]
    if following == "'":
        return at + 2
    if following not in ("{", "}") or not following:
        return at + 1
    closing = _QUOTED.match(text, at + 2)
    if closing is None:
        raise _Malformed
    return closing.end()
