"""Splits a text into sentences and the gaps between them without loss.

The segments of a text, joined, are the text, byte for byte. Sentences are translated; gaps are copied: line breaks and
other control characters, whitespace around a sentence, a bullet at the start of a line, and segments without letters
("---", emoji, "1,234.50", a telephone number).

`sentencex` gives the boundaries. It splits after list numbers and some abbreviations; such parts are joined again here.
"""

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import sentencex

from server.runtime.checkpoints import checkpoint
from server.text.base.placeholders import (
    PLACEHOLDER,
    VALUE_PLACEHOLDER,
    closing_of,
    is_closing,
    is_opening,
    is_placeholder,
    is_value,
    opening_of,
)
from server.text.base.words import has_letters
from server.text.spans.table import EMOJI_END, OUTER_EMOJI, protected_spans, template_spans
from server.text.spans.templates import shows_value
from server.text.split.messages import find_arguments

# Never inside a sentence: control characters, line and paragraph separators, lone surrogates, blanks between columns.
_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]++|(?<=[^ ]) {3,}+(?=[^ ])")
_SEPARATOR = re.compile("[\x1c-\x1f]")  # between two texts
# Unicode's spaces except control characters, zero-width space, byte order mark.
_OUTER_SPACE = " \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200C))) + "\u202f\u205f\u3000\ufeff"
_AS_ASCII_SPACE = dict.fromkeys(map(ord, _OUTER_SPACE), " ")
_OUTER_SPACES = re.compile(f"[{_OUTER_SPACE}]*+")
_PLACEHOLDERS = PLACEHOLDER.pattern[1:-1]
# A line of words, spaces, placeholders and ASCII signs that end a sentence in no language, with at most one other sign
# at its end, is one sentence.
_ONE_SENTENCE = re.compile(rf"[\w\s{_PLACEHOLDERS}\"#$%&'()*+,\-/<=>@\[\\\]^`{{}}~]*+[^\w\s]?+[\s{_PLACEHOLDERS}]*+")
_SIGN = re.compile(r"[^\w\s\x00-\x7f]")
# One or several bullets at the start of a line; the language that a model of several shall translate into.
_BULLET = re.compile(
    r"(?:>>[a-z]{2,3}(?:_[A-Za-z]{2,8})?<<(?=\s))?[\s\ufeff\u200b]*+"
    r"(?:[-*+>#\u2022\u2023\u25e6\u2013\u2014\u00b7]++\s++)*+"
)
# Between entries of a menu, forms of a plural (vue-i18n, Laravel), cells of a row.
_BAR = re.compile(r"\s\|\s|\|(?=[\[{]\d)")
_RULE_SIGNS = "=_~*#+-"
_SHORTEST_RULE = 3
_RULE_BEFORE = re.compile(r"(?:={3,}|_{3,}|~{3,}|\*{3,}|#{3,}|\+{3,}|-{3,})[ \u00a0]+")
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
"""Abbreviations only if a number follows: "No." is an answer, "No. 5" is not."""

_BLOCK, _COSTLY_BLOCK = 4096, 1024
"""Characters that the library splits at once; the second where its time is quadratic. A quotation that continues after
the end of a block is split as if it had no end, so blocks are as long as possible."""
_CONTEXT = 1024
"""Characters of an unfinished sentence that are split again together with the text that follows."""
_MAX_LAST_WORD = 24
"""Characters at the end of a sentence in which its last word is searched; longer words are no abbreviations."""


class Segment(NamedTuple):
    """A stretch of a text: a sentence to translate, or a gap to keep."""

    text: str
    is_sentence: bool


def split_text(text: str, language: str) -> list[Segment]:
    """Sentences and gaps of `text`; joined they are `text`. `language` is a two-letter code. Linear in len(text)."""
    return list(segments_of(text, language))


def segments_of(text: str, language: str) -> Iterator[Segment]:
    """`split_text` as an iterator: a segment is made when it is requested."""
    return _join_gaps(_with_messages(text, language))


