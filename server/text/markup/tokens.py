"""Markup as a sequence of tags and texts: no tree is built."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from server.text.spans.template_tags import template_spans

Kind = Literal["html", "xml"]

_VOID = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
})  # fmt: skip
_RAW_TEXT = frozenset({"script", "style", "textarea"})


_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|<![A-Za-z][^>]*+(?:>|\Z)"
    r"|<(?P<close>/?)(?P<name>[A-Za-z_][^\s/><\"']*+)"
    r"(?P<rest>(?:[^><\"']++|\"[^\"]{0,20000}+\"|'[^']{0,20000}+'){0,500}+)>",
    re.DOTALL,
)
_MARKUP = re.compile("</|<!|-->")
_DOCUMENT = -1
"""Index of the element around all other elements."""


class MalformedMarkup(ValueError):
    """XML that is not well-formed; the message has the place."""


@dataclass(frozen=True)
class Token:
    """Text (`name` is None) or a piece of markup; `name` is "" for comments and the like."""

    raw: str
    name: str | None = None
    is_close: bool = False
    is_empty: bool = False


def tokens_of(text: str, kind: Kind) -> Iterator[Token]:
    end = 0
    markup = _without_templates(text)
    while match := _TOKEN.search(markup, end):
        if match.start() > end:
            yield Token(text[end : match.start()])
        end = match.end()
        name, raw = match["name"], text[match.start() : end]
        if name is None:
            yield Token(raw, "")
            continue
        name = name.lower() if kind == "html" else name
        is_empty = raw.endswith("/>") or (kind == "html" and name in _VOID)
        yield Token(raw, name, bool(match["close"]), is_empty)
        if kind == "html" and name in _RAW_TEXT and not match["close"] and not is_empty:
            closing = re.compile(rf"</{name}\b", re.IGNORECASE).search(text, end)
            stop = closing.start() if closing else len(text)
            yield Token(text[end:stop], "")
            end = stop
    if end < len(text):
        yield Token(text[end:])


def _without_templates(text: str) -> str:
    """A text of the same length without tags of template engines, whose signs are none of the markup."""
    parts: list[str] = []
    last = 0
    for start, end in template_spans(text):
        template = text[start:end]
        if template.startswith("<?") or (template[0] != "<" and _MARKUP.search(template)):
            continue
        parts += (text[last:start], "x" * (end - start))
        last = end
    return "".join([*parts, text[last:]]) if parts else text


def is_opening(token: Token) -> bool:
    return bool(token.name) and not token.is_close and not token.is_empty


def element_end(tokens: Sequence[Token], start: int) -> int:
    """The index after the closing tag of the element that opens at `start`, or after the last token."""
    depth = 0
    for index in range(start, len(tokens)):
        token = tokens[index]
        if token.name == tokens[start].name and not token.is_empty:
            depth += -1 if token.is_close else 1
            if depth == 0:
                return index + 1
    return len(tokens)


def ends_of(tokens: Sequence[Token]) -> dict[int, int]:
    """`element_end` of all elements that are closed, by the indexes of their opening tags."""
    ends: dict[int, int] = {}
    open_tags: dict[str, list[int]] = {}
    for index, token in enumerate(tokens):
        if not token.name or token.is_empty:
            continue
        same = open_tags.setdefault(token.name, [])
        if not token.is_close:
            same.append(index)
        elif same:
            ends[same.pop()] = index + 1
    return ends


def find_inline_in_xml(tokens: Sequence[Token]) -> set[int]:
    """Indexes of the tags inside elements with mixed content, at any depth. Raises MalformedMarkup."""
    mixed = _find_mixed_in_xml(tokens)
    inline: set[int] = set()
    is_inside = [_DOCUMENT in mixed]  # for each open element: whether it is in mixed content or has it
    for index, token in enumerate(tokens):
        if token.name is None:
            continue
        if token.is_close and not token.is_empty:
            is_inside.pop()
        if is_inside[-1]:
            inline.add(index)
        if is_opening(token):
            is_inside.append(is_inside[-1] or index in mixed)
    return inline


def _find_mixed_in_xml(tokens: Sequence[Token]) -> set[int]:
    """Indexes of the opening tags of elements with mixed content (text of their own). Raises MalformedMarkup."""
    open_tags = [_DOCUMENT]
    mixed: set[int] = set()
    for index, token in enumerate(tokens):
        if token.name is None:
            if not token.raw.isspace():
                mixed.add(open_tags[-1])
        elif is_opening(token):
            open_tags.append(index)
        elif token.name and not token.is_empty and (len(open_tags) == 1 or tokens[open_tags.pop()].name != token.name):
            raise MalformedMarkup(f"</{token.name}> closes nothing that is open at this place")
    if len(open_tags) > 1:
        raise MalformedMarkup(f"<{tokens[open_tags[-1]].name}> is never closed")
    return mixed
