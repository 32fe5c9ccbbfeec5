"""Cuts a text into sentences and the gaps between them, so that nothing is lost.

The segments of a text, joined, are the text, byte for byte. Sentences are translated; gaps are carried over as they
are: line breaks and every other control character, whitespace around a sentence, a bullet at the start of a line, and
whatever has no letters ("---", emoji, "1,234.50", a telephone number).

Boundaries come from `sentencex`, which cuts after list numbers and some abbreviations; those cuts are taken back here.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import sentencex

from server.text.marks import MARK, closing_of, is_closing, is_mark, is_opening, opening_of
from server.text.patterns import OUTER_EMOJI, unbroken_spans
from server.text.words import has_letters

# What no sentence contains: control characters, line and paragraph separators, lone surrogates.
_BREAKS = re.compile("([\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+)")
# Unicode's spaces that are no control characters, zero-width space and byte order mark: nothing to translate.
_OUTER_SPACE = " \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200C))) + "\u202f\u205f\u3000\ufeff"
_AS_ASCII_SPACE = dict.fromkeys(map(ord, _OUTER_SPACE), " ")
# A bullet in front of a line, or several.
_BULLET = re.compile(r"[\s\ufeff\u200b]*(?:[-*+>#\u2022\u2023\u25e6\u2013\u2014\u00b7]+\s+)+")
# "1.", "(2)", "a)", "iv.": a list number, never a sentence of its own.
_LIST_NUMBER = re.compile(r"\s*[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)\]]\s*")
_LAST_WORD = re.compile(r"([^\s(\[\"'\u201e\u201c\u2018]+)\s*$")

_ABBREVIATIONS = frozenset({
    "approx.", "ca.", "cf.", "e.g.", "i.e.", "viz.", "vs.", "Dr.", "Mr.", "Mrs.", "Ms.", "Prof.", "Rev.", "Gen.",
    "Col.", "Capt.", "Lt.", "Sgt.", "Sen.", "Rep.", "Gov.", "Hon.", "St.", "Mt.", "bzw.", "d.h.", "Dipl.", "evtl.",
    "ggf.", "Hr.", "Fr.", "inkl.", "Mio.", "Mrd.", "sog.", "u.a.", "usf.", "vgl.", "z.B.", "zzgl.",
})  # fmt: skip
_NUMBERING = frozenset({
    "No.", "Nos.", "no.", "Fig.", "Figs.", "Eq.", "Eqs.", "Sec.", "Ch.", "Art.", "Vol.", "p.", "pp.", "Nr.", "Abb.",
    "Abs.", "Kap.", "Bd.", "S.", "Tab.", "Ziff.",
})  # fmt: skip
"""Abbreviations only where a number follows: "No." is an answer, "No. 5" is not."""

_BLOCK = 4096
MAX_EMOJI = 64
"""Characters of emoji at the end of a sentence that are looked at."""
_MAX_LAST_WORD = 24
"""Characters at the end of a sentence in which its last word is looked for: longer ones are no abbreviations."""


@dataclass(frozen=True)
class Segment:
    """A stretch of a text: a sentence to translate, or a gap to keep."""

    text: str
    is_sentence: bool


def split_text(text: str, language: str) -> list[Segment]:
    """Sentences and gaps of `text`; joined they are `text`. `language` is a two-letter code. Linear in len(text)."""
    segments: list[Segment] = []
    for index, part in enumerate(_BREAKS.split(text)):
        if index % 2:
            segments.append(Segment(part, is_sentence=False))
        else:
            segments.extend(_split_line(part, language))
    return _join_gaps(segments)


def trim(part: str) -> Iterator[Segment]:
    """`part` as gap, sentence and gap; emoji at its ends are gaps. One gap when there is nothing to translate in it."""
    if not has_letters(part):
        yield Segment(part, is_sentence=False)
        return
    start, end = _inner(part)
    yield Segment(part[:start], is_sentence=False)
    yield Segment(part[start:end], is_sentence=True)
    yield Segment(part[end:], is_sentence=False)


def _inner(part: str) -> tuple[int, int]:
    """(start, end) of `part` without spaces, emoji and marks at its ends."""
    start, end = len(part) - len(part.lstrip(_OUTER_SPACE)), len(part.rstrip(_OUTER_SPACE))
    if part.isascii():
        return start, end
    before = None
    while before != (start, end):
        before = (start, end)
        start += _outer_start(part, start, end)
        end -= _outer_end(part, start, end)
        start = end - len(part[start:end].lstrip(_OUTER_SPACE))
        end = start + len(part[start:end].rstrip(_OUTER_SPACE))
    return start, end


def _outer_start(part: str, start: int, end: int) -> int:
    """Length of an emoji or a mark at the start; 0 for a mark whose element ends inside."""
    if emoji := OUTER_EMOJI.match(part, start, end):
        return emoji.end() - start
    first = part[start]
    if not is_mark(first):
        return 0
    is_around = part[end - 1] == closing_of(first) if is_opening(first) else True
    return int(is_around or closing_of(first) not in part[start:end])


def _outer_end(part: str, start: int, end: int) -> int:
    """Length of an emoji or a mark at the end; 0 for a mark whose element begins inside."""
    last = part[end - 1]
    if is_mark(last):
        return int(not is_closing(last) or opening_of(last) not in part[start:end])
    tail = max(start, end - MAX_EMOJI)
    return next((end - one.start() for one in OUTER_EMOJI.finditer(part, tail, end) if one.end() == end), 0)


def _split_line(line: str, language: str) -> Iterator[Segment]:
    bullet = _BULLET.match(line)
    start = bullet.end() if bullet else 0
    yield Segment(line[:start], is_sentence=False)
    line = line[start:]
    for part in _rejoin(_outside(_cut_marked(line, language), unbroken_spans(line))):
        yield from trim(part)


def _outside(parts: Iterable[str], spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Take back cuts inside what is protected: a placeholder, a tag."""
    pending, end, index = "", 0, 0
    for part in parts:
        pending += part
        end += len(part)
        while index < len(spans) and spans[index][1] <= end:
            index += 1
        if index == len(spans) or not spans[index][0] < end:
            yield pending
            pending = ""
    if pending:
        yield pending


