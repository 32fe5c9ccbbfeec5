"""Files: chosen or dropped, their bar, and what comes back."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from server.engine.engine import Engine
from tests.models import SENTENCES
from tests.server.api.conftest import PATIENCE, RunningServer
from tests.server.api.operations.page.visitor import Visitor

TEXT = "We walk home in the rain.\n\nWhere is the station?\n"
DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  for (const kind of ["dragenter", "drop"]) dispatchEvent(new DragEvent(kind, {dataTransfer: data, cancelable: true}));
}"""

ASKED = """() => {
  const field = document.getElementById("file");
  field.addEventListener("click", (event) => { event.preventDefault(); field.dataset.asked = "yes"; });
}"""
"""The browser's window to choose a file stays away; that it would come is written down."""


def test_a_dropped_file_comes_back(browser: Browser, both_ways: RunningServer, tmp_path: Path) -> None:
    """Whatever language it is in; flags are shown."""
    visitor = Visitor(browser, both_ways)
    visitor.page.select_option("#target", "de")
    visitor.page.evaluate(DROP, ["note.txt", f"{TEXT}La la la la la la la la la la la la.\n"])
    expect(visitor.at("#tab-files")).to_have_attribute("aria-selected", "true")
    expect(visitor.at("#drop")).to_be_hidden()
    with visitor.page.expect_download() as download:
        visitor.page.click("#files a")
    assert download.value.suggested_filename == "note.de.txt"
    expect(visitor.at("#files .pair")).to_have_text("English \u2192 German")
    expect(visitor.at("#files .remark")).to_have_text("Please check 1 sentence: repeats itself")
    visitor.page.click("#files summary")
    expect(visitor.at("#files .doubtful li")).to_contain_text("La la la")
    file = {"file": ("note.txt", f"{TEXT}La la la la la la la la la la la la.\n")}
    form = {"source": "en", "target": "de"}
    plain = httpx.post(f"{both_ways.url}/v1/files", data=form, files=file, timeout=PATIENCE)
    assert download.value.path().read_bytes() == plain.content
    assert visitor.complaints == []


@pytest.mark.parametrize(
    ("name", "text", "expected_message"),
    [
        ("strange.xyz", "?", ".docx"),
        ("note.txt", "Das Haus ist sehr alt und sehr groß.", "The file is already in German (de)"),
        (
            "note.txt",
            "Bonjour, je voudrais un café avec du lait s'il vous plaît.",
            "in French (fr), which is not served",
        ),
    ],
)
def test_files_that_are_not_translated(
    browser: Browser, both_ways: RunningServer, name: str, text: str, expected_message: str
) -> None:
    visitor = Visitor(browser, both_ways)
    visitor.page.select_option("#target", "de")
    visitor.page.evaluate(DROP, [name, text])
    expect(visitor.at("#files .bad")).to_contain_text(expected_message)


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


def test_a_bar_shows_how_far_a_chosen_file_is(
    browser: Browser, server: RunningServer, tmp_path: Path, gate: threading.Event
) -> None:
    (tmp_path / "long.txt").write_text("\n".join(SENTENCES[:8]), encoding="utf-8")
    visitor = Visitor(browser, server)
    visitor.page.select_option("#source", "en")
    visitor.page.click("#tab-files")
    expect(visitor.at("#choose")).to_be_focused()
    visitor.page.evaluate(ASKED)
    visitor.press("Enter")
    expect(visitor.at("#file")).to_have_attribute("data-asked", "yes")
    visitor.page.set_input_files("#file", tmp_path / "long.txt")
    expect(visitor.at("#files .state")).to_have_text(re.compile(r"\d+%, \d+ s left"))
    shown = float(visitor.at("#files progress").get_attribute("value") or 0)
    assert 0 < shown < 1
    gate.set()
    expect(visitor.at("#files a")).to_have_text("long.de.txt")
    expect(visitor.at("#files progress")).to_have_count(0)
    assert visitor.complaints == []
