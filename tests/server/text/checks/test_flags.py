"""Suspicious translations get flags."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.telemetry.labels import FLAGS
from server.text.checks.flags import find_flags, is_copy
from server.text.checks.numbers import numbers_changed


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("It costs $1,234.56.", "Es kostet 1.234,56 $."),
        ("1.234.567 Einwohner und 1.234,567 km", "1,234,567 inhabitants and 1,234.567 km"),
        ("1.234,56 und 12.11.2026", "1234.56 and 12.11.2026"),
        ("on 11/21/2026", "am 21.11.2026"),
        ("10000 people", "10 000 Menschen"),
        ("3 cats", "drei Katzen"),
        ("twelve cats", "12 Katzen"),
        ("1.5 hours", "anderthalb Stunden"),
        ("at 7:00", "um sieben"),
        ("chapter 05", "Kapitel 5"),
        ("\u0663 cats", "3 Katzen"),
        ("no number", "keine Zahl"),
    ],
)
def test_the_same_numbers(source: str, target: str) -> None:
    assert not numbers_changed(source, target)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("25 dogs", "52 Hunde"),
        ("1.234.567 Einwohner", "1.234,567 inhabitants"),
        ("1.234,56 Euro", "1.234.56 euros"),
        ("1.234,56 Euro", "12.34,56 euros"),
        ("5 mg a day", "6 mg am Tag"),
        ("in 1998", "im Jahr"),
        ("some", "etwa 400"),
        ("10:30 am on 11/21/2026", "um 22.30 Uhr am 11.30 Uhr"),
    ],
)
def test_other_numbers(source: str, target: str) -> None:
    assert numbers_changed(source, target)
    assert "numbers_changed" in find_flags(source, target)


GERMAN, ENGLISH = ("de", "en-US"), ("en", "de")


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [
        ("7.05 Uhr", "7:05 a.m.", GERMAN),
        ("um 22.30 Uhr", "at 10:30 pm", GERMAN),
        ("9 bis 17 Uhr", "from 9 a.m. to 5 p.m.", GERMAN),
        ("am 03.04.2024", "on 3 April 2024", GERMAN),
        ("am 03.04.2024", "on 04/03/2024", GERMAN),
        ("2024-04-03", "03.04.24", ENGLISH),
        ("1.000 Euro", "1,000 euros", GERMAN),
        ("1,234.50 euros", "1.234,5 Euro", ENGLISH),
        ("version 3.11", "Version 3.11", ENGLISH),
        ("192.168.0.1", "192.168.0.1", ENGLISH),
        ("In 2024 300 people", "300 Menschen in 2024", ENGLISH),
        ("10'000 Franken", "10,000 francs", GERMAN),
    ],
)
def test_the_same_values(source: str, target: str, languages: tuple[str, str]) -> None:
    assert not numbers_changed(source, target, languages)


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [
        ("7.05 Uhr", "7.5 o'clock", GERMAN),
        ("9 bis 17 Uhr", "from 9 a.m. to 6 p.m.", GERMAN),
        ("17 Hunde", "5 dogs", GERMAN),
        ("7.05 Uhr", "7,05 o'clock", GERMAN),
        ("am 03.04.2024", "on 04.03.2024", GERMAN),
        ("am 03.04.2024", "on 03,04,2024", GERMAN),
        ("1.000 Euro", "1.000 euros", GERMAN),
        ("1,000 euros", "1,000 Euro", ENGLISH),
        ("3.5 km", "35 km", ENGLISH),
        ("5.000 Euro", "5 euros", GERMAN),
        ("13 cats", "Katzen", ENGLISH),
        ("at 7.05 on 03.04.2024", "am 03.04.2024", ENGLISH),
        ("Version 1.2.3 ist da.", "The version is there.", GERMAN),
        ("Bis 3,7 km", "Up to some kilometres", GERMAN),
    ],
)
def test_other_values(source: str, target: str, languages: tuple[str, str]) -> None:
    assert numbers_changed(source, target, languages)


@settings(max_examples=50)
@given(st.integers(1000, 10**9), st.integers(0, 99))
def test_values_in_the_notation_of_each_language(whole: int, cents: int) -> None:
    english = f"{whole:,}.{cents:02}"
    german = english.translate({ord(","): ".", ord("."): ","})
    assert not numbers_changed(german, english, GERMAN)
    assert not numbers_changed(english, german, ENGLISH)
    assert numbers_changed(german, english[:-1] + str(9 - int(english[-1])), GERMAN)


def test_copies() -> None:
    assert is_copy("The cat sat there.", "the cat sat there")
    assert not is_copy("New York", "New York")
    assert not is_copy("The cat sat there.", "Die Katze sa\u00df dort.")


def test_flags_come_in_their_order() -> None:
    assert find_flags("a b 77", "so so so so so 66") == ("loop", "numbers_changed")
    assert find_flags("Hello there, you.", " ") == ("empty",)
    assert find_flags("Good morning", "Guten Morgen") == ()


def test_every_flag_is_counted() -> None:
    """By the metrics, which have a series for each of FLAGS; the last three come from how a sentence was decoded."""
    texts = (("a b 77", "so so so so so 66"), ("Hello there, you.", " "), ("The cat sat there.", "The cat sat there."))
    results = {flag for source, target in texts for flag in find_flags(source, target)}
    assert results == set(FLAGS) - {"cut", "truncated", "moved"}


def test_a_number_of_a_megabyte_takes_no_time() -> None:
    assert numbers_changed("7" * 1_000_000, "8" * 1_000_000)
    assert numbers_changed("7" + ",777" * 250_000, "7" + ".777" * 249_999 + ",777")
