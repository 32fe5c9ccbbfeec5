"""Links that carry a text."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from tests.server.api.conftest import RunningServer
from tests.server.api.operations.page.visitor import ENGLISH, GERMAN, Visitor, translated


def test_a_link_opens_with_its_text_and_direction(browser: Browser, both_ways: RunningServer) -> None:
    """What is behind # does not reach the server, and the direction of others is not remembered."""
    text = "The house is old.\n100% / #1 \U0001f600 <b>&amp;"
    giver = Visitor(browser, both_ways)
    giver.context.grant_permissions(["clipboard-read", "clipboard-write"])
    giver.type(text)
    giver.sees(translated(both_ways, text))
    giver.page.click("#share")
    expect(giver.at("#share")).to_have_text("Link copied")
    path = quote(text, safe="!'()*~")
    link = str(giver.page.evaluate("navigator.clipboard.readText()"))
    assert link == f"{both_ways.url}/#en/de/{path}"
    taker = Visitor(browser, both_ways, link.removeprefix(both_ways.url))
    taker.sees(translated(both_ways, text))
    taker.translates("English", "German")
    expect(taker.at("#input")).to_have_value(text)
    assert taker.at("#output b").count() == 0
    for address, shown in ((f"#de/en/{quote(GERMAN)}", ENGLISH), (f"#auto/de/{quote(ENGLISH)}", GERMAN)):
        taker.page.evaluate("address => { location.hash = address; }", address)
        taker.sees(shown)
    taker.translates("English (detected)", "German")
    assert taker.page.evaluate("localStorage.length") == 0
    taker.type("Now another text.")
    expect(taker.page).to_have_url(f"{both_ways.url}/")
    assert giver.complaints == taker.complaints == []


@pytest.mark.parametrize(
    ("address", "expected_message"),
    [
        ("/#en/fi/Hello", "This server does not translate the languages of this link."),
        ("/#en/de/100%", "This link is damaged: its text cannot be read."),
        ("/#en/de/" + "a" * 8000, "The text in this link is too long."),
    ],
)
def test_links_that_cannot_be_followed(
    browser: Browser, both_ways: RunningServer, address: str, expected_message: str
) -> None:
    visitor = Visitor(browser, both_ways, address)
    expect(visitor.at("#notice-text")).to_have_text(expected_message)
    visitor.type(ENGLISH)
    visitor.sees(GERMAN)
    expect(visitor.at("#notice")).to_be_hidden()
    assert visitor.complaints == []


def test_a_text_that_is_too_long_for_a_link(browser: Browser, both_ways: RunningServer) -> None:
    visitor = Visitor(browser, both_ways)
    visitor.page.select_option("#target", "de")
    visitor.type("Ja. " * 2_000)  # is in the target language: nothing to translate
    visitor.page.select_option("#source", "en")
    expect(visitor.at("#share")).to_be_visible()
    visitor.page.click("#share")
    expect(visitor.at("#status")).to_have_text("This text is too long for a link.")
