"""Cuts a text into sentences and the gaps between them, so that nothing is lost.

The segments of a text, joined, are the text, byte for byte. Sentences are translated; gaps are carried over as they
are: line breaks and every other control character, whitespace around a sentence, a bullet at the start of a line, and
whatever has no letters ("---", emoji, "1,234.50", a telephone number).

Boundaries come from `sentencex`, which cuts after list numbers and some abbreviations; those cuts are taken back here.
"""

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import sentencex

from server.runtime.checkpoints import checkpoint
from server.text.base.placeholders import MARK, closing_of, is_closing, is_opening, is_placeholder, opening_of
from server.text.base.words import has_letters
from server.text.protect.patterns import EMOJI_END, OUTER_EMOJI, unbroken_spans

# What no sentence contains: control characters, line and paragraph separators, lone surrogates.
_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]++")
# Unicode's spaces that are no control characters, zero-width space and byte order mark: nothing to translate.
_OUTER_SPACE = " \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200C))) + "\u202f\u205f\u3000\ufeff"
_AS_ASCII_SPACE = dict.fromkeys(map(ord, _OUTER_SPACE), " ")
_OUTER_SPACES = re.compile(f"[{_OUTER_SPACE}]*+")
_MARKS = MARK.pattern[1:-1]
# Words, spaces, marks, ASCII's signs that end sentences in no language, and one other sign at most, after them: no
# sentence ends before the end.
_ONE_SENTENCE = re.compile(rf"[\w\s{_MARKS}\"#$%&'()*+,\-/<=>@\[\\\]^`{{|}}~]*+[^\w\s]?+[\s{_MARKS}]*+")
_SIGN = re.compile(r"[^\w\s\x00-\x7f]")
# A bullet in front of a line, or several.
_BULLET = re.compile(r"[\s\ufeff\u200b]*+(?:[-*+>#\u2022\u2023\u25e6\u2013\u2014\u00b7]++\s++)++")
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

_BLOCK, _COSTLY_BLOCK = 4096, 1024
"""Characters that are cut at once: fewer where the library's time is quadratic. A quotation that goes on after a block
is cut as if it had no end, so blocks are long where they may be."""
_CONTEXT = 1024
"""Characters of an unfinished sentence that are looked at again, together with as many that follow."""
_MAX_LAST_WORD = 24
"""Characters at the end of a sentence in which its last word is looked for: longer ones are no abbreviations."""


class Segment(NamedTuple):
    """A stretch of a text: a sentence to translate, or a gap to keep."""

    text: str
    is_sentence: bool


def split_text(text: str, language: str) -> list[Segment]:
    """Sentences and gaps of `text`; joined they are `text`. `language` is a two-letter code. Linear in len(text)."""
    return list(segments_of(text, language))


def segments_of(text: str, language: str) -> Iterator[Segment]:
    """`split_text`, one after the other: nothing is made that is not asked for."""
    return _join_gaps(_segments(text, language))


def _segments(text: str, language: str) -> Iterator[Segment]:
    end = 0
    for gap in _BREAKS.finditer(text):
        checkpoint()
        if gap.start() > end:
            yield from _split_line(text[end : gap.start()], language)
        yield Segment(gap[0], is_sentence=False)
        end = gap.end()
    if end < len(text):
        yield from _split_line(text[end:], language)


def trim(part: str) -> Iterator[Segment]:
    """`part` as gap, sentence and gap; emoji at its ends are gaps. One gap when there is nothing to translate in it."""
    if not has_letters(part):
        yield Segment(part, is_sentence=False)
        return
    start, end = _inner(part)
    if start:
        yield Segment(part[:start], is_sentence=False)
    yield Segment(part[start:end], is_sentence=True)
    if end < len(part):
        yield Segment(part[end:], is_sentence=False)


def _inner(part: str) -> tuple[int, int]:
    """(start, end) of `part` without spaces, emoji and marks at its ends."""
    start, end = len(part) - len(part.lstrip(_OUTER_SPACE)), len(part.rstrip(_OUTER_SPACE))
    is_plain = part[start].isalpha() and not (is_placeholder(part[end - 1]) or EMOJI_END.match(part[end - 1]))
    return (start, end) if is_plain or part.isascii() else _Ends(part, start, end).cut()


