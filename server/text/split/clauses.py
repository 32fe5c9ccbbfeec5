"""Splits a long sentence at its clauses, for a model that did not translate all of it."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import accumulate, pairwise

from server.text.spans.table import protected_spans

MIN_WORDS = 50
"""Words of a sentence that is split, at least."""
MAX_PART_WORDS = 40
"""A part of more words is split again, if it has a place for it."""
MIN_PART_WORDS = 6
UNBALANCED = 20.0
"""What it costs that all words are on one side of a cut, in the costs of places; the best of which costs nothing."""

_CONJUNCTIONS = (
    "and|but|or|nor|so|yet|because|although|while|whereas|which|who|where|when|if|und|aber|oder|sondern|denn|weil|"
    "obwohl|während|wobei|sodass|damit|wenn|falls|wo|dass"
)
_PLACES = (
    (re.compile(r";\s+"), 0),
    (re.compile(r":\s+"), 1),
    (re.compile(r",\s+(?=[\u2013\u2014-]{1,2}\s)|(?<!\S)(?=[\u2013\u2014]\s|--\s)"), 2),
    (re.compile(rf",\s+(?=(?:{_CONJUNCTIONS})\b)", re.IGNORECASE), 2),
    (re.compile(r"(?<=[\])])[,.;:]?\s+|(?<=\s)(?=[(\[]\w)"), 3),
    (re.compile(r",\s+"), 5),
)
"""Where a sentence may be cut, after the match, and what it costs."""
_WORD = re.compile(r"\S+")
_FIRST_WORD = re.compile(r"[^\W\d_]++")
_BRACKETS = re.compile(r"[()\[\]]")


def split_at_clauses(sentence: str) -> list[str]:
    """Parts of a sentence of at least MIN_WORDS words; joined they are the sentence. One part if it is shorter or has
    no place to be cut at. O(n log n) in the sentence's length."""
    starts = [match.start() for match in _WORD.finditer(sentence)]
    if len(starts) < MIN_WORDS:
        return [sentence]
    costs = _places(sentence)
    cuts = [0, *_cuts(starts, costs, len(sentence)), len(sentence)]
    return [sentence[start:end] for start, end in pairwise(cuts)]


def as_clause(source: str, target: str, is_better: Callable[[str, str], bool], kept: tuple[str, ...] = ()) -> str:
    """The translation of a part of a sentence, without the signs of a whole sentence that the part lacks: a capital
    initial and a full stop; texts that are `kept` stay. `is_better`: whether the vocabulary knows the first word no
    worse than the second."""
    if (
        target.endswith(".")
        and not target.endswith(("..", *kept))
        and source[-1:] not in (".", '"', "'", "\u201d", "\u201c")
    ):
        target = target[:-1]
    first = _FIRST_WORD.match(target)
    if (
        source[:1].islower()
        and not target.startswith(kept)
        and first
        and first[0][:1].isupper()
        and first[0][1:].islower()
    ):
        small = first[0].lower()
        if is_better(small, first[0]):
            target = small + target[first.end() :]
    return target


def _places(sentence: str) -> dict[int, int]:
    """Place -> its cost; none inside of what is protected or in brackets."""
    costs: dict[int, int] = {}
    spans = sorted(protected_spans(sentence))
    ends = list(accumulate((end for _, end in spans), max))
    firsts = [start for start, _ in spans]
    depths = _Depths(sentence)
    for pattern, cost in _PLACES:
        for match in pattern.finditer(sentence):
            place = match.end()
            before = bisect_left(firsts, place) - 1
            if (before < 0 or ends[before] <= place) and not depths.at(place):
                costs.setdefault(place, cost)
    return costs


class _Depths:
    """How many brackets are open at a place; unpaired brackets count as none."""

    def __init__(self, sentence: str) -> None:
        opened: list[int] = []
        changes: list[tuple[int, int]] = []
        for match in _BRACKETS.finditer(sentence):
            if match[0] in "([":
                opened.append(match.start())
            elif opened:
                changes += ((opened.pop(), 1), (match.start(), -1))
        changes.sort()
        self._places = [place for place, _ in changes]
        self._depths = [0, *accumulate(change for _, change in changes)]

    def at(self, place: int) -> int:
        return self._depths[bisect_left(self._places, place)]


def _cuts(starts: list[int], costs: dict[int, int], length: int) -> list[int]:
    """Where to cut: at the cheapest of the places that leave enough words on both sides, and both sides again."""
    cuts: list[int] = []
    places = sorted(costs)
    pending = [(0, length)]
    while pending:
        start, end = pending.pop()
        first, last = bisect_left(starts, start), bisect_left(starts, end)
        if last - first <= MAX_PART_WORDS:
            continue
        best: tuple[float, int] | None = None
        low, high = starts[first + MIN_PART_WORDS], starts[last - MIN_PART_WORDS]
        for place in places[bisect_left(places, low) : bisect_right(places, high)]:
            share = (bisect_left(starts, place) - first) / (last - first)
            cost = costs[place] + UNBALANCED * abs(0.5 - share)
            if best is None or cost < best[0]:
                best = (cost, place)
        if best is not None:
            cuts.append(best[1])
            pending += ((start, best[1]), (best[1], end))
    return sorted(cuts)
