"""The page by keyboard alone, and with a screen reader."""

from playwright.sync_api import Browser, expect

from tests.server.api.conftest import RunningServer
from tests.server.api.operations.page.visitor import ENGLISH, GERMAN, Visitor

FOCUSED = """() => {
  const one = document.activeElement;
  const style = getComputedStyle(one);
  const pane = one.closest(".pane, #document-form");
  const isMarked = style.outlineStyle !== "none" || (pane && getComputedStyle(pane).boxShadow !== "none");
  const name = one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? one.textContent;
  return { id: one.id || one.className, isMarked, isNamed: Boolean(name.trim()) };
}"""


def stops(visitor: Visitor, last: str) -> list[str]:
    """Where Tab leads, up to an element; each stop can be seen and has a name."""
    ids: list[str] = []
    while last not in ids:
        assert len(ids) < 40, ids
        visitor.press("Tab")
        stop = visitor.page.evaluate(FOCUSED)
        assert stop["isMarked"], f"the focus on {stop['id']} cannot be seen"
        assert stop["isNamed"], f"{stop['id']} has no name"
        ids.append(stop["id"])
    return ids


def test_from_the_text_to_a_correction_and_back(browser: Browser, both_ways: RunningServer) -> None:
    visitor = Visitor(browser, both_ways)
    visitor.page.keyboard.type(f"{ENGLISH} I see the lamp.")
    expect(visitor.at("#output .sentence")).to_have_count(2)
    expect(visitor.at("#announced")).to_contain_text(GERMAN)
    assert stops(visitor, "sentence") == ["sentence"]
    visitor.press("ArrowRight")
    expect(visitor.at("#output .sentence").nth(1)).to_be_focused()
    visitor.press("Enter")
    expect(visitor.at("#better")).to_be_focused()
    expect(visitor.at("#others button")).not_to_have_count(0)
    assert stops(visitor, "save") == ["save"]
    visitor.press("Shift+Tab")
    visitor.press("Escape")
    expect(visitor.at("#sentence")).to_be_hidden()
    expect(visitor.at("#output .sentence").nth(1)).to_be_focused()
    assert stops(visitor, "copy") == ["share", "copy"]
    visitor.press("Enter")
    expect(visitor.at("#announced")).to_have_text("Copied")
    visitor.page.focus("#tab-text")
    assert stops(visitor, "input") == ["source", "swap", "target", "formality", "glossary-button", "clear", "input"]


def test_between_the_parts_of_the_page(browser: Browser, both_ways: RunningServer) -> None:
    visitor = Visitor(browser, both_ways)
    visitor.page.focus("#tab-text")
    for key, tab in (("ArrowRight", "document"), ("ArrowRight", "files"), ("ArrowRight", "files"), ("Home", "text")):
        visitor.press(key)
        expect(visitor.at(f"#tab-{tab}")).to_be_focused()
        expect(visitor.at(f"#tab-{tab}")).to_have_attribute("aria-selected", "true")
        expect(visitor.at(f"#{tab}-view")).to_be_visible()
    visitor.press("ArrowRight")
    assert stops(visitor, "document-input") == ["source", "target", "document-input"]
    visitor.page.keyboard.insert_text(f"{ENGLISH} {ENGLISH}")
    visitor.press("Control+Enter")
    expect(visitor.at("#document-status")).to_have_text("Done")
    visitor.page.focus("#sentences li")
    visitor.press("ArrowDown", " ")
    expect(visitor.at("#sentences li").nth(1)).to_have_attribute("aria-current", "true")
    assert visitor.complaints == []


def test_less_motion(browser: Browser, both_ways: RunningServer) -> None:
    visitor = Visitor(browser, both_ways)
    visitor.page.emulate_media(reduced_motion="no-preference")
    moves = "() => getComputedStyle(document.getElementById('output')).transitionDuration"
    assert visitor.page.evaluate(moves) != "0s"
    visitor.page.emulate_media(reduced_motion="reduce")
    assert visitor.page.evaluate(moves) == "0s"
