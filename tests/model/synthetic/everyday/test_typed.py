"""Sentences as people type them mean what they meant."""

import random
from collections.abc import Iterable

import pytest

from model.data.corpus import SentencePair
from model.synthetic.everyday.typed import APOSTROPHE, ASCII, typed, with_typo

ENGLISH = [
    SentencePair("I don't know what we're doing.", "Ich weiß nicht, was wir tun.", 0),
    SentencePair("Tom's car is new!", "Toms Auto ist neu!", 0),
    SentencePair("Thanks, you can\u2019t miss it?", "Danke, du kannst es nicht verfehlen.", 0),
]
GERMAN = [SentencePair("Schöne Grüße und bis morgen.", "Best regards and see you tomorrow.", 0)]


def in_small(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [pair for pair in pairs if not pair[0].isupper()]


def test_apostrophes_go_and_nothing_else_does() -> None:
    for source, target in in_small(typed(ENGLISH, "en", 500, 1)):
        assert not APOSTROPHE.search(source)
        assert "car" not in source or "tom's" in source.lower()  # it is no shortened word
        assert "doing" not in source or "we're" in source.lower()  # without its apostrophe it would be another word
        assert target.rstrip(".!?") in [pair.target.rstrip(".!?") for pair in ENGLISH]


def test_last_marks_go_on_both_sides_or_on_none() -> None:
    made = list(typed(ENGLISH, "en", 500, 1))
    for source, target in made:
        assert source.endswith((".", "!", "?")) == target.endswith((".", "!", "?"))
    assert {source.endswith((".", "!", "?")) for source, _ in made} == {True, False}


def test_capitals_are_on_both_sides() -> None:
    loud = [pair for pair in typed(ENGLISH, "en", 500, 1) if pair[0].isupper() or pair[1].isupper()]
    assert 20 < len(loud) < 80
    assert set(loud) <= {(pair.source.upper(), pair.target.upper()) for pair in ENGLISH}


def test_german_as_keyboards_without_umlauts_have_it() -> None:
    made = [source for source, _ in in_small(typed(GERMAN, "de", 500, 1))]
    assert any("schoene gruesse" in source for source in made)
    assert any("Schöne Grüße u " in source for source in made)
    assert all(source.isascii() or not set(ASCII.values()) & set(source.split()) for source in made)


def test_so_many_at_most_and_the_same_again() -> None:
    made = list(typed(ENGLISH, "en", 300, 1))
    assert 150 < len(made) <= 300  # what came out as it was is left out
    assert made == list(typed(ENGLISH, "en", 300, 1)) != list(typed(ENGLISH, "en", 300, 2))
    assert all(source not in [pair.source for pair in ENGLISH] for source, _ in made)


@pytest.mark.parametrize("text", ["My sister is a teacher.", "Frühstück", "No one is up."])
def test_a_typing_error_is_one_letter_within_a_long_word(text: str) -> None:
    for seed in range(50):
        slip = with_typo(text, random.Random(seed))
        assert abs(len(slip) - len(text)) <= 1
        changed = [(old, new) for old, new in zip(text.split(), slip.split(), strict=True) if old != new]
        assert len(changed) <= 1
        assert all((old[0], old[-1]) == (new[0], new[-1]) and len(old) > 4 for old, new in changed)
