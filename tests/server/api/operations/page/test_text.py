"""Texts: typed, pasted, copied; their alternatives, corrections, terms and forms of address."""

import json

from playwright.sync_api import Browser, Route, expect

from tests.server.api.conftest import RunningServer
from tests.server.api.operations.page.visitor import ENGLISH, GERMAN, Visitor, translated

TEXT = "We walk home in the rain.\n\nWhere is the station?"


def test_a_text_is_pasted_and_its_translation_copied(browser: Browser, both_ways: RunningServer) -> None:
    visitor = Visitor(browser, both_ways)
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visitor.page.evaluate("text => navigator.clipboard.writeText(text)", TEXT)
    visitor.press("Control+V")
    visitor.sees(translated(both_ways, TEXT))
    expect(visitor.at("#count")).to_have_text(f"{len(TEXT)} characters")
    expect(visitor.at("#announced")).to_have_text(translated(both_ways, TEXT).replace("\n\n", " "))
    visitor.page.click("#copy")
    expect(visitor.at("#copy")).to_have_text("Copied")
    assert visitor.page.evaluate("navigator.clipboard.readText()") == translated(both_ways, TEXT)
    expect(visitor.at("#copy")).to_have_text("Copy")
    visitor.page.click("#clear")
    visitor.sees("")
    expect(visitor.at("#input")).to_be_focused()
    expect(visitor.at("#copy")).to_be_hidden()
    assert visitor.complaints == []


def test_an_older_answer_never_replaces_a_newer_one(browser: Browser, both_ways: RunningServer) -> None:
    """Whether the language or the translation of the older text comes late."""
    visitor = Visitor(browser, both_ways)
    for path in ("/detect", "/v1/translate"):
        held = visitor.hold(path)
        with visitor.page.expect_request(f"**{path}"):
            visitor.type(f"I am not at home today. {path}")
        expect(visitor.at("#output")).to_have_attribute("aria-busy", "true")
        visitor.type(ENGLISH)
        visitor.sees(GERMAN)
        answered = {"text": "late", "sentences": [{"source": "", "target": "late", "flags": []}], "flags": []}
        late = {"translations": [answered], "timings": {"total": 0}}
        [route] = held
        route.fulfill(json=[{"language": "de", "confidence": 99}] if path == "/detect" else late)
        visitor.page.evaluate("new Promise((done) => setTimeout(done, 100))")
        visitor.sees(GERMAN)
        visitor.translates("English (detected)", "German")


def test_other_ways_to_say_a_sentence(browser: Browser, both_ways: RunningServer) -> None:
    visitor = Visitor(browser, both_ways)
    visitor.type(TEXT)
    whole = translated(both_ways, TEXT)
    visitor.sees(whole)
    answer = both_ways.translate("Where is the station?", num_hypotheses=4).json()["translations"][0]
    others = [one["text"] for one in answer["hypotheses"] if one["text"] != answer["text"]]
    assert others
    visitor.at("#output .sentence").nth(1).click()
    buttons = visitor.at("#others button")
    expect(buttons).to_have_count(len(others))
    assert buttons.all_text_contents() == others
    buttons.first.click()
    visitor.sees(whole.replace(answer["text"], others[0]))
    expect(visitor.at("#sentence")).to_be_hidden()
    expect(visitor.at("#output .sentence").nth(1)).to_be_focused()
    assert visitor.complaints == []


def test_a_correction_is_used_from_then_on(browser: Browser, both_ways: RunningServer) -> None:
    """In this text, after the page was loaded anew, by somebody else; until it is forgotten."""
    text, corrected = "Where is the old station?", "Wo steht denn der alte Bahnhof?"
    visitor = Visitor(browser, both_ways)
    visitor.type(text)
    plain = translated(both_ways, text)
    visitor.sees(plain)
    visitor.page.click("#output .sentence")
    expect(visitor.at("#better")).to_be_focused()
    expect(visitor.at("#correction-note")).to_contain_text("everybody who uses this server")
    visitor.page.fill("#better", "  ")
    visitor.page.click("#save")
    expect(visitor.at("#correction-note")).to_have_text("Write a translation first.")
    visitor.page.fill("#better", corrected)
    visitor.press("Control+Enter")
    visitor.sees(corrected)
    expect(visitor.at("#status")).to_have_text("Saved. It is used from now on.")
    other = Visitor(browser, both_ways)
    other.type(f"{ENGLISH} {text}")
    other.sees(f"{GERMAN} {corrected}")
    expect(other.at("#status")).to_have_text("One sentence is from saved corrections.")
    other.at("#output .sentence").nth(1).click()
    other.page.click("#forget")
    other.sees(f"{GERMAN} {plain}")
    assert visitor.complaints == other.complaints == []


