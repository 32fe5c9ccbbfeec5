"""The README says what is true: paths, settings, targets and its example."""

import asyncio
import json
import re
from pathlib import Path

import httpx

from server.metrics import Metrics
from server.settings import BUNDLED_MODELS, EngineSettings, Settings
from server.translator import TranslationOptions, Translator
from tests.server.api.conftest import running, until

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_path_in_the_file_map_exists() -> None:
    table = README.split("## Where things are")[1].split("\n## ")[0]
    paths = re.findall(r"`([^`]+)`", table)
    assert len(paths) > 12
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_settings_table_is_the_settings() -> None:
    table = README.split("## Settings")[1].split("\n## ")[0]
    rows = [
        tuple(cell.strip(" `") for cell in line.strip("| ").split(" | "))
        for line in table.splitlines()
        if "`--" in line
    ]
    assert rows == Settings.describe()


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    named = set(re.findall(r"\bmake ([a-z]+)", README))
    assert {"serve", "test", "check", "image", "loadtest"} <= named <= targets


def test_the_example_is_what_the_bundled_model_says() -> None:
    body = json.loads(re.search(r"-d '(\{.*?\})'", README)[1])  # type: ignore[index]
    answer = re.search(r'"translations": \[\{"text": "(.*?)"', README)[1]  # type: ignore[index]
    translator = Translator.load(BUNDLED_MODELS / "en-de", EngineSettings(num_workers=1), Metrics())
    try:
        assert translator.languages == (body["source"], body["target"])
        outcome = asyncio.run(translator.translate([body["text"]], TranslationOptions()))
    finally:
        translator.stop(timeout=5)
    assert outcome.translations[0].text == answer


def test_the_document_example_is_answered_as_said() -> None:
    body = json.loads(re.findall(r"-d '(\{.*?\})'", README)[1])
    with running(Settings(engine=EngineSettings(num_workers=1), port=0, log_level="error")) as server:
        until(lambda: server.state.why_not_ready is None, "the model is loaded")
        answer = httpx.post(f"{server.url}/v1/documents", json=body, timeout=60).json()
    assert (answer["state"], answer["context"]) == ("done", True)
    assert [one["translation"] for one in answer["sentences"]] == ["Der Zug kommt zu spät.", "Wir warten darauf."]


def test_it_stays_short() -> None:
    assert len(README.splitlines()) < 164
