"""The words of a text, and which of them a model's pieces belong to.

A word is shown as the user has it and read as the model has it: normalised, perhaps in small letters, behind a mask
where it is protected. The two are matched by what they look like, in their order.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

_WORD = re.compile(r"\w+(?:[-'\u2019]\w+)*")

MOST_COMPARED = 16
"""Elements of two texts whose every pair is compared, at most."""
MOST_LEVELS = 8
"""How often two texts are matched again between what they have in common."""

Place = tuple[int, int]
"""Start and end of a span of characters in a text, the end exclusive."""


def has_letters(text: str) -> bool:
    """Whether there is anything to translate: numbers and signs stay as they are."""
    return any(map(str.isalpha, text))


@dataclass(frozen=True)
class Word:
    """A word of a text, from `start` to `end`. `looks` is what it is compared by. `mask` is the number, from 1, of the
    protected span that it stands for; 0 for a word that is not protected."""

    start: int
    end: int
    looks: str
    mask: int = 0


def words_of(text: str, masks: Sequence[tuple[Place, int]] = ()) -> list[Word]:
    """The words of a text in their order. `masks` are places that are one word each, with their numbers, in order."""
    words: list[Word] = []
    end = 0
    for place, number in (*masks, ((len(text), len(text)), 0)):
        words += [Word(*one.span(), one[0].casefold()) for one in _WORD.finditer(text, end, place[0])]
        if number:
            words.append(Word(*place, f"\0{number}", number))
        end = place[1]
    return words


def matched(read: Sequence[Word], shown: Sequence[Word]) -> list[Place | None]:
    """The place in the shown text of every word that the model read; None where it is not shown. A run of words that
    differs from what is shown has the place of all that is shown between its neighbours, if none of it is protected."""
    places: list[Place | None] = [None] * len(read)
    equal = list(equal_elements([one.looks for one in read], [one.looks for one in shown]))
    for ours, theirs in equal:
        places[ours] = (shown[theirs].start, shown[theirs].end)
    for (before, start), (last, end) in pairwise([(-1, -1), *equal, (len(read), len(shown))]):
        other = shown[start + 1 : end]
        if other and not any(one.mask for one in other):
            places[before + 1 : last] = [(other[0].start, other[-1].end)] * (last - before - 1)
    return places


def equal_elements(
    one: Sequence[str], other: Sequence[str], start: Place = (0, 0), levels: int = MOST_LEVELS
) -> Iterator[tuple[int, int]]:
    """Pairs of indexes, `start` added, of equal elements in both, in order: those that both begin and end with, those
    that each has once, and the same again between two of these (patience diff). O(n log n)."""
    shortest = min(len(one), len(other))
    begin = next((index for index in range(shortest) if one[index] != other[index]), shortest)
    end = next((index for index in range(shortest - begin) if one[-1 - index] != other[-1 - index]), shortest - begin)
    inner, inner_other = one[begin : len(one) - end], other[begin : len(other) - end]
    yield from ((start[0] + index, start[1] + index) for index in range(begin))
    first = (start[0] + begin, start[1] + begin)
    if max(len(inner), len(inner_other)) <= MOST_COMPARED:
        anchors = _common(inner, inner_other)
        levels = 0
    else:
        anchors = _common_once(inner, inner_other) if levels else []
    edges = [(-1, -1), *anchors, (len(inner), len(inner_other))] if anchors else []
    for (ours, theirs), (our_next, their_next) in pairwise(edges):
        if ours >= 0:
            yield first[0] + ours, first[1] + theirs
        yield from equal_elements(
            inner[ours + 1 : our_next],
            inner_other[theirs + 1 : their_next],
            (first[0] + ours + 1, first[1] + theirs + 1),
            levels - 1,
        )
    yield from ((start[0] + len(one) - index, start[1] + len(other) - index) for index in range(end, 0, -1))


def _common(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Elements that both have in a row, longest rows first: their indexes. Cubic in time."""
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return [(block.a + index, block.b + index) for block in blocks for index in range(block.size)]


def _common_once(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """The longest series, in order in both, of elements that each has once: their indexes."""
    counts, places = Counter(one), {element: index for index, element in enumerate(other)}
    of_other = Counter(other)
    pairs = [(index, places[element]) for index, element in enumerate(one) if counts[element] == of_other[element] == 1]
    tails: list[int] = []
    """The last index in `other` of the best series of every length, and which of `pairs` that is."""
    last: list[int] = []
    before: list[int] = []
    for number, (_, theirs) in enumerate(pairs):
        length = bisect_left(tails, theirs)
        tails[length : length + 1], last[length : length + 1] = [theirs], [number]
        before.append(last[length - 1] if length else -1)
    series: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        series.append(pairs[number])
        number = before[number]
    return series[::-1]


def places_of(spans: Sequence[str], text: str) -> dict[int, Place]:
    """Where protected spans stand in a translation, by their numbers from 1. Equal spans are numbered from left to
    right; a span that is not found is left out."""
    places: dict[int, Place] = {}
    taken = bytearray(len(text))
    searched: dict[str, int] = {}
    """Up to where all places of a span are taken."""
    for number, span in sorted(enumerate(spans, 1), key=lambda one: (-len(one[1]), one[0])):
        start = text.find(span, searched.get(span, 0))
        while start >= 0 and (last := taken.rfind(1, start, start + len(span))) >= 0:
            start = text.find(span, last + 1)
        if start >= 0:
            places[number] = (start, start + len(span))
            taken[start : start + len(span)] = b"\1" * len(span)
        searched[span] = len(text) if start < 0 else start + len(span)
    return places


def owners(words: Sequence[Word], pieces: Sequence[Place]) -> list[int | None]:
    """The number of the word that each piece belongs to: the one that most of it lies in; None for punctuation. Words
    come in order and do not overlap."""
    starts, ends = [word.start for word in words], [word.end for word in words]
    found: list[int | None] = []
    for start, end in pieces:
        touched = range(bisect_right(ends, start), bisect_left(starts, end))
        shared = [min(end, ends[number]) - max(start, starts[number]) for number in touched]
        best = max(shared, default=0)
        found.append(touched[shared.index(best)] if best > 0 else None)
    return found
