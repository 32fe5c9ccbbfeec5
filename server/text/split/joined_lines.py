"""Texts whose line breaks end no sentence: the lines of a paragraph are joined, and its breaks are put back between the
words of the translation. Empty lines, items of a list and turns of a dialogue stay apart. A text has as many line
breaks after as before, with the spaces around them."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from server.runtime.checkpoints import checkpoint
from server.text.spans.table import protected_spans

_BREAK = re.compile("(\r\n|[\n\r\v\f\x85\u2028\u2029])")
# An item of a list, or what another speaker says.
_ITEM = re.compile(r"[*+>#\u2022\u2023\u25e6\u00b7]\s|[-\u2013\u2014]|[(\[]?(?:\d{1,3}[.)\]]|[A-Za-z][)\]])\s")
_SIGNS = frozenset(",;:.!?\u2026\u2013\u2014")
_IDEOGRAPHS = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff66-\uff9f]")
_NOT_FIRST = frozenset("\u3001\u3002\uff0c\uff01\uff1f\uff1a\uff1b\u300d\u300f\uff09\u3011\u30fc")
"""Signs that begin no line."""


class LineBreak(NamedTuple):
    """A line break and the spaces around it, at the place of the space that stands for it."""

    place: int
    text: str


class _Chunk(NamedTuple):
    """A sentence or a gap, where it begins, and its translation."""

    start: int
    source: str
    target: str


class Paragraph(NamedTuple):
    """Lines that are joined by single spaces."""

    text: str
    breaks: tuple[LineBreak, ...] = ()

    def restored(self, sentences: Sequence[tuple[str, str]], translation: str) -> str:
        """The `translation` with all line breaks. `sentences` are those of the text with their translations; what is
        between them is the same in the text and in the translation. Linear in the length of both."""
        parts: list[str] = []
        number = 0
        for chunk in self._chunks(sentences, translation):
            checkpoint()
            first, end = number, chunk.start + len(chunk.source)
            while number < len(self.breaks) and self.breaks[number].place < end:
                number += 1
            within = [LineBreak(at.place - chunk.start, at.text) for at in self.breaks[first:number]]
            parts.append(_with_breaks(chunk, within) if within else chunk.target)
        return "".join(parts)

    def _chunks(self, sentences: Sequence[tuple[str, str]], translation: str) -> Iterator[_Chunk]:
        at = to = 0
        for source, target in sentences:
            start = self.text.find(source, at)
            gap = self.text[at:start]
            if start < 0 or not translation.startswith(gap + target, to):  # text that is kept has the sentence in it
                break
            yield from (_Chunk(at, gap, gap), _Chunk(start, source, target))
            at, to = start + len(source), to + len(gap) + len(target)
        yield _Chunk(at, self.text[at:], translation[to:])


def paragraphs_of(text: str) -> list[Paragraph | str]:
    """The paragraphs of a text and what is between them, in order. Joined, with line breaks in place of the spaces that
    stand for them, they are the text. Linear in len(text)."""
    parts: list[Paragraph | str] = []
    between: list[str] = []
    lines: list[str] = []
    breaks: list[LineBreak] = []
    length = 0

    def close() -> None:
        if lines:
            parts.append(Paragraph(" ".join(lines), tuple(breaks)))
            lines.clear()
            breaks.clear()

    pieces = [*_BREAK.split(text), ""]
    for line, line_break in zip(pieces[::2], pieces[1::2], strict=True):
        checkpoint()
        content = line.strip()
        is_text = any(map(str.isalnum, content))
        if not lines or not is_text or _ITEM.match(content):
            close()
        if not is_text:
            between.append(line + line_break)
            continue
        start = line.index(content)
        if lines:
            breaks.append(LineBreak(length, "".join([*between, line[:start]])))
            length += 1
        else:
            parts.append("".join([*between, line[:start]]))
            length = 0
        lines.append(content)
        length += len(content)
        between = [line[start + len(content) :], line_break]
    close()
    return [part for part in (*parts, "".join(between)) if part]


def _with_breaks(chunk: _Chunk, breaks: Sequence[LineBreak]) -> str:
    """A chunk's translation with line breaks: as far into it as in the source, in place of the nearest space; after the
    nearest sign, if one is before the break in the source. Breaks for which there is no space are at the end."""
    source, target = chunk.source, chunk.target
    if source == target:
        places = [line_break.place for line_break in breaks]
    else:
        scale = len(target) / max(1, len(source))
        aims = [
            (line_break.place * scale, source[line_break.place - 1 : line_break.place] in _SIGNS)
            for line_break in breaks
        ]
        places = _chosen(target, aims)
    parts: list[str] = []
    end = 0
    for place, line_break in zip(places, breaks, strict=False):
        parts += (target[end:place], line_break.text)
        end = place + (target[place] == " ")
    return "".join([*parts, target[end:], *(line_break.text for line_break in breaks[len(places) :])])


def _chosen(target: str, aims: Sequence[tuple[float, bool]]) -> list[int]:
    """A free place for each aim, in order; fewer if there are too few places."""
    places = _possible(target)
    after_signs = [place for place in places if target[place - 1] in _SIGNS]
    radius = len(target) / (2 * len(aims) + 2)
    count = min(len(aims), len(places))
    chosen: list[int] = []
    first = 0
    for number, (aim, is_after_sign) in enumerate(aims[:count]):
        best = _nearest(places, aim)
        if is_after_sign and after_signs:
            sign = _nearest(after_signs, aim)
            best = sign if abs(sign - aim) <= radius else best
        index = max(first, min(bisect_left(places, best), len(places) - (count - number)))
        chosen.append(places[index])
        first = index + 1
    return chosen


def _possible(target: str) -> list[int]:
    """The places where a line can end: spaces, and between ideographs."""
    places = [place for place, character in enumerate(target) if character == " " and place]
    ideographs = [match.start() for match in _IDEOGRAPHS.finditer(target)]
    places += [place for place in ideographs if place and target[place - 1] != " " and target[place] not in _NOT_FIRST]
    kept = protected_spans(target)
    ends = [end for _, end in kept]
    free: list[int] = []
    for place in sorted(places):
        following = bisect_left(ends, place + 1)
        if following == len(kept) or place <= kept[following][0]:
            free.append(place)
    return free


def _nearest(places: Sequence[int], aim: float) -> int:
    """The one of `places`, which are in order, that is nearest to `aim`."""
    following = bisect_left(places, aim)
    if following == 0 or (following < len(places) and places[following] - aim < aim - places[following - 1]):
        return places[following]
    return places[following - 1]
