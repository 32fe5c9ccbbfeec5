"""Which words a vocabulary cannot spell, in scripts of every kind."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.protect.unspellable import merge_adjacent, unspellable

LETTERS = "ab\u00e9\u0436\u0939\u093f\u732b\u0e01 ,.\u221e-"


def words(sentence: str, spelled: str = "") -> list[str]:
    result = unspellable(sentence, lambda character: character.isascii() or character in spelled)
    return [sentence[start:end] for start, end in result]


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("Dvo\u0159\u00e1k lived here.", ["Dvo\u0159\u00e1k"]),
        ("x \u221e y", ["\u221e"]),
        ("\u0939\u093f\u0928\u094d\u0926\u0940 is Hindi", ["\u0939\u093f", "\u0928\u094d", "\u0926\u0940"]),
        ("Next \u00bb", ["\u00bb"]),
        ("\u00ab Back", ["\u00ab"]),
        ("\u00ab Bonjour \u00bb", []),
        ("Hi \u2068you\u2069\u200e there", ["\u2068", "\u2069\u200e"]),
        ("It isn\u2019t \u2014 here \u00a0", []),
    ],
)
def test_words_with_a_letter_that_is_not_spelled(sentence: str, found: list[str]) -> None:
    assert words(sentence) == found


def test_a_rare_letter_of_a_script_without_spaces_is_alone() -> None:
    assert words("\u738b\u5586\u662f\u533b\u751f", spelled="\u738b\u662f\u533b\u751f") == ["\u5586"]


def test_a_quotation_is_one_span() -> None:
    sentence = (
        "He wrote \u0412\u043e\u0439\u043d\u0430, \u0438 \u043c\u0438\u0440 in \u041c\u043e\u0441\u043a\u0432\u0430."
    )
    rows = merge_adjacent(sentence, unspellable(sentence, str.isascii))
    assert [sentence[start:end] for start, end in rows] == [sentence[9:21], sentence[25:31]]


@given(st.text(alphabet=LETTERS, max_size=40), st.sets(st.sampled_from(LETTERS)))
def test_every_strange_letter_is_in_one_span_and_no_spelled_word_is(sentence: str, spelled: set[str]) -> None:
    result = unspellable(sentence, lambda character: character in spelled)
    inside = [place for start, end in result for place in range(start, end)]
    assert inside == sorted(set(inside))
    for place, character in enumerate(sentence):
        if unicodedata.category(character)[0] in "LS" and not character.isascii() and character not in spelled:
            assert place in inside
    for start, end in result:
        assert not all(char.isascii() or char in spelled for char in sentence[start:end])
    rows = merge_adjacent(sentence, result)
    assert {place for start, end in rows for place in range(start, end)} >= set(inside)
    assert all(before[1] < after[0] for before, after in pairwise(rows))


SIGNS = LETTERS + "\u4f60\u0e34\u0301\ufe0f\u200d\u2665\U0001f600\u00b22"
PLACE_SETS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 5)), max_size=4)


@given(st.text(alphabet=SIGNS, max_size=40), st.sets(st.sampled_from(SIGNS)), PLACE_SETS)
def test_rows_are_found_as_one_letter_after_the_other(
    sentence: str, spelled: set[str], apart: list[tuple[int, int]]
) -> None:
    """The slow references look at every letter, and at every two places."""
    strange = {char for char in sentence if not (char.isascii() or char.isspace() or char in spelled)}
    result = unspellable(sentence, lambda character: character.isascii() or character in spelled)
    alone = [(at, at + 1) for at, char in enumerate(sentence) if char in strange and "\u4e00" <= char <= "\u9fff"]
    of_letters = [place for place in result if "\u00b2" not in sentence[slice(*place)]]  # a unit is found as a whole
    assert {place for place in of_letters if place[0] in dict(alone)} == {
        (at, _end(sentence, at + 1)) for at, _ in alone
    }
    places = [(start, start + length) for start, length in apart]
    rows: list[tuple[int, int]] = []
    for start, end in result:
        last = rows[-1][1] if rows else 0
        is_cut = any(end > last and begin < start for begin, end in places)
        between = sentence[last:start]
        if rows and not is_cut and all(unicodedata.category(char)[0] in "PZ" for char in between):
            rows[-1] = (rows[-1][0], max(end, last))
        else:
            rows.append((start, end))
    parted = [(start, end) for start, end in sorted(places)]
    if all(before[1] <= after[0] for before, after in pairwise(parted)):
        assert merge_adjacent(sentence, result, places) == rows


def _end(sentence: str, at: int) -> int:
    """Where the combining characters that begin at a place end."""
    while at < len(sentence) and unicodedata.category(sentence[at])[0] == "M":
        at += 1
    return at
