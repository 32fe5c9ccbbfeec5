"""Documents: their sentences, what their pronouns took their gender from, and where a sentence looked."""

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.server.api.conftest import PATIENCE, RunningServer
from tests.server.api.operations.page.visitor import Visitor

SENTENCES = [
    "We bought a new table in the city.",
    "It is made of wood.",
    "The company published a report last week.",
    "The committee read it carefully.",
    "Then they voted.",
    "She was tired.",
]
DECIDED = {1: ("It", "Er", "table"), 3: ("it", "ihn", "report")}
"""Sentence -> its pronoun, what that became, and why."""
POINTS = """rows => rows.every((row, at) => {
  const word = document.querySelectorAll("#sentences li")[row].querySelector(".decider").getBoundingClientRect();
  const head = document.querySelectorAll("#arrows path.head")[at].getBoundingClientRect();
  const from = document.querySelectorAll("#sentences .source .pronoun")[at].getBoundingClientRect();
  const line = document.querySelectorAll("#arrows path:not(.head)")[at].getBoundingClientRect();
  return Math.abs(head.x + head.width / 2 - word.x - word.width / 2) < 2 && Math.abs(head.y - word.bottom) < 6
    && Math.abs(line.bottom - from.top) < 6;
})"""
"""Whether the arrows lead from the pronouns to the words of these rows."""


def posted(server: RunningServer, text: str, **fields: object) -> dict[str, object]:
    body = {"text": text, "source": "en", "target": "de", "wait": True, **fields}
    document: dict[str, object] = httpx.post(f"{server.url}/v1/documents", json=body, timeout=PATIENCE).json()
    return document


def read(visitor: Visitor, text: str) -> None:
    visitor.page.click("#tab-document")
    expect(visitor.at("#document-input")).to_be_focused()
    visitor.page.keyboard.insert_text(text)
    visitor.press("Control+Enter")


def test_what_each_pronoun_took_its_gender_from(browser: Browser, both_ways: RunningServer) -> None:
    """In words, and as an arrow from the pronoun to that word, which follows the text when the window changes."""
    visitor = Visitor(browser, both_ways)
    read(visitor, " ".join(SENTENCES))
    expect(visitor.at("#document-status")).to_have_text("Done")
    visitor.translates("English (detected)", "German")
    rows = visitor.at("#sentences li")
    document = posted(both_ways, " ".join(SENTENCES))
    assert rows.locator(".source").all_text_contents() == SENTENCES
    translations = [sentence["translation"] for sentence in document["sentences"]]  # type: ignore[attr-defined]
    assert rows.locator(".translation").all_text_contents() == translations
    for index, (pronoun, became, why) in DECIDED.items():
        expected_message = f"\u201c{pronoun}\u201d became \u201c{became}\u201d because of \u201c{why}\u201d"
        expect(rows.nth(index).locator(".why")).to_have_text(expected_message)
        expect(rows.nth(index).locator(".source .pronoun")).to_have_text(pronoun)
        expect(rows.nth(index).locator(".translation .pronoun")).to_have_text(became)
        expect(rows.nth(index - 1).locator(".decider")).to_have_text(why)
    expect(visitor.at("#legend")).to_be_visible()
    expect(visitor.at("#arrows path.head")).to_have_count(len(DECIDED))
    for width in (1280, 360):
        visitor.page.set_viewport_size({"width": width, "height": 800})
        visitor.page.wait_for_function(POINTS, arg=[index - 1 for index in DECIDED])
    assert visitor.origins == {both_ways.url}
    assert visitor.complaints == []


def test_with_a_key_only_chosen_sentences_are_explained(browser: Browser, both_ways: RunningServer) -> None:
    """Scores count for the quota of a key."""
    visitor = Visitor(browser, both_ways)
    visitor.page.evaluate("sessionStorage.setItem('ringmt-key', 'of somebody')")
    scored: list[str] = []
    visitor.page.on("request", lambda request: scored.append(request.url) if request.url.endswith("/score") else None)
    read(visitor, " ".join(SENTENCES[:2]))
    expect(visitor.at("#document-looking")).to_be_visible()
    assert scored == []
    visitor.page.click("#sentences li >> nth=1")
    expect(visitor.at("#sentences .why span")).to_have_text(
        "\u201cIt\u201d became \u201cEr\u201d because of \u201ctable\u201d"
    )
    expect(visitor.at("#announced")).to_contain_text("because of \u201ctable\u201d")
    assert len(scored) == 1


