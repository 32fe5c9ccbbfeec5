"""Errors are shown in plain words, with what to do next."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.api_keys import new_key
from tests.server.api.conftest import RunningServer, ready, settings_for
from tests.server.api.operations.page.visitor import ENGLISH, GERMAN, Visitor, translated


def test_a_text_that_is_too_long(browser: Browser, both_ways: RunningServer) -> None:
    visitor = Visitor(browser, both_ways)
    visitor.type("a" * 20_001)
    expect(visitor.at("#notice-text")).to_contain_text("This is too long")
    expect(visitor.at("#notice-text")).to_contain_text("at most 20000")
    expect(visitor.at("#again")).to_be_hidden()
    visitor.type(ENGLISH)
    visitor.sees(GERMAN)
    expect(visitor.at("#notice")).to_be_hidden()


@pytest.mark.parametrize(
    ("status", "kind", "expected_message"),
    [
        (429, "overloaded", "The server is busy. Try again in 7 seconds."),
        (429, "quota_exceeded", "Your key is used up: no more. Try again in 7 seconds."),
        (503, "not_ready", "The server is not ready yet. Try again in 7 seconds."),
        (504, "deadline_exceeded", "This took too long. Try again, or send less at once."),
        (0, "", "The server cannot be reached. Check the connection, then try again."),
    ],
)
def test_what_passes_is_tried_again(
    browser: Browser, both_ways: RunningServer, status: int, kind: str, expected_message: str
) -> None:
    visitor = Visitor(browser, both_ways)
    body = {"error": {"type": kind, "message": "no more", "param": None, "request_id": "1"}}
    visitor.page.route(
        "**/v1/translate",
        lambda route: (
            route.fulfill(status=status, json=body, headers={"Retry-After": "7"}) if status else route.abort()
        ),
    )
    visitor.type(ENGLISH)
    expect(visitor.at("#notice-text")).to_have_text(expected_message)
    expect(visitor.at("#notice")).to_have_attribute("role", "alert")
    visitor.page.unroute("**/v1/translate")
    visitor.page.click("#again")
    visitor.sees(GERMAN)
    expect(visitor.at("#notice")).to_be_hidden()


def test_a_key_where_one_is_needed(browser: Browser, tiny_artifact: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    secret, line = new_key("page", ("translate", "documents"))
    keys.write_text(line + "\n", encoding="utf-8")
    with ready(settings_for(tiny_artifact, api_keys=str(keys))) as server:
        visitor = Visitor(browser, server)
        expect(visitor.at("#key")).to_be_focused()
        visitor.page.fill("#key", "another")
        visitor.press("Enter")
        expect(visitor.at("#notice-text")).to_have_text("This key is not known here.")
        visitor.page.fill("#key", secret)
        visitor.press("Enter")
        expect(visitor.at("#key-form")).to_be_hidden()
        expect(visitor.at("#notice")).to_be_hidden()
        visitor.page.select_option("#source", "en")
        with server.client() as client:
            client.headers["X-API-Key"] = secret
            answer = client.post("/v1/translate", json={"text": "Yes.", "source": "en", "target": "de"}).json()
        visitor.type("Yes.")
        visitor.sees(answer["translations"][0]["text"])


def test_under_a_path_prefix_without_clipboard_and_alternatives(browser: Browser, tiny_artifact: Path) -> None:
    with ready(settings_for(tiny_artifact, root_path="/mt", default_beam_size=1)) as server:
        visitor = Visitor(browser, server, "/mt/")
        visitor.page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
        visitor.page.reload()
        visitor.type("Where is the station?")
        visitor.sees(translated(server, "Where is the station?"))
        visitor.page.click("#output .sentence")
        expect(visitor.at("#others-title")).to_be_hidden()
        visitor.press("Escape")
        visitor.page.click("#copy")
        expect(visitor.at("#copy")).to_have_text("Copied")
        visitor.type("")
        visitor.page.focus("#input")
        visitor.press("Control+V")
        expect(visitor.at("#input")).to_have_value(translated(server, "Where is the station?"))
