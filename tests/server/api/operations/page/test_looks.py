"""Phones, tablets and desks, by day and by night: nothing is cut off, and everything can be read."""

from typing import Literal

import pytest
from playwright.sync_api import Browser, FilePayload, expect

from tests.server.api.conftest import RunningServer
from tests.server.api.operations.page.visitor import Visitor

TEXT = "The lamp is old. La la la la la la la la la la la la. https://example.org/" + "a" * 80
DOCUMENT = "We bought a new table. It is made of wood. The company published a report. The committee read it."

FAINT = """() => {
  const number = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const over = (top, ground) => {
    const alpha = top[3] ?? 1;
    return [0, 1, 2].map((at) => top[at] * alpha + ground[at] * (1 - alpha));
  };
  const light = (color) => {
    const linear = (part) => (part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4);
    const [red, green, blue] = color.map((part) => linear(part / 255));
    return .2126 * red + .7152 * green + .0722 * blue;
  };
  const faint = [];
  const grounded = (element) => {
    const chain = [];
    for (let one = element; one; one = one.parentElement) chain.unshift(getComputedStyle(one));
    return chain.reduce((ground, style) => over(number(style.backgroundColor), ground), [255, 255, 255]);
  };
  const check = (element, style, text) => {
    const ground = grounded(element);
    const [one, other] = [light(over(number(style.color), ground)), light(ground)].sort((a, b) => b - a);
    const ratio = (one + .05) / (other + .05);
    if (ratio < 4.5) faint.push(`${text.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
    return 1;
  };
  let checked = 0;
  for (const element of document.querySelectorAll("body *")) {
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    if (element.closest(".unseen, :disabled, option")) continue;
    const own = element.matches("select, textarea, input") ? element.value
      : [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join("");
    if (own.trim()) checked += check(element, getComputedStyle(element), own);
    for (const part of ["::placeholder", "::before"]) {
      const style = getComputedStyle(element, part);
      const text = part === "::before" ? style.content : (!element.value && element.placeholder) || "";
      if (text && !["none", "normal"].includes(text)) checked += check(element, style, text);
    }
  }
  return { checked, faint };
}"""
"""Texts whose contrast with what is behind them is less than WCAG 2.2 asks for at level AA (1.4.3), 4.5 to 1."""

SMALL = """() => [...document.querySelectorAll("button, a, select, summary")]
  .filter((one) => one.checkVisibility() && !one.matches(".link, .foot a, #files a"))
  .filter((one) => { const box = one.getBoundingClientRect(); return box.width < 24 || box.height < 24; })
  .map((one) => one.id || one.textContent)"""
"""What is too small for a finger: less than 24 pixels wide or high (2.5.8)."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_at_every_width(browser: Browser, both_ways: RunningServer, scheme: Literal["light", "dark"]) -> None:
    visitor = Visitor(browser, both_ways, scheme=scheme)
    ground = visitor.page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (max(ground) < 60) == (scheme == "dark")

    def is_good(what: str) -> None:
        for width in (360, 768, 1280):
            visitor.page.set_viewport_size({"width": width, "height": 800})
            assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width, (what, width)
            seen = visitor.page.evaluate(FAINT)
            assert seen["checked"] > 8, what
            assert seen["faint"] == [], (what, width)
            assert visitor.page.evaluate(SMALL) == [], (what, width)

    is_good("the empty page")
    visitor.page.select_option("#source", "en")
    visitor.type(TEXT)
    expect(visitor.at("#output .flagged")).to_have_count(1)
    expect(visitor.at("#output")).to_have_attribute("aria-busy", "false")
    visitor.page.click("#looking summary")
    visitor.at("#pieces .piece").nth(3).click()
    visitor.page.click("#output .flagged")
    visitor.page.click("#glossary-button")
    is_good("a text with all that belongs to it")
    visitor.page.route("**/v1/translate", lambda route: route.abort())
    visitor.type("Another.")
    expect(visitor.at("#notice")).to_be_visible()
    is_good("an error")
    visitor.page.click("#tab-document")
    visitor.page.keyboard.insert_text(DOCUMENT)
    visitor.press("Control+Enter")
    expect(visitor.at("#sentences .why span")).to_have_count(2)
    visitor.page.click("#document-looking summary")
    visitor.page.click("#sentences li >> nth=1")
    expect(visitor.at("#context-note")).to_contain_text("was its own")
    is_good("a document")
    visitor.page.click("#tab-files")
    long = FilePayload(name=f"{'long' * 20}.txt", mimeType="text/plain", buffer=TEXT.encode())
    strange = FilePayload(name="strange.xyz", mimeType="text/plain", buffer=b"?")
    visitor.page.set_input_files("#file", [long, strange])
    expect(visitor.at("#files a")).to_have_count(1)
    expect(visitor.at("#files .bad")).to_have_count(1)
    is_good("files")


def test_texts_from_right_to_left(browser: Browser, both_ways: RunningServer) -> None:
    visitor = Visitor(browser, both_ways)
    visitor.type("שלום עולם")
    for place in ("#input", "#output"):
        expect(visitor.at(place)).to_have_css("direction", "rtl")
    visitor.type("The house is very old.")
    for place in ("#input", "#output"):
        expect(visitor.at(place)).to_have_css("direction", "ltr")
