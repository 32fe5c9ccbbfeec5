"""Blanks behind opening quotation marks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.protect.quotes import with_tight_quotes


@pytest.mark.parametrize(
    ("source", "target", "shown"),
    [
        ('"Hello," she said.', "\u201e Hallo\u201c, sagte sie.", "\u201eHallo\u201c, sagte sie."),
        ("\u00ab Bonjour \u00bb, dit-elle.", "\u201e Hallo \u201c", "\u201e Hallo \u201c"),
        ("He said 'no'.", "Er sagte \u201a nein\u2018.", "Er sagte \u201anein\u2018."),
        ('6" is 15 cm', "\u201e 15 cm", "\u201e15 cm"),
        ('a "nice" house', "ein \u201enice\u201c- Haus", "ein \u201enice\u201c Haus"),
        ('a "nice"-house', "ein \u201enice\u201c- Haus", "ein \u201enice\u201c- Haus"),
        ('a "nice" house', "ein \u201enice\u201c-Haus", "ein \u201enice\u201c-Haus"),
        ("No marks", "\u201e ...", "\u201e ..."),
    ],
)
def test_no_blank_stands_behind_an_opening_mark(source: str, target: str, shown: str) -> None:
    assert with_tight_quotes(source, target) == shown


@given(st.text("ab\u201e\u201a \"'\u00ab", max_size=20), st.text("ab\u201e\u201a \"'", max_size=20))
def test_only_blanks_go(source: str, target: str) -> None:
    done = with_tight_quotes(source, target)
    assert done.replace(" ", "") == target.replace(" ", "")
    assert with_tight_quotes(source, done) == done
