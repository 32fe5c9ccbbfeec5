"""The language of a page becomes the target's wherever it is declared, and no other language changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.markup.languages import as_locale
from server.text.markup.markup import read_markup

OWN = ["en", "EN", "en-US", "en_GB", "en-Latn-US"]
OTHER = ["fr", "eng", "", "x-en", "de"]
TAGS = ["p", "span", "section", "a", "img"]


def in_german(page: str, source: str = "en") -> str:
    markup = read_markup(page, language="de", source_language=source)
    return markup.write(markup.texts)


@given(
    st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(["lang", "xml:lang"]), st.sampled_from(OWN + OTHER))),
    st.sampled_from(['"', "'"]),
)
def test_only_the_language_of_the_page_changes(tags: list[tuple[str, str, str]], quote: str) -> None:
    def page(is_german: bool) -> str:
        parts = ["<html>"]
        for tag, name, value in tags:
            is_new = is_german and value in OWN
            attribute = f'{name}="de"' if is_new else f"{name}={quote}{value}{quote}"
            parts.append(f"<{tag} title='1' {attribute} class=x>Text</{tag}>")
        return "".join(parts)

    assert in_german(page(False)) == page(True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<html lang=en>", '<html lang="de">'),
        ("<html lang=fr><p lang=en>", '<html lang="de"><p lang="de">'),
        ("<html lang=''>", "<html lang=''>"),
        ("<html>", "<html>"),
        ('<meta property="og:locale" content="en_US">', '<meta property="og:locale" content="de_DE">'),
        ('<meta property="og:locale" content="fr_FR">', '<meta property="og:locale" content="fr_FR">'),
        (
            '<meta property="og:locale:alternate" content="en_GB">',
            '<meta property="og:locale:alternate" content="en_GB">',
        ),
        ("<meta http-equiv=Content-Language content=en>", '<meta http-equiv=Content-Language content="de">'),
        ("<meta name=language content='en'>", '<meta name=language content="de">'),
        ("<meta name=author content='en'>", "<meta name=author content='en'>"),
        ("<a hreflang=en href='/en/' rel=alternate>", "<a hreflang=en href='/en/' rel=alternate>"),
        ("<p translate=no lang=en><b lang=en>Yes</b></p>", "<p translate=no lang=en><b lang=en>Yes</b></p>"),
        ("<code lang=en>x</code>", "<code lang=en>x</code>"),
        ("<p data-lang=en title='say lang=en now'>", "<p data-lang=en title='say lang=en now'>"),
        ("</html lang=en>", "</html lang=en>"),
    ],
)
def test_declarations(before: str, after: str) -> None:
    assert in_german(before) == after


def test_without_a_known_source_the_page_declares_its_own_language() -> None:
    assert in_german("<html lang=en><p lang=en><p lang=fr>", "") == '<html lang="de"><p lang="de"><p lang=fr>'
    assert in_german("<p lang=en>", "") == "<p lang=en>"


def test_markup_of_requests_keeps_its_languages() -> None:
    page = "<html lang=en><p lang=en>Yes</p>"
    markup = read_markup(page)
    assert markup.write(markup.texts) == page


def test_locales_have_the_usual_territory() -> None:
    assert [as_locale(tag) for tag in ("de", "en", "de-AT", "xx")] == ["de_DE", "en_US", "de_AT", "xx"]
