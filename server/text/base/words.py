"""The words of a text, and the words that a model's pieces belong to.

The user's text and the text that the model reads differ: the model's text is normalised, may be in lower case, and has
masks in place of protected spans. The words of the two texts are matched by their normalised forms, in their order.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

_WORD = re.compile(r"\w+(?:[-'\u2019]\w+)*")

MAX_COMPARED = 16
"""Elements of a sequence up to which every pair of elements is compared."""
MAX_DEPTH = 8
"""Depth of recursion between common elements, at most."""

Place = tuple[int, int]
"""Start and end of a span of characters in a text, the end exclusive."""


def has_letters(text: str) -> bool:
    """Whether there is anything to translate: numbers and signs are not translated."""
    return text.isalpha() or any(map(str.isalpha, text))


@dataclass(frozen=True)
class Word:
    """A word of a text, from `start` to `end`. `normalized` is its form for comparisons. `mask` is the number, from 1,
    of the protected span that the word stands for; 0 for an ordinary word."""

    start: int
    end: int
    normalized: str
    mask: int = 0


def words_of(text: str, masks: Sequence[tuple[Place, int]] = ()) -> list[Word]:
    """The words of a text in their order. `masks` are places that are one word each, and their numbers, in order."""
    words: list[Word] = []
    end = 0
    for place, number in (*masks, ((len(text), len(text)), 0)):
        words += [Word(*match.span(), match[0].casefold()) for match in _WORD.finditer(text, end, place[0])]
        if number:
            words.append(Word(*place, f"\0{number}", number))
        end = place[1]
    return words


def match_words(read: Sequence[Word], shown: Sequence[Word]) -> list[Place | None]:
    """For every word that the model read, its place in the shown text, or None. A run of words that differs from the
    shown text has the place of all shown words between its neighbours, if none of these is protected."""
    places: list[Place | None] = [None] * len(read)
    equal = list(equal_elements([word.normalized for word in read], [word.normalized for word in shown]))
    for read_index, shown_index in equal:
        places[read_index] = (shown[shown_index].start, shown[shown_index].end)
    for (before, start), (last, end) in pairwise([(-1, -1), *equal, (len(read), len(shown))]):
        other = shown[start + 1 : end]
        if other and not any(word.mask for word in other):
            places[before + 1 : last] = [(other[0].start, other[-1].end)] * (last - before - 1)
    return places


def equal_elements(
    left: Sequence[str], right: Sequence[str], start: Place = (0, 0), depth: int = MAX_DEPTH
) -> Iterator[tuple[int, int]]:
    """Pairs of indexes, `start` added, of equal elements, in order (patience diff): the common beginning and end, the
    elements that each side has once, and recursively the elements between two of these. O(n log n)."""
    shortest = min(len(left), len(right))
    begin = next((index for index in range(shortest) if left[index] != right[index]), shortest)
    end = next((index for index in range(shortest - begin) if left[-1 - index] != right[-1 - index]), shortest - begin)
    inner_left, inner_right = left[begin : len(left) - end], right[begin : len(right) - end]
    yield from ((start[0] + index, start[1] + index) for index in range(begin))
    first = (start[0] + begin, start[1] + begin)
    if max(len(inner_left), len(inner_right)) <= MAX_COMPARED:
        anchors = _common(inner_left, inner_right)
        depth = 0
    else:
        anchors = _common_once(inner_left, inner_right) if depth else []
    edges = [(-1, -1), *anchors, (len(inner_left), len(inner_right))] if anchors else []
    for (i, j), (next_i, next_j) in pairwise(edges):
        if i >= 0:
            yield first[0] + i, first[1] + j
        yield from equal_elements(
            inner_left[i + 1 : next_i], inner_right[j + 1 : next_j], (first[0] + i + 1, first[1] + j + 1), depth - 1
        )
    yield from ((start[0] + len(left) - index, start[1] + len(right) - index) for index in range(end, 0, -1))


def _common(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Indexes of the elements of common blocks, the longest block first. Cubic in time."""
    blocks = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    return [(block.a + index, block.b + index) for block in blocks for index in range(block.size)]


def _common_once(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Indexes of the longest series, in order on both sides, of elements that each side has once."""
    left_counts, right_counts = Counter(left), Counter(right)
    places = {element: index for index, element in enumerate(right)}
    pairs = [(i, places[word]) for i, word in enumerate(left) if left_counts[word] == right_counts[word] == 1]
    tails: list[int] = []
    """Index in `right` of the last element of the best series of every length; `last` has its index in `pairs`."""
    last: list[int] = []
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(tails, j)
        tails[length : length + 1], last[length : length + 1] = [j], [number]
        before.append(last[length - 1] if length else -1)
    series: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        series.append(pairs[number])
        number = before[number]
    return series[::-1]


def find_spans(spans: Sequence[str], text: str) -> dict[int, Place]:
    """Number of each protected span, from 1 -> its place in a translation. Equal spans are numbered from left to right;
    a span that is not in the text is left out. A longer span takes its place before a shorter one."""
    places: dict[int, Place] = {}
    taken = bytearray(len(text))
    searched: dict[str, int] = {}
    """Span -> the index before which all of its places are taken."""
    for number, span in sorted(enumerate(spans, 1), key=lambda numbered: (-len(numbered[1]), numbered[0])):
        start = text.find(span, searched.get(span, 0))
        while start >= 0 and (last := taken.rfind(1, start, start + len(span))) >= 0:
            start = text.find(span, last + 1)
        if start >= 0:
            places[number] = (start, start + len(span))
            taken[start : start + len(span)] = b"\1" * len(span)
        searched[span] = len(text) if start < 0 else start + len(span)
    return places


def word_ids(words: Sequence[Word], pieces: Sequence[Place]) -> list[int | None]:
    """The index of the word that each piece belongs to: the word that most of the piece overlaps; None for punctuation.
    Words come in order and do not overlap."""
    starts, ends = [word.start for word in words], [word.end for word in words]
    ids: list[int | None] = []
    for start, end in pieces:
        touched = range(bisect_right(ends, start), bisect_left(starts, end))
        overlaps = [min(end, ends[index]) - max(start, starts[index]) for index in touched]
        best = max(overlaps, default=0)
        ids.append(touched[overlaps.index(best)] if best > 0 else None)
    return ids