def _cut_marked(line: str, language: str) -> Iterator[str]:
    """Like `_cut`, for a line with marks: they do not change the cuts, and a closing one stays with what is before
    it."""
    if not MARK.search(line):
        yield from _cut(line, language)
        return
    places = [place for place, one in enumerate(line) if not is_mark(one)]
    start = count = 0
    for part in _cut(MARK.sub("", line), language):
        count += len(part)
        if count == len(places):
            break
        end = places[count - 1] + 1 if count else 0
        while is_closing(line[end]):
            end += 1
        yield line[start:end]
        start = end
    yield line[start:]


def _cut(line: str, language: str) -> Iterator[str]:
    """The sentences that `sentencex` finds. It gets the text in blocks, each after the last part of the block before,
    because its time is quadratic on text that is not ASCII."""
    carried = ""
    for start in range(0, len(line), _BLOCK):
        parts = _segment(carried + line[start : start + _BLOCK], language)
        carried = parts.pop()
        yield from parts
    yield carried


def _segment(block: str, language: str) -> list[str]:
    """The library's sentences of one block. It panics at some spaces beyond ASCII, so it gets ASCII spaces in their
    place and the block is cut at the lengths that it gives. A block that it cannot cut becomes one long sentence."""
    try:
        lengths = [len(part) for part in sentencex.segment(language, block.translate(_AS_ASCII_SPACE))]
    except BaseException as error:  # a panic of the library's native code is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return [block]
    if sum(lengths) != len(block) or not lengths:
        return [block]
    ends = list(itertools.accumulate(lengths))
    return [block[end - length : end] for length, end in zip(lengths, ends, strict=True)]


def _rejoin(parts: Iterable[str]) -> Iterator[str]:
    """Take back cuts after list numbers and abbreviations."""
    pending: list[str] = []
    for part in parts:
        if pending and not _continues(pending[-1], part):
            yield "".join(pending)
            pending = []
        pending.append(part)
    if pending:
        yield "".join(pending)


def _continues(before: str, after: str) -> bool:
    """True when `after` belongs to the sentence that `before` ends."""
    if len(before) <= _MAX_LAST_WORD and _LIST_NUMBER.fullmatch(before):
        return True
    last = _LAST_WORD.search(before[-_MAX_LAST_WORD:])
    if last is None:
        return False
    return last[1] in _ABBREVIATIONS or (last[1] in _NUMBERING and after[:1].isdigit())


def _join_gaps(segments: Iterable[Segment]) -> list[Segment]:
    """Drop empty segments and make one gap of neighbours."""
    joined: list[Segment] = []
    gap: list[str] = []
    for segment in segments:
        if segment.is_sentence:
            _flush(gap, joined)
            joined.append(segment)
        else:
            gap.append(segment.text)
    _flush(gap, joined)
    return joined


def _flush(gap: list[str], joined: list[Segment]) -> None:
    text = "".join(gap)
    gap.clear()
    if text:
        joined.append(Segment(text, is_sentence=False))