def test_the_attention_of_a_sentence_is_behind_a_click(browser: Browser, both_ways: RunningServer) -> None:
    visitor = Visitor(browser, both_ways)
    visitor.page.select_option("#source", "en")
    text = " ".join(SENTENCES[:5])
    read(visitor, text)
    expect(visitor.at("#document-status")).to_have_text("Done")
    rows = visitor.at("#sentences li")
    visitor.page.focus("#sentences li")
    visitor.press("ArrowDown", "ArrowDown", "Enter")
    expect(rows.nth(2)).to_have_attribute("aria-current", "true")
    assert rows.locator(".share").count() == 0
    visitor.page.click("#document-looking summary")
    expect(visitor.at("#context-note")).to_contain_text("was its own")
    document = posted(both_ways, text)
    path = f"{both_ways.url}/v1/documents/{document['id']}/sentences/2/context"
    seen = {item["index"]: item["weight"] for item in httpx.get(path, timeout=PATIENCE).json()["sentences"]}
    shades = rows.evaluate_all("rows => rows.map((row) => Number(row.style.getPropertyValue('--weight')))")
    assert shades == pytest.approx([seen.get(index, 0) / max(seen.values()) for index in range(5)], abs=1e-3)
    visitor.page.focus("#sentences li >> nth=2")
    visitor.press("Escape")
    assert rows.evaluate_all("rows => rows.every((row) => !row.hasAttribute('aria-current'))")
    assert visitor.complaints == []


def test_a_document_that_is_already_in_the_target_language(browser: Browser, both_ways: RunningServer) -> None:
    visitor = Visitor(browser, both_ways)
    visitor.page.select_option("#target", "de")
    read(visitor, "Das Haus ist sehr alt und sehr groß.")
    expect(visitor.at("#document-status")).to_have_text("This text is already in German.")
    assert visitor.complaints == []


def test_the_whole_translation_is_copied(browser: Browser, both_ways: RunningServer) -> None:
    visitor = Visitor(browser, both_ways)
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    read(visitor, "The house is very old.\n\n  We walk home.\n")
    visitor.page.click("#document-copy")
    expect(visitor.at("#document-copy")).to_have_text("Copied")
    assert (
        visitor.page.evaluate("navigator.clipboard.readText()") == "Das Haus ist sehr alt.\n\n  Wir gehen nach Hause.\n"
    )


def test_languages_that_two_models_translate(browser: Browser, many: RunningServer) -> None:
    """Texts and documents; and back to a pair that one translates."""
    text = "Wo ist der Bahnhof?\n\n  Wir gehen nach Hause. Ja.\n"
    visitor = Visitor(browser, many)
    visitor.page.select_option("#source", "de")
    visitor.page.select_option("#target", "fr")
    visitor.type(text)
    expect(visitor.at("#status")).to_contain_text("Translated through English.")
    answer = many.translate(text, source="de", target="fr").json()["translations"][0]
    visitor.sees(answer["text"])
    received = [sentence["target"] for sentence in answer["sentences"]]
    assert visitor.at("#output .sentence").all_text_contents() == received
    expect(visitor.at("#looking")).to_be_hidden()
    visitor.at("#output .sentence").first.click()
    expect(visitor.at("#others-title")).to_be_hidden()
    visitor.press("Escape")
    read(visitor, text)
    expect(visitor.at("#document-status")).to_have_text("Done, through English")
    document = posted(many, text, source="de", target="fr")
    translations = [sentence["translation"] for sentence in document["sentences"]]  # type: ignore[attr-defined]
    assert visitor.at("#sentences .translation").all_text_contents() == translations
    expect(visitor.at("#document-looking")).to_be_hidden()
    visitor.page.click("#tab-text")
    visitor.page.select_option("#target", "en")
    visitor.sees(many.translate(text, source="de", target="en").json()["translations"][0]["text"])
    expect(visitor.at("#status")).not_to_contain_text("through")
    assert visitor.complaints == []