class _Ends:
    """A text with letters that loses emoji, marks and spaces at its ends, in time linear in its length."""

    def __init__(self, part: str, start: int, end: int) -> None:
        self._part, self._start, self._end = part, start, end

    def cut(self) -> tuple[int, int]:
        """(start, end) of what is left."""
        before = None
        while before != (self._start, self._end):
            before = (self._start, self._end)
            self._start += self._at_start()
            self._end -= self._at_end()
            self._start = _spaces_end(self._part, self._start, self._end)
            while self._part[self._end - 1] in _OUTER_SPACE:
                self._end -= 1
        return self._start, self._end

    def _at_start(self) -> int:
        """Length of an emoji or a mark at the start; 0 for a mark whose element ends inside."""
        if emoji := OUTER_EMOJI.match(self._part, self._start, self._end):
            return emoji.end() - self._start
        first = self._part[self._start]
        if not is_placeholder(first):
            return 0
        is_around = self._part[self._end - 1] == closing_of(first) if is_opening(first) else True
        return int(is_around or not self._has(closing_of(first)))

    def _at_end(self) -> int:
        """Length of an emoji or a mark at the end; 0 for a mark whose element begins inside."""
        last = self._part[self._end - 1]
        if is_placeholder(last):
            return int(not is_closing(last) or not self._has(opening_of(last)))
        if not EMOJI_END.match(last):
            return 0
        return self._end - max(self._start, self._emoji.get(self._end, self._end))

    def _has(self, mark: str) -> bool:
        """Whether the mark is in what is left."""
        places = self._marks.get(mark, [])
        following = bisect_left(places, self._start)
        return following < len(places) and places[following] < self._end

    @cached_property
    def _marks(self) -> dict[str, list[int]]:
        """The places of every mark, in order."""
        places: dict[str, list[int]] = {}
        for match in MARK.finditer(self._part):
            places.setdefault(match[0], []).append(match.start())
        return places

    @cached_property
    def _emoji(self) -> dict[int, int]:
        """Where emoji in a row end, and where they start."""
        return {match.end(): match.start() for match in OUTER_EMOJI.finditer(self._part)}


def _spaces_end(part: str, start: int, end: int) -> int:
    spaces = _OUTER_SPACES.match(part, start, end)
    return spaces.end() if spaces else start


def _split_line(line: str, language: str) -> Iterator[Segment]:
    bullet = _BULLET.match(line)
    if bullet:
        yield Segment(bullet[0], is_sentence=False)
        line = line[bullet.end() :]
    if _ONE_SENTENCE.fullmatch(line):
        yield from trim(line)
        return
    parts, spans = _cut_marked(line, language), unbroken_spans(line)
    for part in _rejoin(_outside(parts, spans) if spans else parts):
        yield from trim(part)


def _outside(parts: Iterable[str], spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Take back cuts inside what is protected: a placeholder, a tag."""
    pending, end, index = list[str](), 0, 0
    for part in parts:
        pending.append(part)
        end += len(part)
        while index < len(spans) and spans[index][1] <= end:
            index += 1
        if index == len(spans) or not spans[index][0] < end:
            yield "".join(pending)
            pending = []
    if pending:
        yield "".join(pending)


def _cut_marked(line: str, language: str) -> Iterator[str]:
    """Like `_cut`, for a line with marks: they do not change the cuts, and a closing one stays with what is before
    it."""
    if not MARK.search(line):
        yield from _cut(line, language)
        return
    places = [place for place, one in enumerate(line) if not is_placeholder(one)]
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
    because its time is quadratic. Of a last part that is longer than any sentence it gets the end."""
    begun: list[str] = []
    carried = ""
    start = 0
    while start < len(line):
        is_costly = begun or _is_dense(line, start)
        end = start + (_COSTLY_BLOCK if is_costly else _BLOCK - len(carried))
        parts = _segment(carried + line[start:end], language)
        start = end
        if begun:  # no sentence ends in what is carried: that was seen with more before it
            parts = _without_ends_before(len(carried), parts)
        carried = parts.pop()
        if parts:
            yield "".join([*begun, parts[0]])
            yield from parts[1:]
            begun = []
        if len(carried) > _CONTEXT:
            begun.append(carried[:-_CONTEXT])
            carried = carried[-_CONTEXT:]
    yield "".join([*begun, carried])


def _is_dense(line: str, start: int) -> bool:
    """Whether more than a quarter of the block that begins at `start` is signs beyond ASCII, as in no language: that
    many sentences take the library quadratic time."""
    return not line.isascii() and len(_SIGN.findall(line, start, start + _BLOCK)) > _BLOCK // 4


def _without_ends_before(place: int, parts: list[str]) -> list[str]:
    """The parts with those joined that end before `place`, and the one after them."""
    count = length = 0
    while length < place:
        length += len(parts[count])
        count += 1
    return ["".join(parts[:count]), *parts[count:]]


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


def _join_gaps(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Drop empty segments and make one gap of neighbours."""
    gap: list[str] = []
    for segment in segments:
        if not segment.is_sentence:
            gap.append(segment.text)
            continue
        if text := "".join(gap):
            yield Segment(text, is_sentence=False)
        gap.clear()
        yield segment
    if text := "".join(gap):
        yield Segment(text, is_sentence=False)
