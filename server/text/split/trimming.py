"""What stands around a sentence and is no part of it: spaces, emoji, placeholders, lines of signs, tags of template
engines."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property

from server.text.base.placeholders import (
    PLACEHOLDER,
    closing_of,
    is_closing,
    is_opening,
    is_placeholder,
    is_value,
    opening_of,
)
from server.text.base.words import has_letters
from server.text.spans.table import EMOJI_END, OUTER_EMOJI
from server.text.spans.template_tags import template_spans
from server.text.spans.templates import shows_value
from server.text.split.segment import Segment

# Unicode's spaces except control characters, zero-width space, byte order mark, marks of direction that embed nothing.
OUTER_SPACE = " \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200C))) + "\u202f\u205f\u3000\ufeff\u061c\u200e\u200f"
_JOINERS = "\u00ad\u034f\u200c\u2060"
"""Soft hyphen, grapheme joiner, non-joiner, word joiner: at the ends of a sentence they only pad it."""
_OUTER = OUTER_SPACE + _JOINERS
_OUTER_SPACES = re.compile(f"[{_OUTER}]*+")
_BLOCK_TAG = re.compile(
    r"</?(?:html|body|center|p|div|h[1-6]|ul|ol|li|dl|dt|dd|table|t[rdh]|thead|tbody|blockquote|section|article|br|hr)"
    r"(?:\s[^<>]{0,500}+)?/?>",
    re.IGNORECASE,
)
_RULE_SIGNS = "=_~*#+-"
_SHORTEST_RULE = 3
_RULE_BEFORE = re.compile(r"(?:={3,}|_{3,}|~{3,}|\*{3,}|#{3,}|\+{3,}|-{3,})[ \u00a0]+")


def trim(part: str) -> Iterator[Segment]:
    """`part` as gap, sentence and gap; emoji and tags of template engines at its ends are gaps, values are not. One gap
    if it has no letters."""
    start, end = _inner(part) if has_letters(part) else (0, 0)
    if start < end and (templates := _outer_tags(part)):
        start, end = _without_templates(part, start, end, templates)
    if not has_letters(part[start:end]):
        yield Segment(part, is_sentence=False)
        return
    if start:
        yield Segment(part[:start], is_sentence=False)
    yield Segment(part[start:end], is_sentence=True)
    if end < len(part):
        yield Segment(part[end:], is_sentence=False)


def _outer_tags(part: str) -> Sequence[tuple[int, int]]:
    """The tags of template engines and of blocks of HTML, in order."""
    tags = template_spans(part)
    if "<" in part and (blocks := [match.span() for match in _BLOCK_TAG.finditer(part)]):
        return sorted({*tags, *blocks})
    return tags


def _without_templates(part: str, start: int, end: int, templates: Sequence[tuple[int, int]]) -> tuple[int, int]:
    for first, stop in templates:
        if first == start < stop <= end and not shows_value(part[first:stop]):
            start = _spaces_end(part, stop, end)
    for first, stop in reversed(templates):
        if stop == end > first >= start and not shows_value(part[first:stop]):
            end = start + len(part[start:first].rstrip(_OUTER))
    return start, end


def _inner(part: str) -> tuple[int, int]:
    """(start, end) of `part` without spaces, emoji and placeholders at its ends."""
    start, end = len(part) - len(part.lstrip(_OUTER)), len(part.rstrip(_OUTER))
    if part[start] in _RULE_SIGNS or part[end - 1] in _RULE_SIGNS:
        start, end = _without_rules(part, start, end)
    if part.isascii():
        return start, end
    is_plain = part[start].isalpha() and not (is_placeholder(part[end - 1]) or EMOJI_END.match(part[end - 1]))
    return (start, end) if is_plain else _Trimmer(part, start, end).trim()


def _without_rules(part: str, start: int, end: int) -> tuple[int, int]:
    """(start, end) without lines that are drawn with signs at the ends: "=== Results ==="."""
    if (rule := _RULE_BEFORE.match(part, start, end)) is not None:
        start = rule.end()
    sign = part[end - 1]
    bare = part[start:end].rstrip(sign)
    if sign in _RULE_SIGNS and len(bare) + _SHORTEST_RULE <= end - start and bare[-1:] == " ":
        end = start + len(bare.rstrip(_OUTER))
    return (start, end) if has_letters(part[start:end]) else (0, 0)


class _Trimmer:
    """Removes emoji, placeholders and spaces from the ends of a text with letters, in linear time."""

    def __init__(self, part: str, start: int, end: int) -> None:
        self._part, self._start, self._end = part, start, end

    def trim(self) -> tuple[int, int]:
        """(start, end) of the rest."""
        before = None
        while before != (self._start, self._end):
            before = (self._start, self._end)
            self._start += self._at_start()
            self._end -= self._at_end()
            self._start = _spaces_end(self._part, self._start, self._end)
            while self._part[self._end - 1] in _OUTER:
                self._end -= 1
        return self._start, self._end

    def _at_start(self) -> int:
        """Length of an emoji or a placeholder at the start; 0 for a placeholder whose element ends inside."""
        if emoji := OUTER_EMOJI.match(self._part, self._start, self._end):
            return emoji.end() - self._start
        first = self._part[self._start]
        if not is_placeholder(first) or is_value(first):
            return 0
        encloses_all = self._part[self._end - 1] == closing_of(first) if is_opening(first) else True
        return int(encloses_all or not self._contains(closing_of(first)))

    def _at_end(self) -> int:
        """Length of an emoji or a placeholder at the end; 0 for a placeholder whose element begins inside."""
        last = self._part[self._end - 1]
        if is_value(last):
            return 0
        if is_placeholder(last):
            return int(not is_closing(last) or not self._contains(opening_of(last)))
        if not EMOJI_END.match(last):
            return 0
        return self._end - max(self._start, self._emoji.get(self._end, self._end))

    def _contains(self, placeholder: str) -> bool:
        """Whether the placeholder is in the rest."""
        places = self._placeholders.get(placeholder, [])
        following = bisect_left(places, self._start)
        return following < len(places) and places[following] < self._end

    @cached_property
    def _placeholders(self) -> dict[str, list[int]]:
        """Placeholder -> its positions, in order."""
        places: dict[str, list[int]] = {}
        for match in PLACEHOLDER.finditer(self._part):
            places.setdefault(match[0], []).append(match.start())
        return places

    @cached_property
    def _emoji(self) -> dict[int, int]:
        """End of a run of emoji -> its start."""
        return {match.end(): match.start() for match in OUTER_EMOJI.finditer(self._part)}


def _spaces_end(part: str, start: int, end: int) -> int:
    spaces = _OUTER_SPACES.match(part, start, end)
    return spaces.end() if spaces else start