def test_terms_are_translated_as_the_glossary_says(browser: Browser, both_ways: RunningServer) -> None:
    visitor = Visitor(browser, both_ways)
    text = "The station is old. The lamp is new."
    visitor.type(text)
    visitor.page.click("#glossary-button")
    visitor.page.keyboard.insert_text("station")
    visitor.press("Tab")
    visitor.page.keyboard.insert_text("Haltestelle")
    visitor.page.click("#add-term")
    visitor.page.keyboard.insert_text("lamp")
    both = both_ways.translate(text, glossary={"station": "Haltestelle"}, keep=["lamp"]).json()["translations"][0]
    assert "Haltestelle" in both["text"]
    visitor.sees(both["text"])
    expect(visitor.at("#glossary-button")).to_have_text("Glossary (2)")
    visitor.page.click("#terms button")
    visitor.sees(both_ways.translate(text, keep=["lamp"]).json()["translations"][0]["text"])
    assert visitor.complaints == []


def test_flags_are_shown_in_plain_words(browser: Browser, both_ways: RunningServer) -> None:
    visitor = Visitor(browser, both_ways)
    visitor.page.select_option("#source", "en")
    visitor.type(f"{ENGLISH} La la la la la la la la la la la la.")
    expect(visitor.at("#status")).to_have_text("Please check the underlined sentence.")
    flagged = visitor.at("#output .flagged")
    expect(flagged).to_have_count(1)
    expect(flagged).to_have_attribute("title", "Please check: repeats itself")
    flagged.click()
    expect(visitor.at("#check")).to_have_text("Please check: repeats itself.")


def test_formality_where_the_server_has_it(browser: Browser, both_ways: RunningServer) -> None:
    """From English to German; the other way the control is hidden, and nothing is sent."""
    sent = []

    def translate(route: Route) -> None:
        sent.append(json.loads(route.request.post_data or "{}").get("formality"))
        route.continue_()

    visitor = Visitor(browser, both_ways)
    visitor.page.route("**/v1/translate", translate)
    visitor.type(ENGLISH)
    visitor.sees(GERMAN)
    expect(visitor.at("#formality")).to_be_visible()
    visitor.page.select_option("#formality", label="Informal")
    visitor.sees(GERMAN)
    visitor.page.click("#swap")
    visitor.sees(ENGLISH)
    expect(visitor.at("#formality")).to_be_hidden()
    assert sent == [None, "prefer_less", None]


def test_corrections_are_of_a_language_in_its_script(browser: Browser, both_ways: RunningServer) -> None:
    """As the server's memories are: without regions, but zh-TW is not zh."""
    listed = [
        {"id": target, "name": "Suggestions", "source": "en", "target": target} for target in ("zh", "zh-hant", "pt")
    ]
    visitor = Visitor(browser, both_ways)
    visitor.page.route("**/frontend/settings", lambda route: route.fulfill(json={"suggestions": True}))
    visitor.page.route("**/v1/translation_memories", lambda route: route.fulfill(json={"translation_memories": listed}))
    found = visitor.page.evaluate(
        """async (targets) => {
            const memory = await import("/page/memory.js");
            await memory.open();
            return targets.map((target) => memory.idOf({ source: "EN_us", target }) ?? null);
        }""",
        ["zh", "zh-Hans", "zh_CN", "zh-TW", "zt", "pt-BR", "PT", "de"],
    )
    assert found == ["zh", "zh", "zh", "zh-hant", None, "pt", "pt", None]
