"""From which language into which: detected, corrected, remembered."""

import json

import pytest
from playwright.sync_api import Browser, expect

from tests.server.api.conftest import RunningServer
from tests.server.api.operations.page.visitor import ENGLISH, GERMAN, Visitor, translated


@pytest.mark.parametrize("locale", ["en-US", "de-DE", "fi-FI"])
def test_who_types_first_is_understood(browser: Browser, both_ways: RunningServer, locale: str) -> None:
    """Whatever the browser speaks, English comes out as German and German as English."""
    visitor = Visitor(browser, both_ways, locale=locale)
    expect(visitor.at("#input")).to_be_focused()
    expect(visitor.at("#source option:checked")).to_have_text("Detect language")
    assert visitor.at("#source option").all_text_contents() == ["Detect language", "English", "German"]
    visitor.page.keyboard.insert_text(ENGLISH)
    visitor.sees(GERMAN)
    visitor.translates("English (detected)", "German")
    assert visitor.page.evaluate("[document.getElementById('input').lang, document.getElementById('output').lang]") == [
        "en",
        "de",
    ]
    assert visitor.origins == {both_ways.url}
    assert visitor.complaints == []


def test_german_comes_out_as_english(browser: Browser, both_ways: RunningServer) -> None:
    visitor = Visitor(browser, both_ways, locale="de-DE")
    visitor.type(GERMAN)
    visitor.sees(ENGLISH)
    visitor.translates("German (detected)", "English")
    visitor.page.click("#clear")
    visitor.sees("")
    visitor.translates("Detect language", "English")


def test_a_wrong_detection_is_corrected(browser: Browser, both_ways: RunningServer) -> None:
    """What was taken for German is English after all."""
    visitor = Visitor(browser, both_ways)
    visitor.type("Gift")
    visitor.sees("Poison")
    visitor.translates("German (detected)", "English")
    visitor.page.select_option("#source", "en")
    visitor.translates("English", "German")
    visitor.sees(translated(both_ways, "Gift"))
    visitor.page.select_option("#source", "auto")
    visitor.type(ENGLISH)
    visitor.translates("English (detected)", "German")
    visitor.sees(GERMAN)


def test_a_text_that_is_already_in_the_target_language(browser: Browser, both_ways: RunningServer) -> None:
    visitor = Visitor(browser, both_ways)
    visitor.page.select_option("#target", "de")
    visitor.type(GERMAN)
    expect(visitor.at("#status")).to_have_text("This text is already in German.")
    visitor.sees(GERMAN)
    expect(visitor.at("#announced")).to_have_text("This text is already in German.")
    visitor.page.click("text=Translate it into English")
    visitor.sees(ENGLISH)
    visitor.translates("German (detected)", "English")
    expect(visitor.at("#turn")).to_be_hidden()
    visitor.page.select_option("#target", "de")
    visitor.type("Guten Morgen")  # too short to be sure
    expect(visitor.at("#status")).to_have_text("This text may already be in German.")
    visitor.translates("English (not sure)", "German")
    visitor.page.click("text=Translate it into English")
    visitor.sees("Good morning")
    assert visitor.complaints == []


def test_a_language_that_is_not_served(browser: Browser, both_ways: RunningServer) -> None:
    visitor = Visitor(browser, both_ways)
    text = "Bonjour, je voudrais un café avec du lait s'il vous plaît."
    visitor.type(text)
    expect(visitor.at("#status")).to_contain_text("This looks like French, which is not translated into")
    visitor.sees(text)
    visitor.page.select_option("#source", "en")
    visitor.sees(translated(both_ways, text))


def test_the_last_direction_is_there_again(browser: Browser, both_ways: RunningServer) -> None:
    """And nothing else is kept."""
    visitor = Visitor(browser, both_ways)
    visitor.translates("Detect language", "English")
    visitor.type(ENGLISH)
    visitor.sees(GERMAN)
    visitor.page.evaluate("document.getElementById('input').value = ''")
    visitor.page.reload()
    visitor.translates("Detect language", "German")
    kept = visitor.page.evaluate("() => JSON.stringify([localStorage, document.cookie, location.href])")
    stored, cookie, address = json.loads(kept)
    assert {name: json.loads(value) for name, value in stored.items()} == {
        "ringmt-direction": {"source": "en", "target": "de"}
    }
    assert (cookie, address) == ("", f"{both_ways.url}/")
    visitor.page.evaluate("localStorage.setItem('ringmt-direction', '{\"target\": [7')")
    visitor.page.reload()
    visitor.translates("Detect language", "English")
    assert visitor.complaints == []


def test_swapped(browser: Browser, both_ways: RunningServer) -> None:
    """The translation becomes the text."""
    visitor = Visitor(browser, both_ways)
    expect(visitor.at("#swap")).to_be_disabled()
    visitor.type(ENGLISH)
    visitor.sees(GERMAN)
    visitor.page.click("#swap")
    visitor.sees(ENGLISH)
    expect(visitor.at("#input")).to_have_value(GERMAN)
    visitor.translates("German", "English")


def test_a_direction_that_is_chosen_beside_a_document_is_that_of_the_text_again(
    browser: Browser, both_ways: RunningServer
) -> None:
    visitor = Visitor(browser, both_ways)
    visitor.type("Gift")
    visitor.sees("Poison")
    visitor.page.click("#tab-document")
    visitor.translates("Detect language", "English")
    sent: list[str] = []
    visitor.page.on("request", lambda request: sent.append(request.url))
    visitor.page.select_option("#source", "en")
    visitor.page.click("#swap")
    visitor.page.click("#swap")
    visitor.translates("English", "German")
    assert sent == []
    visitor.page.click("#tab-text")
    visitor.sees(translated(both_ways, "Gift"))
    expect(visitor.at("#input")).to_have_value("Gift")


def test_languages_are_named_where_the_server_has_no_detection(browser: Browser, many: RunningServer) -> None:
    visitor = Visitor(browser, many)
    expect(visitor.at("#target option")).to_have_text(["English", "French", "German"])
    visitor.page.select_option("#source", "de")
    expect(visitor.at("#target option")).to_have_text(["English", "French"])
    expect(visitor.at("#swap")).to_be_enabled()
    visitor.page.select_option("#target", "fr")
    expect(visitor.at("#swap")).to_be_disabled()
