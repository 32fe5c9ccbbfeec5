"""Numbers are written as the target's language writes them."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.base.numbers import readings
from server.text.checks.numbers import numbers_changed
from server.text.protect.notation import with_notation_of

TO_ENGLISH, TO_GERMAN = ("de", "en"), ("en", "de")
COMMA = str.maketrans(".,", ",.")


@pytest.mark.parametrize(
    ("source", "written", "expected", "languages"),
    [
        ("1.250,50 \u20ac", "1.250.50 \u20ac", "1,250.50 \u20ac", TO_ENGLISH),
        ("1.250,50 \u20ac", "1.250,50 \u20ac", "1,250.50 \u20ac", TO_ENGLISH),
        ("357.592,4 km", "357.592.4 km", "357,592.4 km", TO_ENGLISH),
        ("1.200 Hunde", "1.200 dogs", "1,200 dogs", TO_ENGLISH),
        ("45.678 und 1.200", "45,678 and 1.200", "45,678 and 1,200", TO_ENGLISH),
        ("1,000,000 euros", "1000.000 Euro", "1.000.000 Euro", TO_GERMAN),
        ("2,500.00 euros", "2.500.00 Euro", "2.500,00 Euro", TO_GERMAN),
        ("1,234.56 and 1,234.56", "1.234.56 und 1.234,56", "1.234,56 und 1.234,56", TO_GERMAN),
        ("10,000 people", "10000 Menschen", "10000 Menschen", TO_GERMAN),
        ("3,5 km", "35 km", "3.5 km", TO_ENGLISH),
        ("Version 2.0", "Version 2.0", "Version 2.0", TO_GERMAN),
        ("um 9.30 Uhr", "at 9:30", "at 9:30", TO_ENGLISH),
        ("12.11.2026", "12,11,2026", "12,11,2026", TO_ENGLISH),
        ("1.250,50", "1.250.51", "1.250.51", TO_ENGLISH),
        ("1.250,50", "1.250.50", "1.250.50", ("de", "fr")),
        ("1.250,50", "1.250.50", "1.250.50", ("de", "")),
    ],
)
def test_numbers_with_the_same_digits(source: str, written: str, expected: str, languages: tuple[str, str]) -> None:
    assert with_notation_of(source, written, languages) == expected


AMOUNTS = st.builds(
    lambda whole, cents: f"{whole:,}.{cents:02}", st.integers(1_000, 10**10), st.integers(0, 99)
) | st.integers(10**6, 10**12).map(lambda whole: f"{whole:,}")
"""As English writes them, with both signs or several groups."""


@given(st.lists(AMOUNTS, max_size=4), st.randoms(use_true_random=False), st.booleans())
def test_whatever_signs_a_model_writes_every_value_stays(amounts: list[str], random: Random, to_german: bool) -> None:
    """The digits and their order are the model's."""
    languages = TO_GERMAN if to_german else TO_ENGLISH
    source = " + ".join(amount if to_german else amount.translate(COMMA) for amount in amounts)
    written = "".join(random.choice(".,") if sign in ".," else sign for sign in source)
    rewritten = with_notation_of(source, written, languages)
    assert not numbers_changed(source, rewritten, languages)
    expected = [amount.translate(COMMA) if to_german else amount for amount in amounts]
    for amount, number in zip(expected, rewritten.split(" + "), strict=False):
        assert set(readings(amount, languages, 1, False)) & set(readings(number, languages, 1, False))
    assert with_notation_of(source, rewritten, languages) == rewritten


@given(st.lists(AMOUNTS, max_size=3), st.text("12.,+ ", max_size=30), st.integers(0, 30))
def test_what_is_shown_of_a_translation_stays(amounts: list[str], written: str, at: int) -> None:
    source = " ".join(amounts)
    shown = with_notation_of(source, written[:at], TO_GERMAN, is_whole=False)
    assert with_notation_of(source, written, TO_GERMAN).startswith(shown)
