"""Which entries of a translation memory are used, and which are offered."""

import pytest

from server.engine.request import SearchOptions
from server.text.split.segment import Segment
from server.translation.assembly import SentenceTranslation, TextHypothesis, TextTranslation
from server.translation.memory_lookup import (
    CHARS_PER_CHAR,
    FREE_CHARS,
    Lookup,
    MemoryPlan,
    MemoryText,
    MemoryUse,
    Run,
    TooManyMatches,
    most_chars,
)
from server.translation.memory_translator import put_together
from server.translation.planning import TextRequest
from server.translation_memory.index import MemoryIndex
from server.translation_memory.pairs import Pair

MORNING = Pair("Good  morning.", "Guten Morgen.")
LIKENESS = 96
"""Of "Good mornings." to the entry, in percent."""


def lookup(offers_from: int, applies_from: int, most: int = 1000) -> Lookup:
    index = MemoryIndex()
    index.add([MORNING])
    return Lookup(MemoryUse(index, offers_from, applies_from), False, most)


def test_longer_requests_get_more_characters_of_matches() -> None:
    assert most_chars([]) == FREE_CHARS
    assert most_chars(["x" * 10, "y" * 5]) == FREE_CHARS + 15 * CHARS_PER_CHAR


@pytest.mark.parametrize(
    ("offers_from", "applies_from", "target", "num_offered"),
    [
        (LIKENESS, LIKENESS, MORNING.target, 1),
        (LIKENESS, LIKENESS + 1, None, 1),
        (LIKENESS + 1, LIKENESS + 1, None, 0),
        (100, LIKENESS, MORNING.target, 1),
    ],
)
def test_an_entry_of_the_least_likeness_is_used(
    offers_from: int, applies_from: int, target: str | None, num_offered: int
) -> None:
    from_memory, matches = lookup(offers_from, applies_from).sentences([Segment("Good mornings.", True)], False)
    assert [sentence.target for sentence in from_memory.values()] == ([] if target is None else [target])
    assert len(matches) == num_offered
    assert lookup(offers_from, applies_from).target("Good mornings.") == target


def test_characters_of_all_matches_are_counted() -> None:
    length = len(MORNING.source) + len(MORNING.target)
    both = [Segment("Good mornings.", True), Segment(" ", False), Segment("Good morning.", True)]
    assert len(lookup(75, 100, 2 * length).sentences(both, False)[1]) == 2
    with pytest.raises(TooManyMatches):
        lookup(75, 100, 2 * length - 1).sentences(both, False)


def test_scores_and_places_of_words_are_those_of_all_parts() -> None:
    """The source "Hi. aa bbb": an entry, and two texts of the model with translations of other lengths."""
    entry = SentenceTranslation("Hi.", "Hallo!", 0.0, "eos", 0, is_from_memory=True)
    plan = MemoryPlan([MemoryText([entry, " ", Run(0), " ", Run(1)], [])], ["aa", "bbb"], [])
    first = TextTranslation("AAAA", (), (TextHypothesis("AAAA", -1.0), TextHypothesis("A", -1.5)), (((0, 2), (0, 4)),))
    second = TextTranslation("B", (), (TextHypothesis("B", -2.0),), (((0, 3), (0, 1)),))
    request = TextRequest(["Hi. aa bbb"], SearchOptions(), aligns=True)
    [text] = put_together(plan, [first, second], request)
    assert text.hypotheses == (TextHypothesis("Hallo! AAAA B", -3.0), TextHypothesis("Hallo! A B", -3.5))
    assert text.text == "Hallo! AAAA B"
    assert text.alignment is not None
    words = [("Hi. aa bbb"[slice(*source)], text.text[slice(*target)]) for source, target in text.alignment]
    assert words == [("aa", "AAAA"), ("bbb", "B")]
