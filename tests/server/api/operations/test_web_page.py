"""The page at `/`, in a real browser."""

import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from server.api.operations.web_page import FILES
from server.engine.engine import Engine
from server.keys.lines import new_key
from server.settings import BUNDLED_MODELS, EngineSettings
from tests.models import SENTENCES
from tests.server.api.conftest import PATIENCE, RunningServer, ready, settings_for

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync "
    "--no-first-run"
)
TEXT = "We walk home in the rain.\n\nWhere is the station?"
HTML = {"accept": "text/html,application/xhtml+xml"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium here (Debian's package of that name)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield browser
        browser.close()


class Watched:
    """A page, with what it complained of and which origins it asked."""

    def __init__(
        self, browser: Browser, width: int = 1200, height: int = 800, scheme: Literal["light", "dark"] = "light"
    ) -> None:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.page: Page = context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        expect.set_options(timeout=1000 * PATIENCE)
        self.complaints: list[str] = []
        self.origins: set[str] = set()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.origins.add("/".join(request.url.split("/")[:3])))


def translated(server: RunningServer, text: str) -> str:
    result: str = server.translate(text).json()["translations"][0]["text"]
    return result


def test_programs_get_json_and_people_the_page(server: RunningServer) -> None:
    with server.client() as client:
        assert client.get("/").json()["translate"] == "/v1/translate"
        page = client.get("/", headers=HTML)
        assert page.headers["content-type"].startswith("text/html")
        assert page.headers["vary"] == "Accept"
        assert client.get("/page/nothing.js").status_code == 404
        assert client.get("/page/..%2fpage.py").status_code == 404


def test_the_page_is_strict_and_whole(server: RunningServer) -> None:
    with server.client() as client:
        page = client.get("/", headers=HTML)
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"\son\w+=|\sstyle=|<style|<script>", page.text)
        named = set(re.findall(r'(?:src|href)="/page/([^"]+)"', page.text))
        for name in FILES:
            text = client.get(f"/page/{name}").text if name != "index.html" else page.text
            assert not re.search(r"https?://|//[a-z]+\.", text), name
            named |= set(re.findall(r'from "\./([^"]+)"', text))
    assert named | {"index.html"} == set(FILES)


def test_a_text_and_its_alternatives(browser: Browser, document_server: RunningServer) -> None:
    page = Watched(browser)
    page.page.goto(document_server.url)
    expect(page.page.locator("#input")).to_be_focused()
    page.page.fill("#input", TEXT)
    expect(page.page.locator("#status")).to_contain_text("ms")
    answer = document_server.translate(TEXT, num_hypotheses=4).json()["translations"][0]
    assert page.page.locator("#output").text_content() == answer["text"]
    others = dict.fromkeys(hypothesis["text"] for hypothesis in answer["hypotheses"][1:])
    others.pop(answer["text"], None)
    assert page.page.locator("#alternatives button").all_text_contents() == list(others)
    page.page.fill("#input", "")
    expect(page.page.locator("#output")).to_be_empty()
    assert page.origins == {document_server.url}
    assert page.complaints == []


@pytest.fixture(scope="module")
def bundled_server() -> Iterator[RunningServer]:
    """A server whose translations are spelled by many different pieces."""
    engine = EngineSettings(slots=4, num_workers=1, max_beam_size=4)
    with ready(settings_for(BUNDLED_MODELS / "en-de", engine)) as server:
        yield server