def _with_messages(text: str, language: str) -> Iterator[Segment]:
    """The segments of a text. Each text of an argument of a message is split by itself; its syntax is a gap."""
    end = 0
    for argument in find_arguments(text):
        yield from _with_templates(text[end : argument.start], language)
        end = argument.start
        for start, stop in argument.texts:
            yield Segment(text[end:start], is_sentence=False)
            yield from _segments(text[start:stop], language, has_bullets=False)
            end = stop
        yield Segment(text[end : argument.end], is_sentence=False)
        end = argument.end
    yield from _with_templates(text[end:], language)


def _with_templates(text: str, language: str) -> Iterator[Segment]:
    """The segments of a text, in which a tag of a template engine that has line breaks is a gap."""
    end = 0
    for start, stop in template_spans(text) if "\n" in text else ():
        if "\n" in text[start:stop] and not _SEPARATOR.search(text, start, stop):
            yield from _segments(text[end:start], language)
            yield Segment(text[start:stop], is_sentence=False)
            end = stop
    yield from _segments(text[end:], language)


def _segments(text: str, language: str, has_bullets: bool = True) -> Iterator[Segment]:
    end = 0
    for gap in _BREAKS.finditer(text):
        checkpoint()
        if gap.start() > end:
            yield from _split_line(text[end : gap.start()], language, has_bullets)
        yield Segment(gap[0], is_sentence=False)
        end = gap.end()
    if end < len(text):
        yield from _split_line(text[end:], language, has_bullets)


def trim(part: str) -> Iterator[Segment]:
    """`part` as gap, sentence and gap; emoji and tags of template engines at its ends are gaps, values are not. One gap
    if it has no letters."""
    start, end = _inner(part) if has_letters(part) else (0, 0)
    if start < end and (templates := template_spans(part)):
        start, end = _without_templates(part, start, end, templates)
    if not has_letters(part[start:end]):
        yield Segment(part, is_sentence=False)
        return
    if start:
        yield Segment(part[:start], is_sentence=False)
    yield Segment(part[start:end], is_sentence=True)
    if end < len(part):
        yield Segment(part[end:], is_sentence=False)


def _without_templates(part: str, start: int, end: int, templates: Sequence[tuple[int, int]]) -> tuple[int, int]:
    for first, stop in templates:
        if first == start < stop <= end and not shows_value(part[first:stop]):
            start = _spaces_end(part, stop, end)
    for first, stop in reversed(templates):
        if stop == end > first >= start and not shows_value(part[first:stop]):
            end = start + len(part[start:first].rstrip(_OUTER_SPACE))
    return start, end


def _inner(part: str) -> tuple[int, int]:
    """(start, end) of `part` without spaces, emoji and placeholders at its ends."""
    start, end = len(part) - len(part.lstrip(_OUTER_SPACE)), len(part.rstrip(_OUTER_SPACE))
    if part[start] in _RULE_SIGNS or part[end - 1] in _RULE_SIGNS:
        start, end = _without_rules(part, start, end)
    is_plain = part[start].isalpha() and not (is_placeholder(part[end - 1]) or EMOJI_END.match(part[end - 1]))
    return (start, end) if is_plain or part.isascii() else _Trimmer(part, start, end).trim()


def _without_rules(part: str, start: int, end: int) -> tuple[int, int]:
    """(start, end) without lines that are drawn with signs at the ends: "=== Results ==="."""
    if (rule := _RULE_BEFORE.match(part, start, end)) is not None:
        start = rule.end()
    sign = part[end - 1]
    bare = part[start:end].rstrip(sign)
    if sign in _RULE_SIGNS and len(bare) + _SHORTEST_RULE <= end - start and bare[-1:] == " ":
        end = start + len(bare.rstrip(_OUTER_SPACE))
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
            while self._part[self._end - 1] in _OUTER_SPACE:
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


def _split_line(line: str, language: str, has_bullets: bool) -> Iterator[Segment]:
    bullet = _BULLET.match(line) if has_bullets else None
    if bullet and bullet[0]:
        yield Segment(bullet[0], is_sentence=False)
        line = line[bullet.end() :]
    if _ONE_SENTENCE.fullmatch(line):
        yield from trim(line)
        return
    spans = protected_spans(line)
    bars = _outside(_BAR.finditer(line), spans) if "|" in line else []
    if bars:
        end = 0
        for start, stop in bars:
            yield from _split_line(line[end:start], language, has_bullets=False)
            yield Segment(line[start:stop], is_sentence=False)
            end = stop
        yield from _split_line(line[end:], language, has_bullets=False)
        return
    parts = _split_with_placeholders(line, language)
    for part in _rejoin(_join_within(parts, spans) if spans else parts):
        yield from trim(part)


