"""Amounts that lost their currency are found, and sentences that people translated have none."""

from pathlib import Path

import pytest

from server.text.checks.currencies import currency_lost
from server.text.checks.flags import find_flags

SAMPLE = Path(__file__).parents[3] / "sample"


@pytest.mark.parametrize(
    ("source", "target", "is_lost"),
    [
        ("It costs $5.", "Es kostet 5.", True),
        ("It costs $5.", "Es kostet 5 $.", False),
        ("It costs $5.", "Es kostet 5 US-Dollar.", False),
        ("It costs 5 \u20ac.", "Das kostet 5.", True),
        ("It costs \u20ac5.", "Das kostet 5 Euro.", False),
        ("\u00a3 300 and $2", "300 Pfund und 2", True),
        ("The variable $x", "Die Variable x", False),
        ("It costs 5.", "Es kostet 5.", False),
    ],
)
def test_a_currency_is_named_or_lost(source: str, target: str, is_lost: bool) -> None:
    assert currency_lost(source, target, "de") == is_lost
    assert ("numbers_changed" in find_flags(source, target, ("en", "de-AT"))) == is_lost
    assert not currency_lost(source, target, "ja")


def test_people_lose_none() -> None:
    sides = [(SAMPLE / f"dev.{language}").read_text().split("\n") for language in ("en", "de")]
    pairs = list(zip(*sides, strict=True))
    amounts = [pair for pair in pairs if any(sign in pair[0] for sign in "$\u20ac\u00a3")]
    assert len(amounts) > 20
    assert [pair for pair in amounts if currency_lost(pair[0], pair[1], "de")] == []