def test_what_the_decoder_looked_at_for_each_piece(browser: Browser, bundled_server: RunningServer) -> None:
    """By arrow keys, by mouse and by touch; a sentence with a mask in it stays plain."""
    text = (
        "The old fisherman repairs the lighthouse lamp every stormy evening. See https://example.org now. WHERE IS IT?"
    )
    answer = bundled_server.translate(text, num_hypotheses=4, pieces=True).json()
    first, _, capitals = answer["translations"][0]["sentences"]
    assert (answer["order"], len(first["pieces"]) > answer["order"]) == (8, True)
    assert not all(piece.startswith("\u2581") for piece in first["pieces"] if piece.isalpha()), "no word of two pieces"
    spelled = [piece.replace("\u2581", "") for piece in first["pieces"]]
    page = Watched(browser)
    page.page.goto(bundled_server.url)
    page.page.fill("#input", text)
    expect(page.page.locator("#status")).to_contain_text("ms")
    assert page.page.locator("#output").text_content() == answer["translations"][0]["text"]
    whole = [*spelled, *(piece.replace("\u2581", "").upper() for piece in capitals["pieces"])]
    assert page.page.locator("#output .piece").all_text_contents() == whole
    chosen, seen = page.page.locator("#output .chosen"), page.page.locator("#output .in-window")
    page.page.focus("#output")
    for at, piece in enumerate(spelled):
        page.page.keyboard.press("ArrowRight")
        assert chosen.all_text_contents() == [piece]
        assert seen.all_text_contents() == spelled[max(0, at - 7) : at]
    expect(page.page.locator("#window-note")).to_contain_text("at the 7 pieces before it")
    page.page.keyboard.press("ArrowRight")
    assert (chosen.all_text_contents(), seen.all_text_contents()) == ([whole[len(spelled)]], []), "another sentence"
    for key, at in (
        ("Home", 0),
        ("End", len(whole) - 1),
        ("ArrowRight", len(whole) - 1),
        ("ArrowLeft", len(whole) - 2),
    ):
        page.page.keyboard.press(key)
        assert chosen.all_text_contents() == [whole[at]]
    page.page.keyboard.press("Escape")
    assert (chosen.count(), seen.count()) == (0, 0)
    page.page.locator("#output .piece").nth(3).hover()
    assert (chosen.all_text_contents(), seen.all_text_contents()) == ([spelled[3]], spelled[:3])
    page.page.hover("#input")
    assert chosen.count() == 0
    page.page.fill("#input", "")
    expect(page.page.locator("#window-note")).to_be_hidden()
    assert page.complaints == []


def test_what_the_word_of_a_chosen_piece_comes_from(browser: Browser, bundled_server: RunningServer) -> None:
    """By mouse and by arrow keys, behind a character that JavaScript counts as two."""
    page = Watched(browser)
    page.page.goto(bundled_server.url)
    page.page.fill("#input", "\U0001f600 Yes.\n\nThe house is very old.")
    expect(page.page.locator("#status")).to_contain_text("ms")
    origin, pieces = page.page.locator("#origin"), page.page.locator("#output .piece")
    assert page.page.locator("#output").text_content() == "\U0001f600 Ja.\n\nDas Haus ist sehr alt."
    page.page.locator("#output .piece", has_text="Haus").hover()
    expect(origin).to_have_text("Haus \u2190 house")
    page.page.locator("#count").hover()
    expect(origin).to_be_empty()
    page.page.focus("#output")
    received = []
    for _ in range(pieces.count()):
        page.page.keyboard.press("ArrowRight")
        received.append(origin.text_content())
    pairs = [
        "Ja \u2190 Yes",
        "Das \u2190 The",
        "Haus \u2190 house",
        "ist \u2190 is",
        "sehr \u2190 very",
        "alt \u2190 old",
    ]
    assert [text for text in dict.fromkeys(received) if text] == pairs
    assert received[-1] == "", "a full stop is no word"
    page.page.fill("#input", "")
    expect(origin).to_be_empty()
    assert page.complaints == []


def test_a_document_and_where_a_sentence_looked(browser: Browser, document_server: RunningServer) -> None:
    page = Watched(browser)
    page.page.goto(document_server.url)
    page.page.click("#tab-document")
    page.page.fill("#document-input", " ".join(SENTENCES[:5]))
    page.page.keyboard.press("Control+Enter")
    expect(page.page.locator("#document-status")).to_have_text("Done")
    rows = page.page.locator("#sentences li")
    assert rows.locator(".source").all_text_contents() == list(SENTENCES[:5])
    body = {"text": " ".join(SENTENCES[:5]), "source": "en", "target": "de", "wait": True}
    document = httpx.post(f"{document_server.url}/v1/documents", json=body, timeout=PATIENCE).json()
    translations = [sentence["translation"] for sentence in document["sentences"]]
    assert rows.locator(".translation").all_text_contents() == translations
    page.page.focus("#sentences li")
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.page.keyboard.press(key)
    expect(rows.nth(2)).to_have_attribute("aria-current", "true")
    expect(page.page.locator("#context-note")).to_contain_text("was its own")
    path = f"{document_server.url}/v1/documents/{document['id']}/sentences/2/context"
    seen = {item["index"]: item["weight"] for item in httpx.get(path).json()["sentences"]}
    shades = rows.evaluate_all("rows => rows.map((row) => Number(row.style.getPropertyValue('--weight')))")
    assert shades == pytest.approx([seen.get(index, 0) / max(seen.values()) for index in range(5)], abs=1e-3)
    page.page.keyboard.press("Escape")
    assert rows.evaluate_all("rows => rows.every((row) => !row.hasAttribute('aria-current'))")
    assert page.complaints == []


