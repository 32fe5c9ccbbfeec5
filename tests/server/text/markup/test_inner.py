"""Markup inside of markup: pictures, pages in attributes, templates; marks of notes; other languages; long data."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.markup.markup import read_markup
from tests.growth import assert_linear

DATA = "data:image/png;base64," + "A" * 50_000
INNER = {
    "<p>A <svg><title>Red house</title><style>a {b: c}</style><g><text x='1'>We <tspan>walk</tspan> home</text></g>"
    "</svg> map</p>": ["A map", "Red house", "We walk home"],
    "<svg><desc>A house</desc><foreignObject><p>One</p><p>Two</p></foreignObject><metadata>x y</metadata></svg>": [
        "A house", "One", "Two",
    ],
    "<iframe srcdoc=\"<p title='Tip'>It's &quot;red&quot;</p><svg><text>Map</text></svg>\"></iframe>": [
        'It\'s "red"', "Tip", "Map",
    ],
    "<iframe srcdoc='<iframe srcdoc=\"&lt;p>Deep&lt;/p>\"></iframe>One'></iframe>": ["One", "Deep"],
    "<p>The <ruby>\u6f22<rp>(</rp><rt>kan</rt><rp>)</rp></ruby> sign</p>": ["The \u6f22 sign"],
    "<template><p>No results</p></template>": ["No results"],
    f"<p>See <img src='{DATA}' alt='Red'> it</p><b style='background:url({DATA})'>Blue</b>": ["See it", "Blue", "Red"],
    f"<iframe srcdoc=\"<p>A <img src='{DATA}'> house</p>\"></iframe><svg><image href='{DATA}'/><text>Map</text></svg>":
    [
        "A house", "Map",
    ],
    "<html lang=fr><p lang=en>One</p><p lang=de>zwei</p></html>": ["One", "zwei"],
    "<html lang=en><p>One</p><p lang=fr>un<p>Two</p></html>": ["One", "un", "Two"],
    "<svg translate=no><text>Map</text></svg><p>One</p><svg><text class=notranslate>A</text></svg>": ["One"],
    "<html lang=en><p lang=fr>Un <b>deux</b></p><p lang=en-GB>One <i lang='de'>zwei</i> and then three</p></html>": [
        "One and then three"
    ],
}  # fmt: skip


def plain(text: str) -> str:
    return " ".join("".join(char if ord(char) < 0xF0000 else "" for char in text).split())


@pytest.mark.parametrize("page", INNER)
def test_what_readers_see_is_read(page: str) -> None:
    markup = read_markup(page)
    assert [plain(text) for text in markup.texts] == INNER[page]
    assert markup.write(markup.texts) == page


@pytest.mark.parametrize("page", [page for page in INNER if "iframe" not in page])
def test_everything_else_stays(page: str) -> None:
    markup = read_markup(page)
    expected = page
    for text in ("We ", "walk", " home", "Red house", *INNER[page]):
        expected = expected.replace(f">{text}", f">{text.upper()}").replace(f"'{text}'", f'"{text.upper()}"')
    written = markup.write([text.upper() for text in markup.texts])
    assert written.lower().replace('"', "'") == page.lower().replace('"', "'")
    assert len(written) == len(expected)


@given(st.text(st.characters(max_codepoint=0xEFFFF, exclude_categories=["Cs"]), max_size=40), st.sampled_from("\"'"))
def test_a_page_in_an_attribute_has_any_translation(translation: str, quote: str) -> None:
    page = read_markup(f"<iframe srcdoc={quote}<p>One</p>{quote}></iframe>")
    written = page.write([f"a{translation}z"])
    [document] = read_markup(written).texts or [""]
    assert read_markup(written).write(read_markup(written).texts) == written
    assert read_markup(f"<p>{html.escape(f'a{translation}z')}</p>").texts == [document]


@pytest.mark.parametrize(
    ("page", "is_mark"),
    [
        ("The house<sup>1</sup> is", True),
        ("It is red.<sup>*</sup>", True),
        ("it<sup><a href='#a'>12</a></sup> is", True),
        ("it<sup>[3]</sup> is", True),
        ("a house<sup>1,2</sup> is", True),
        ("m<sup>2</sup> is", False),
        ("1<sup>st</sup> is", False),
        ("house<sup>new</sup> is", False),
        ("a <sup>2</sup> is", False),
        ("house<sup>1 is", False),
    ],
)
def test_the_mark_of_a_note_is_no_part_of_its_word(page: str, is_mark: bool) -> None:
    [text] = read_markup(page).texts
    assert (re.search(r"[*\d]", text) is None and "<sup>" in page) == is_mark or "new" in page or "st" in page
    if is_mark:
        first, *_ = filter(None, re.split("[\U000f8000-\U000fbfff]", text))
        assert plain(first) == page.partition("<")[0]


def test_reading_inner_markup_takes_linear_time() -> None:
    tokens = (
        "<svg>", "</svg>", "<text>", "</text>", "<tspan>", "<foreignObject>", "</foreignObject>", "<title>", "</title>",
        "<iframe srcdoc='", '<iframe srcdoc="', "'>", '">', "&lt;svg&gt;", "&amp;quot;", "<sup>", "</sup>", "a", "1",
        " ", "='data:a/b,", "A" * 1000, "<html lang=en>", "<p lang=de>", "</p>", "<template>", "word ",
    )  # fmt: skip

    def run(text: str) -> None:
        page = read_markup(text)
        page.write([f"{text} b" for text in page.texts])

    assert_linear(run, tokens, ordinary=None)
