"""Distributes a translation over the lines of a cue, and over several cues."""

import bisect
import itertools
import math
import re
from collections.abc import Sequence
from functools import partial

from server.text.base.placeholders import is_placeholder

CLAUSE_END = 0.12
"""How far from its proportional place a cut may be for the sake of punctuation before it, in lengths of the text."""
CONJUNCTION = 0.06
"""The same for a conjunction after it."""
NEAR = 64
"""Spaces on each side of the proportional place of a cut that are compared."""
_SPACES = re.compile(r" +")
_WORD = re.compile(r"\w")
_CONJUNCTION = re.compile(
    r"(?:and|but|or|because|that|which|who|when|if|while|und|aber|oder|weil|dass|der|die|das|wenn|als|wie|sondern)\b"
)


def share(text: str, lengths: Sequence[int]) -> list[str]:
    """`text` cut into as many parts as there are `lengths`, about in proportion to them: at spaces, if possible behind
    punctuation or before a conjunction. Every part has a word, unless the text has too few, and no part is empty,
    unless it has too few characters; joined by the spaces that they were cut at, or by nothing within a word, they are
    the text. NEAR spaces on each side of the proportional place of a cut are compared."""
    total, end, place = max(1, sum(lengths)), len(text), 0
    parts: list[str] = []
    spaces, words_before, words = _cuts(text, len(lengths))
    seen = words_used = 0
    for number, length in enumerate(lengths[:-1], 1):
        seen += length
        remaining = len(lengths) - number
        aim = end * seen / total
        first = max(bisect.bisect_right(spaces, (place, end)), bisect.bisect_right(words_before, words_used))
        last = bisect.bisect_right(words_before, words - remaining)
        if first < last:
            nearest = min(max(first, bisect.bisect_left(spaces, (math.ceil(aim), 0))), last - 1)
            near = spaces[max(first, nearest - NEAR) : min(last, nearest + NEAR)]
            cut = min(near, key=partial(_cost, text, aim))
            words_used = words_before[bisect.bisect_left(spaces, cut)]
        else:
            at = min(end, place + max(1, (end - place) // (remaining + 1)))
            cut = (at, at)
        parts.append(text[place : cut[0]])
        place = cut[1]
    return [*parts, text[place:]]


def _cuts(text: str, parts: int) -> tuple[list[tuple[int, int]], list[int], int]:
    """The spaces at which a text may be cut, how many words stand before each, and how many there are. A dash, or other
    punctuation between spaces, is a word where there are fewer words than `parts`."""
    spaces = [match.span() for match in _SPACES.finditer(text) if match.start() and match.end() < len(text)]
    starts, ends = [0, *(end for _, end in spaces)], [*(start for start, _ in spaces), len(text)]
    is_word = [_WORD.search(text, *span) is not None for span in zip(starts, ends, strict=True)]
    if sum(is_word) < parts:
        is_word = [True] * len(is_word)
    *words_before, words = itertools.accumulate(map(int, is_word))
    return spaces, words_before, words


def _cost(text: str, aim: float, space: tuple[int, int]) -> float:
    cost = abs(space[0] - aim) / max(1, len(text))
    if text[space[0] - 1] in ",;:.!?\u2026":
        return cost - CLAUSE_END
    return cost - CONJUNCTION if _CONJUNCTION.match(text, space[1]) else cost


def wrap(text: str, count: int) -> str:
    """`text` on `count` lines of about the same length, placeholders not counted; fewer lines if it has too few spaces.

    Line by line, the text is broken at the free space that is nearest to the end of the line, the first of two."""
    length = 0
    spaces: list[int] = []  # places of spaces
    before: list[int] = []  # characters before each
    for place, char in enumerate(text):
        if char == " ":
            spaces.append(place)
            before.append(length)
        length += not is_placeholder(char)
    if len(spaces) < count:
        return text.replace(" ", "\n")
    left = list(
        range(len(spaces) + 1)
    )  # links from a space, counted from 1, towards the next free space; a free space links to itself
    right = list(range(len(spaces) + 2))
    chosen: list[int] = []
    for line in range(1, count):
        end = length * line / count
        at = bisect.bisect_right(before, end)
        first, last = _follow(left, at), _follow(right, at + 1)  # 0 and len + 1: no space
        is_left = first > 0 and (last > len(spaces) or end - before[first - 1] <= before[last - 1] - end)
        taken = first if is_left else last
        left[taken], right[taken] = taken - 1, taken + 1
        chosen.append(spaces[taken - 1])
    characters = list(text)
    for place in chosen:
        characters[place] = "\n"
    return "".join(characters)


def _follow(links: list[int], start: int) -> int:
    """The end of a chain of links. Links on the way are shortened (union-find), so that many walks take linear time."""
    end = start
    while links[end] != end:
        links[end] = links[links[end]]
        end = links[end]
    return end
