"""The headers and footers of an Excel sheet's pages: texts with codes for their place, formatting and fields
(ECMA-376, part 1, 18.3.1.46)."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from server.files.formats.xml_files import valid_text
from server.text.base.placeholders import PlaceholderText, is_placeholder, nested, split_at_placeholders
from server.text.base.words import has_letters

_ELEMENT = re.compile(rb"<(?:[\w.-]+:)?(?:odd|even|first)(?:Header|Footer)(?:\s[^<>]*)?>([^<]*)</")
_AND = "&amp;"
_CODE = re.compile(
    rf"{_AND}(?:\"[^\"]*\"|&quot;(?:[^&]|&(?!quot;))*&quot;|[Kk][0-9A-Fa-f]{{2}}[0-9A-Fa-f+-][0-9A-Fa-f]{{3}}|[0-9]{{1,3}}"
    rf"|[A-Za-z])"
)
_SECTION = re.compile(rf"{_AND}[LCRlcr]")
_FIELDS = frozenset("PNDTFAZ")
"""Codes in whose place readers see a number or a word."""
_LONGEST = 255
"""Characters of a header with its codes, at most: Excel refuses files with more."""
_SIZE = re.compile(rf"{_AND}[0-9]+")


@dataclass(frozen=True)
class HeaderText:
    """A section of a header from byte `start` to byte `end`. It may become `room` characters longer."""

    start: int
    end: int
    room: int
    content: PlaceholderText = field(default_factory=PlaceholderText)

    @property
    def text(self) -> str:
        return self.content.text

    def written(self, translation: str) -> Iterator[bytes | tuple[int, int]]:
        parts: list[str] = []
        for part in nested(split_at_placeholders(translation)):
            if is_placeholder(part):
                parts.append(self.content.raw[part])
                continue
            follows_size = bool(parts) and _SIZE.fullmatch(parts[-1]) is not None
            parts.append(" " * (follows_size and part[0].isdecimal()))
            parts.append(html.escape(valid_text(part).replace("&", "&&"), quote=False))
        raw = "".join(parts)
        if len(html.unescape(raw)) > _length(self.content) + self.room:
            yield self.start, self.end
        else:
            yield raw.encode()


def header_texts(data: bytearray) -> Iterator[HeaderText]:
    """The sections with words, in the order of their bytes."""
    for match in _ELEMENT.finditer(data):
        raw = match[1].decode(errors="replace")
        if not has_letters(_CODE.sub("", raw.replace(_AND * 2, ""))):
            continue
        starts = [0, *(code.start() for code in _codes(raw) if _SECTION.fullmatch(code[0])), len(raw)]
        room = max(0, _LONGEST - len(html.unescape(raw))) // 3
        for start, end in pairwise(starts):
            first = match.start(1) + len(raw[:start].encode())
            section = HeaderText(first, first + len(raw[start:end].encode()), room)
            _fill(section.content, raw[start:end])
            if has_letters(section.text):
                yield section


def _codes(raw: str) -> Iterator[re.Match[str]]:
    at = 0
    while (at := raw.find(_AND, at)) >= 0:
        if raw.startswith(_AND * 2, at):
            at += 2 * len(_AND)
        elif (code := _CODE.match(raw, at)) is not None:
            yield code
            at = code.end()
        else:
            at += len(_AND)


def _fill(content: PlaceholderText, raw: str) -> None:
    end = 0
    for code in _codes(raw):
        _add_text(content, raw[end : code.start()])
        name = code[0][len(_AND) :].upper()
        content.add_value(code[0]) if name in _FIELDS else content.add_standalone(code[0])
        end = code.end()
    _add_text(content, raw[end:])


def _add_text(content: PlaceholderText, raw: str) -> None:
    content.add_text(html.unescape(raw).replace("&&", "&"))


def _length(content: PlaceholderText) -> int:
    parts = content.parts
    return sum(
        len(html.unescape(content.raw[part])) if is_placeholder(part) else len(part) + part.count("&") for part in parts
    )