def test_languages_that_two_models_translate(browser: Browser, many: RunningServer) -> None:
    """Texts, documents and files; and back to a pair that one translates."""
    text = "Wo ist der Bahnhof?\n\n  Wir gehen nach Hause. Ja.\n"
    pair = {"source": "de", "target": "fr"}
    page = Watched(browser)
    page.page.goto(many.url)
    page.page.select_option("#source", "de")
    assert page.page.locator("#target option").all_text_contents() == ["English", "French"]
    page.page.select_option("#target", "fr")
    page.page.fill("#input", text)
    expect(page.page.locator("#status")).to_contain_text("ms, through English")
    answer = many.translate(text, **pair).json()["translations"][0]
    assert page.page.locator("#output").text_content() == answer["text"]
    received = [sentence["target"] for sentence in answer["sentences"]]
    assert page.page.locator("#output span").all_text_contents() == received
    expect(page.page.locator("#alternatives")).to_be_hidden()
    page.page.click("#tab-document")
    page.page.fill("#document-input", text)
    page.page.keyboard.press("Control+Enter")
    expect(page.page.locator("#context-note")).to_contain_text("Two models translated this, through English")
    body = {"text": text, **pair, "wait": True}
    made = httpx.post(f"{many.url}/v1/documents", json=body, timeout=PATIENCE).json()
    document_translations = [sentence["translation"] for sentence in made["sentences"]]
    assert page.page.locator("#sentences .translation").all_text_contents() == document_translations
    page.page.click("#sentences li >> nth=1")
    expect(page.page.locator("#context-note")).to_contain_text("each looked at sentences of its own")
    page.page.click("#tab-text")
    page.page.select_option("#target", "en")
    expect(page.page.locator("#status")).not_to_contain_text("through")
    expect(page.page.locator("#status")).to_contain_text("ms")
    assert page.complaints == []


