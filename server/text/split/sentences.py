"""Splits a text into sentences and the gaps between them without loss.

The segments of a text, joined, are the text, byte for byte. Sentences are translated; gaps are copied: line breaks and
other control characters, whitespace around a sentence, a bullet at the start of a line, and segments without letters
("---", emoji, "1,234.50", a telephone number).
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from server.runtime.checkpoints import checkpoint
from server.text.base.placeholders import (
    PLACEHOLDER,
    VALUE_PLACEHOLDER,
    is_closing,
    is_placeholder,
)
from server.text.spans.table import protected_spans
from server.text.spans.template_tags import template_spans
from server.text.split.boundaries import rejoin, split_at_boundaries
from server.text.split.messages import find_arguments
from server.text.split.segment import Segment
from server.text.split.trimming import trim

# Never inside a sentence: control characters, line and paragraph separators, lone surrogates, blanks between columns.
_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]++|(?<=[^ ]) {3,}+(?=[^ ])")
_SEPARATOR = re.compile("[\x1c-\x1f]")  # between two texts
_PLACEHOLDERS = PLACEHOLDER.pattern[1:-1]
# A line of words, spaces, placeholders and ASCII signs that end a sentence in no language, with at most one other sign
# at its end, is one sentence.
_ONE_SENTENCE = re.compile(rf"[\w\s{_PLACEHOLDERS}\"#$%&'()*+,\-/<=>@\[\\\]^`{{}}~]*+[^\w\s]?+[\s{_PLACEHOLDERS}]*+")
# One or several bullets at the start of a line, or the dash of a speaker; the language that a model of several shall
# translate into.
_BULLET = re.compile(
    r"(?:>>[a-z]{2,3}(?:_[A-Za-z]{2,8})?<<(?=\s))?[\s\ufeff\u200b]*+"
    r"(?:[-*+>#\u2022\u2023\u25e6\u2013\u2014\u00b7]++\s++)*+"
    r"(?:[-\u2013\u2014](?=[\"'\u201e\u201c\u2018(\u00bf\u00a1]?+"
    r"[A-Z\u00c0-\u00de\u0400-\u042f][a-z\u00df-\u00ff\u0430-\u045f'\u2019\s]))?+"
)
# Between entries of a menu, forms of a plural (vue-i18n, Laravel), cells of a row.
_BAR = re.compile(r"\s\|\s|\|(?=[\[{]\d)|(?<=[\w.!?)%}\]])\|(?=[^\W\d_]|[%:{$@(#]\w|\{\{|%[({]|:\w)")


def split_text(text: str, language: str) -> list[Segment]:
    """Sentences and gaps of `text`; joined they are `text`. `language` is a two-letter code. Linear in len(text)."""
    return list(segments_of(text, language))


def segments_of(text: str, language: str) -> Iterator[Segment]:
    """`split_text` as an iterator: a segment is made when it is requested."""
    return _join_gaps(_with_messages(text, language))


def _with_messages(text: str, language: str) -> Iterator[Segment]:
    """The segments of a text. Each text of an argument of a message is split by itself; its syntax is a gap."""
    end = 0
    for argument in find_arguments(text) if "{" in text else ():
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
    for part in rejoin(_join_within(parts, spans) if spans else parts):
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
    """`split_at_boundaries` for a line with placeholders: they do not change the boundaries, except values, which are
    words, and a closing placeholder stays with the text before it."""
    if not PLACEHOLDER.search(line):
        yield from split_at_boundaries(line, language)
        return
    read = VALUE_PLACEHOLDER.sub("X", line)
    places = [place for place, char in enumerate(read) if not is_placeholder(char)]
    start = count = 0
    for part in split_at_boundaries(PLACEHOLDER.sub("", read), language):
        count += len(part)
        if count == len(places):
            break
        end = places[count - 1] + 1 if count else 0
        while is_closing(line[end]):
            end += 1
        yield line[start:end]
        start = end
    yield line[start:]


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