def _outside(matches: Iterable[re.Match[str]], spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The places of the matches that overlap no span; both are in order."""
    places: list[tuple[int, int]] = []
    number = 0
    for match in matches:
        while number < len(spans) and spans[number][1] <= match.start():
            number += 1
        if number == len(spans) or match.end() <= spans[number][0]:
            places.append(match.span())
    return places


def _join_within(parts: Iterable[str], spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Join the parts of a protected span, such as a tag."""
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


def _split_with_placeholders(line: str, language: str) -> Iterator[str]:
    """`_split_sentences` for a line with placeholders: they do not change the boundaries, except values, which are
    words, and a closing placeholder stays with the text before it."""
    if not PLACEHOLDER.search(line):
        yield from _split_sentences(line, language)
        return
    read = VALUE_PLACEHOLDER.sub("X", line)
    places = [place for place, char in enumerate(read) if not is_placeholder(char)]
    start = count = 0
    for part in _split_sentences(PLACEHOLDER.sub("", read), language):
        count += len(part)
        if count == len(places):
            break
        end = places[count - 1] + 1 if count else 0
        while is_closing(line[end]):
            end += 1
        yield line[start:end]
        start = end
    yield line[start:]


def _split_sentences(line: str, language: str) -> Iterator[str]:
    """The sentences of `sentencex`. It gets the line in blocks, because its time is quadratic. The last part of a block
    is split again with the next block; if it is longer than _CONTEXT, only its end."""
    unfinished: list[str] = []
    carried = ""
    start = 0
    while start < len(line):
        is_costly = unfinished or _is_dense(line, start)
        end = start + (_COSTLY_BLOCK if is_costly else _BLOCK - len(carried))
        parts = _segment(carried + line[start:end], language)
        start = end
        if unfinished:  # the carried text has no boundary: it was split with more text before it
            parts = _join_until(len(carried), parts)
        carried = parts.pop()
        if parts:
            yield "".join([*unfinished, parts[0]])
            yield from parts[1:]
            unfinished = []
        if len(carried) > _CONTEXT:
            unfinished.append(carried[:-_CONTEXT])
            carried = carried[-_CONTEXT:]
    yield "".join([*unfinished, carried])


def _is_dense(line: str, start: int) -> bool:
    """Whether more than a quarter of the block that begins at `start` are signs beyond ASCII, as in no language: for so
    many sentences the library takes quadratic time."""
    return not line.isascii() and len(_SIGN.findall(line, start, start + _BLOCK)) > _BLOCK // 4


def _join_until(place: int, parts: list[str]) -> list[str]:
    """Join the parts that end before `place` and the part after them."""
    count = length = 0
    while length < place:
        length += len(parts[count])
        count += 1
    return ["".join(parts[:count]), *parts[count:]]


def _segment(block: str, language: str) -> list[str]:
    """The library's sentences of one block. The library panics at some spaces beyond ASCII, so it gets ASCII spaces
    instead, and the block is split at the lengths of its parts. If the library fails, the block is one sentence."""
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
    """Join parts that were split after list numbers and abbreviations."""
    pending: list[str] = []
    for part in parts:
        if pending and not _continues(pending[-1], part):
            yield "".join(pending)
            pending = []
        pending.append(part)
    if pending:
        yield "".join(pending)


def _continues(before: str, after: str) -> bool:
    """Whether `before` and `after` are parts of one sentence."""
    if len(before) <= _MAX_LAST_WORD and _LIST_NUMBER.fullmatch(before):
        return True
    last = _LAST_WORD.search(before[-_MAX_LAST_WORD:])
    if last is None:
        return False
    return last[1] in _ABBREVIATIONS or (last[1] in _NUMBERING and after[:1].isdigit())


def _join_gaps(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Drop empty segments and join neighbouring gaps."""
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