def test_files_that_are_chosen_or_dropped(browser: Browser, document_server: RunningServer, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text(TEXT, encoding="utf-8")
    page = Watched(browser)
    page.page.goto(document_server.url)
    expect(page.page.locator("#source")).to_have_value("en")
    page.page.set_input_files("#file", tmp_path / "note.txt")
    with page.page.expect_download() as download:
        page.page.click("#files a")
    assert download.value.suggested_filename == "note.de.txt"
    form = {"source": "en", "target": "de"}
    with (tmp_path / "note.txt").open("rb") as file:
        plain = httpx.post(f"{document_server.url}/v1/files", data=form, files={"file": file}, timeout=PATIENCE)
    assert download.value.path().read_bytes() == plain.content
    drop = """() => {
      const data = new DataTransfer();
      data.items.add(new File(["?"], "strange.xyz"));
      dispatchEvent(new DragEvent("drop", {dataTransfer: data, cancelable: true}));
    }"""
    page.page.evaluate(drop)
    expect(page.page.locator("#files .bad")).to_contain_text(".docx")


@pytest.fixture
def gate(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A file has small batches; between its first and its second the engine makes no step before this is open."""
    gate, step, files = threading.Event(), Engine.step, server.state.file_jobs.files

    def gated(engine: Engine) -> None:
        rooms = list(files._reservations.values())
        if any(room.progress.done for room in rooms if room.outcome is None):
            assert gate.wait(PATIENCE)
        step(engine)

    monkeypatch.setattr(Engine, "step", gated)
    monkeypatch.setattr("server.documents.batches.BATCH_PIECES", 40)
    yield gate
    gate.set()


def test_a_bar_shows_how_far_a_file_is(
    browser: Browser, server: RunningServer, tmp_path: Path, gate: threading.Event
) -> None:
    (tmp_path / "long.txt").write_text("\n".join(SENTENCES[:8]), encoding="utf-8")
    page = Watched(browser)
    page.page.goto(server.url)
    expect(page.page.locator("#source")).to_have_value("en")
    page.page.set_input_files("#file", tmp_path / "long.txt")
    expect(page.page.locator("#files .state")).to_have_text(re.compile(r"\d+%, \d+ s left"))
    shown = float(page.page.locator("#files progress").get_attribute("value") or 0)
    assert 0 < shown < 1
    gate.set()
    expect(page.page.locator("#files a")).to_have_text("long.de.txt")
    expect(page.page.locator("#files progress")).to_have_count(0)
    assert page.complaints == []


def test_under_a_path_prefix(browser: Browser, tiny_artifact: Path, tmp_path: Path) -> None:
    with ready(settings_for(tiny_artifact, root_path="/mt")) as server:
        page = Watched(browser)
        page.page.goto(f"{server.url}/mt/")
        page.page.fill("#input", TEXT)
        expect(page.page.locator("#status")).to_contain_text("ms")
        assert page.page.locator("#output").text_content() == translated(server, TEXT)
        (tmp_path / "note.txt").write_text(TEXT, encoding="utf-8")
        page.page.set_input_files("#file", tmp_path / "note.txt")
        expect(page.page.locator("#files a")).to_have_text("note.de.txt")
        assert page.complaints == []


def test_a_key_where_one_is_needed(browser: Browser, document_artifact: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    secret, line = new_key("page", ("translate", "documents"))
    keys.write_text(line + "\n", encoding="utf-8")
    with ready(settings_for(document_artifact, api_keys=str(keys))) as server:
        page = Watched(browser)
        page.page.goto(server.url)
        expect(page.page.locator("#key")).to_be_focused()
        page.page.fill("#key", "another")
        page.page.keyboard.press("Enter")
        expect(page.page.locator("#notice")).to_contain_text("not known")
        page.page.fill("#key", secret)
        page.page.keyboard.press("Enter")
        expect(page.page.locator("#key-form")).to_be_hidden()
        page.page.fill("#input", "Yes.")
        expect(page.page.locator("#status")).to_contain_text("ms")


def test_copying_without_a_clipboard_and_a_beam_without_alternatives(browser: Browser, tiny_artifact: Path) -> None:
    with ready(settings_for(tiny_artifact, default_beam_size=1)) as server:
        page = Watched(browser)
        page.page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
        page.page.goto(server.url)
        page.page.fill("#input", "Where is the station?")
        expect(page.page.locator("#status")).to_contain_text("ms")
        assert page.page.locator("#output").text_content() == translated(server, "Where is the station?")
        expect(page.page.locator("#alternatives")).to_be_hidden()
        page.page.click("#copy")
        expect(page.page.locator("#copy")).to_have_text("Copied")
        page.page.fill("#input", "")
        page.page.focus("#input")
        page.page.keyboard.press("Control+V")
        expect(page.page.locator("#input")).to_have_value(translated(server, "Where is the station?"))


def test_an_error_is_shown(browser: Browser, document_server: RunningServer) -> None:
    page = Watched(browser)
    page.page.goto(document_server.url)
    page.page.fill("#input", "a" * 20_001)
    expect(page.page.locator("#notice")).to_contain_text("at most 20000")
    page.page.fill("#input", "Yes.")
    expect(page.page.locator("#notice")).to_be_hidden()


@pytest.mark.parametrize("tab", ["text", "document"])
def test_phones_and_the_dark(browser: Browser, document_server: RunningServer, tab: str) -> None:
    page = Watched(browser, 360, 700, "dark")
    page.page.goto(document_server.url)
    page.page.click(f"#tab-{tab}")
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 360
    red, green, blue = (
        int(part)
        for part in re.findall(r"\d+", page.page.evaluate("getComputedStyle(document.body).backgroundColor"))[:3]
    )
    assert max(red, green, blue) < 60
