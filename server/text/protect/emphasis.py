"""Sets the words of a translation in capitals that come from words in capitals."""

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
    raised: set[Place] = set()
    words: dict[str, frozenset[str]] = {}
    """Word of the source -> the words that come from it."""
    for place in emphasized:
        places = _aligned(place, emphasized, pairs)
        raised |= places
        word = source[slice(*place)].upper()
        words[word] = frozenset(target[start:stop].upper() for start, stop in places) | words.get(word, frozenset())
    text, moves = list[str](), list[tuple[int, int]]()
    end = longer = 0
    for start, stop in sorted(raised):
        if start < end:
            continue
        upper = target[start:stop].upper()
        text += (target[end:start], upper)
        longer += len(upper) - (stop - start)
        moves.append((stop, longer))
        end = stop
    is_whole = all(words.values()) and len(set(words.values())) == len(words)
    return "".join([*text, target[end:]]), [(word, _moved(place, moves)) for word, place in pairs], is_whole


def _aligned(place: Place, emphasized: Sequence[Place], pairs: Sequence[Pair]) -> set[Place]:
    """The target's words that come from a word: those that come from no ordinary word as well, if there are any."""
    places = {aligned for word, aligned in pairs if word[0] < place[1] and place[0] < word[1]}
    others = {aligned for word, aligned in pairs if not any(at[0] < word[1] and word[0] < at[1] for at in emphasized)}
    return places - others or places


def _moved(place: Place, moves: Sequence[tuple[int, int]]) -> Place:
    """A place in the text in which what ends at each of `moves` is longer."""
    by_start = by_end = 0
    for end, longer in moves:
        by_start = longer if place[0] >= end else by_start
        by_end = longer if place[1] >= end else by_end
    return place[0] + by_start, place[1] + by_end
