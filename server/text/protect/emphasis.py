"""Sets the words of a translation in capitals that come from words in capitals."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from server.text.base.words import Place

Pair = tuple[Place, Place]
"""The place of a word in the source, and the place of an aligned word in the translation."""


def raise_emphasis(
    source: str, emphasized: Sequence[Place], target: str, pairs: Sequence[Pair]
) -> tuple[str, list[Pair], bool]:
    """`target` with the words in capitals that `pairs` align with the `emphasized` words of `source`; the pairs in the
    new text, which may be longer; and whether all is well: each of these words has a translation, and different words
    have different ones."""
    starts = [start for start, _ in emphasized]
    aligned: list[set[Place]] = [set() for _ in emphasized]
    others: set[Place] = set()
    for word, place in pairs:
        number = bisect_left(starts, word[1]) - 1
        if number >= 0 and emphasized[number][1] > word[0]:
            aligned[number].add(place)
        else:
            others.add(place)
    raised: set[Place] = set()
    words: dict[str, frozenset[str]] = {}
    """Word of the source -> the words that come from it, those that come from no ordinary word, if there are any."""
    for source_place, places in zip(emphasized, aligned, strict=True):
        own = places - others or places
        raised |= own
        word_in_capitals = source[slice(*source_place)].upper()
        translations = frozenset(target[start:stop].upper() for start, stop in own)
        words[word_in_capitals] = words.get(word_in_capitals, frozenset()) | translations
    is_whole = all(words.values()) and len(set(words.values())) == len(words)
    text, moved = _raised(target, sorted(raised), [place for _, place in pairs])
    return text, [(word, place) for (word, _), place in zip(pairs, moved, strict=True)], is_whole


def _raised(target: str, places: Sequence[Place], others: Sequence[Place]) -> tuple[str, list[Place]]:
    """The text with these places in capitals, and where other places are in it."""
    parts: list[str] = []
    ends, longer = [0], [0]
    """Ends of what is in capitals, and how much longer the text is there."""
    for start, stop in places:
        if start < ends[-1]:
            continue
        upper = target[start:stop].upper()
        parts += (target[ends[-1] : start], upper)
        longer.append(longer[-1] + len(upper) - (stop - start))
        ends.append(stop)
    text = "".join([*parts, target[ends[-1] :]])
    return text, [
        (start + longer[bisect_right(ends, start) - 1], stop + longer[bisect_right(ends, stop) - 1])
        for start, stop in others
    ]
