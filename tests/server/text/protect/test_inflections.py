"""Plurals by rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.protect.inflections import inflections, plural_of, singulars_of


@pytest.mark.parametrize(
    ("term", "plural"),
    [
        ("invoice", "invoices"),
        ("delivery note", "delivery notes"),
        ("party", "parties"),
        ("key", "keys"),
        ("tax", "taxes"),
        ("branch", "branches"),
        ("PDF", "PDFs"),
        ("C++", None),
        ("m2", None),
        ("us", None),
        ("\u0434\u043e\u043c", None),
    ],
)
def test_plurals(term: str, plural: str | None) -> None:
    assert plural_of(term) == plural


@given(st.text("abxyzsheiAY -1", max_size=8))
def test_singulars_are_the_terms_of_a_plural(term: str) -> None:
    plural = plural_of(term)
    if plural is not None:
        assert term in singulars_of(plural)


@pytest.mark.parametrize("form", ["Vertr\u00e4ge", "Vertr\u00e4gen", "Vertrags", "Vertrage"])
def test_forms_have_endings_and_umlauts(form: str) -> None:
    assert form in inflections("Vertrag")
    assert "H\u00e4user" in inflections("Haus")
    assert "companies" in inflections("company")
