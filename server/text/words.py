"""The words of a text, and which of them a model's pieces belong to.

A word is shown as the user has it and read as the model has it: normalised, perhaps in small letters, behind a mask
where it is protected. The two are matched by what they look like, in their order.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_WORD = re.compile(r"\w+(?:[-'\u2019]\w+)*")

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
    matcher = SequenceMatcher(None, [one.looks for one in read], [one.looks for one in shown], autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        if kind == "equal":
            places[first:last] = [(one.start, one.end) for one in shown[start:end]]
        elif kind == "replace" and not any(one.mask for one in shown[start:end]):
            places[first:last] = [(shown[start].start, shown[end - 1].end)] * (last - first)
    return places


def places_of(spans: Sequence[str], text: str) -> dict[int, Place]:
    """Where protected spans stand in a translation, by their numbers from 1. Equal spans are numbered from left to
    right; a span that is not found is left out."""
    places: dict[int, Place] = {}
    for number, span in sorted(enumerate(spans, 1), key=lambda one: (-len(one[1]), one[0])):
        start = text.find(span)
        while start >= 0 and any(start < end and first < start + len(span) for first, end in places.values()):
            start = text.find(span, start + 1)
        if start >= 0:
            places[number] = (start, start + len(span))
    return places


def owners(words: Sequence[Word], pieces: Sequence[Place]) -> list[int | None]:
    """The number of the word that each piece belongs to: the one that most of it lies in; None for punctuation."""
    found: list[int | None] = []
    for start, end in pieces:
        shared = [min(end, word.end) - max(start, word.start) for word in words]
        best = max(range(len(words)), key=shared.__getitem__, default=None)
        found.append(best if best is not None and shared[best] > 0 else None)
    return found
