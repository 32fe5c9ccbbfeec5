"""Several models of one server: loaded side by side, and ready together."""

import json
import shutil
import threading
from pathlib import Path

import pytest

from server.artifact.manifest import MANIFEST
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from server.translation.translator import Translator
from tests.server.api.conftest import PATIENCE, running, settings_for, until

load = Translator.load


@pytest.fixture
def second(tiny_artifact: Path, tmp_path: Path) -> Path:
    """The tiny artifact under another name."""
    folder = tmp_path / "second"
    shutil.copytree(tiny_artifact, folder)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    (folder / MANIFEST).write_text(json.dumps({**manifest, "name": "second"}), encoding="utf-8")
    return folder


def engine_threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("engine-second")}


def test_two_models_load_at_the_same_time_and_keep_their_order(
    tiny_artifact: Path, second: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2)

    def meeting(folder: Path, settings: EngineSettings, metrics: Metrics) -> Translator:
        both.wait(PATIENCE)
        return load(folder, settings, metrics)

    monkeypatch.setattr(Translator, "load", meeting)
    with running(settings_for(second, models=(second, tiny_artifact))) as server:
        until(lambda: server.state.why_not_ready is None, "both are loaded")
        assert list(server.state.translators) == ["second", "tiny"]


def test_a_server_is_ready_when_its_last_model_is(
    tiny_artifact: Path, second: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_is_there, may_go_on = threading.Event(), threading.Event()

    def slow(folder: Path, settings: EngineSettings, metrics: Metrics) -> Translator:
        if folder == second:
            assert may_go_on.wait(PATIENCE)
            return load(folder, settings, metrics)
        translator = load(folder, settings, metrics)
        first_is_there.set()
        return translator

    monkeypatch.setattr(Translator, "load", slow)
    with running(settings_for(second, models=(second, tiny_artifact))) as server, server.client() as client:
        assert first_is_there.wait(PATIENCE)
        assert client.get("/readyz").status_code == 503
        assert server.translate("Yes.").status_code == 503
        may_go_on.set()
        until(lambda: client.get("/readyz").status_code == 200, "it is ready")


def test_a_model_that_cannot_be_loaded_leaves_no_other_running(tiny_artifact: Path, second: Path) -> None:
    broken = second.parent / "broken"
    shutil.copytree(tiny_artifact, broken)
    manifest = json.loads((broken / MANIFEST).read_text(encoding="utf-8"))
    (broken / MANIFEST).write_text(json.dumps({**manifest, "name": "broken"}), encoding="utf-8")
    (broken / manifest["vocabulary_file"]).write_bytes(b"damaged")
    with running(settings_for(second, models=(second, broken))) as server:
        until(lambda: server.state.failure is not None, "it has failed")
        assert "broken" in str(server.state.failure)
    assert engine_threads() == set()
