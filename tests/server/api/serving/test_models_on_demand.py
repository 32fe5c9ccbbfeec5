"""Models that are loaded for their first request, and unloaded for others."""

import dataclasses
import random
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from server.api.serving.model_registry import LOADED_AT_START
from server.api.serving.models_on_demand import ModelsOnDemand, model_bytes
from server.settings import Settings
from server.telemetry.metrics import Metrics
from server.translation.loaded_model import LoadedModel
from server.translation.translator import Translator
from tests.server.api.conftest import RunningServer, ready, settings_for, until
from tests.server.api.pairs import copy_of

LANGUAGES = ("ar", "bg", "cs", "da", "el", "es", "fi", "fr", "hu", "it")
"""Targets of models from English."""
TEXT = "Where is the station?"


@pytest.fixture(scope="module")
def folder(tiny_artifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More models than a server loads at its start."""
    made = tmp_path_factory.mktemp("many")
    for target in LANGUAGES:
        copy_of(tiny_artifact, made / f"en-{target}", name=f"en-{target}", source_language="en", target_language=target)
    assert len(LANGUAGES) > LOADED_AT_START
    return made


@pytest.fixture
def settings(folder: Path) -> Settings:
    return settings_for(folder, open_admin="on")


def room_for(count: float, folder: Path, settings: Settings) -> Settings:
    """With memory for so many models."""
    one_model = model_bytes(Translator.unloaded(folder / "en-ar", settings.engine, Metrics()))
    return dataclasses.replace(settings, max_model_memory=int(count * one_model))


@pytest.fixture(autouse=True)
def _engines_end() -> Iterator[None]:
    before = {*threading.enumerate()}

    def running() -> set[threading.Thread]:
        return {thread for thread in {*threading.enumerate()} - before if thread.name.startswith("engine-")}

    yield
    until(lambda: not running(), "engines end")


def loaded(server: RunningServer) -> set[str]:
    return {name for name, model in server.state.translators.items() if model.is_loaded}


def test_a_model_is_loaded_for_its_first_request(settings: Settings) -> None:
    with ready(settings) as server, server.client() as client:
        assert client.get("/readyz").status_code == 200
        assert {model["state"] for model in client.get("/v1/models").json()["models"]} == {"unloaded"}
        assert client.get("/v1/languages").json()["languages"] == [{"source": "en", "targets": list(LANGUAGES)}]
        assert server.metric("ready", model="en-fi") == 1
        assert server.metric("model_loaded", model="en-fi") == 0
        answer = server.translate(TEXT, target="fi").json()
        assert answer["model"] == "en-fi"
        assert loaded(server) == {"en-fi"}
        assert server.metric("model_loaded", model="en-fi") == 1
        states = {model["name"]: model["state"] for model in client.get("/v1/models").json()["models"]}
        assert states.pop("en-fi") == "ready"
        assert set(states.values()) == {"unloaded"}


def test_requests_for_one_model_wait_for_one_load(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    all_wait, load = threading.Event(), Translator.load_unloaded

    def counting(translator: Translator) -> LoadedModel:
        loads.append(translator.name)
        assert all_wait.wait(60)
        return load(translator)

    monkeypatch.setattr(Translator, "load_unloaded", counting)
    with ready(settings) as server, ThreadPoolExecutor(6) as threads:
        model = server.state.translators["en-fr"]
        answers = [threads.submit(server.translate, TEXT, target="fr") for _ in range(6)]
        until(lambda: model.users.count == 6, "all requests wait")
        with server.client(within=0.2) as client:  # a model that loads delays no other request, nor outlasts a deadline
            assert client.get("/livez").status_code == 200
            late = client.post("/v1/translate", json={"text": TEXT, "source": "en", "target": "fr"})
        assert late.status_code == 504
        all_wait.set()
        assert {answer.result().status_code for answer in answers} == {200}
        assert loads == ["en-fr"]


def test_the_model_that_was_used_least_recently_leaves_memory(folder: Path, settings: Settings) -> None:
    with ready(room_for(2.5, folder, settings)) as server:
        for target, expected in (("ar", "ar"), ("bg", "ar bg"), ("ar", "ar bg"), ("cs", "ar cs"), ("bg", "bg cs")):
            assert server.translate(TEXT, target=target).status_code == 200
            assert loaded(server) == {f"en-{name}" for name in expected.split()}
        engines = {thread.name.rsplit("-", 1)[0] for thread in threading.enumerate()}
        assert engines >= {"engine-en-bg", "engine-en-cs"}
        assert "engine-en-ar" not in engines
        assert server.metric("model_loaded", model="en-ar") == 0
        assert server.metric("model_healthy", model="en-ar") == 1


def test_a_model_in_use_stays(folder: Path, settings: Settings) -> None:
    with ready(room_for(1.5, folder, settings)) as server, ThreadPoolExecutor(1) as thread:
        assert server.translate(TEXT, target="ar").status_code == 200
        first, second = server.state.translators["en-ar"], server.state.translators["en-bg"]
        first.users.acquire()
        with server.client(within=0.3) as client:
            late = client.post("/v1/translate", json={"text": TEXT, "source": "en", "target": "bg"})
        assert late.status_code == 504
        assert loaded(server) == {"en-ar"}
        answer = thread.submit(server.translate, TEXT, target="bg")
        until(lambda: second.users.count > 0, "the second request waits")
        assert first.is_loaded
        first.users.release()
        assert answer.result().status_code == 200
        assert loaded(server) == {"en-bg"}


def test_models_in_any_order_stay_within_their_memory(folder: Path, settings: Settings) -> None:
    limited = room_for(3.2, folder, settings)
    with ready(limited) as server, ThreadPoolExecutor(6) as threads:
        sizes: list[int] = []

        def ask(seed: int) -> None:
            target = random.Random(seed).choice(LANGUAGES)
            answer = server.translate(TEXT, target=target).json()
            sizes.append(sum(model_bytes(model) for model in server.state.translators.values() if model.is_loaded))
            assert answer["model"] == f"en-{target}"
            assert answer["translations"][0]["text"]

        list(threads.map(ask, range(24)))
        assert max(sizes) <= limited.max_model_memory


def test_one_damaged_model_is_one_damaged_model(folder: Path, tmp_path: Path) -> None:
    broken = copy_of(folder / "en-fr", tmp_path / "broken", name="broken", target_language="xx")
    whole = copy_of(folder / "en-fr", tmp_path / "whole", name="whole")
    weights = next(path for path in broken.iterdir() if path.name.startswith("step"))
    weights.write_bytes(b"damaged")
    with ready(settings_for(tmp_path, load_models="demand", open_admin="on")) as server, server.client() as client:
        for _ in range(2):
            answer = server.translate(TEXT, target="xx")
            assert answer.status_code == 503
            assert weights.name in answer.json()["error"]["message"]
        assert server.translate(TEXT, target="fr").status_code == 200
        models = {model["name"]: model for model in client.get("/v1/models").json()["models"]}
        assert (models["broken"]["state"], models["whole"]["state"]) == ("failed", "ready")
        weights.write_bytes((whole / weights.name).read_bytes())
        assert client.put("/v1/models/broken").status_code == 200
        assert server.translate(TEXT, target="xx").status_code == 200


def test_a_model_that_changed_on_the_disk_is_not_loaded_unasked(folder: Path, tmp_path: Path) -> None:
    copied = copy_of(folder / "en-fr", tmp_path / "en-fr")
    with ready(settings_for(tmp_path, load_models="demand", open_admin="on")) as server, server.client() as client:
        copy_of(copied, tmp_path / "new", variant="another")
        (copied / "manifest.json").write_bytes((tmp_path / "new" / "manifest.json").read_bytes())
        answer = server.translate(TEXT, target="fr")
        assert answer.status_code == 503
        assert "PUT /v1/models/en-fr" in answer.json()["error"]["message"]
        assert client.put("/v1/models/en-fr", params={"folder": "en-fr"}).status_code == 200
        assert server.translate(TEXT, target="fr").status_code == 200


def test_two_models_that_never_fit_together_are_refused(folder: Path, tmp_path: Path, settings: Settings) -> None:
    copy_of(folder / "en-fr", tmp_path / "en-fr")
    copy_of(folder / "en-fr", tmp_path / "de-en", name="de-en", source_language="de", target_language="en")
    limited = dataclasses.replace(room_for(1.5, folder, settings), models=(tmp_path,))
    with ready(limited) as server:
        answer = server.translate(TEXT, source="de", target="fr")
        assert answer.status_code == 503
        assert "max_model_memory" in answer.json()["error"]["message"]
        assert server.translate(TEXT, source="en", target="fr").status_code == 200
        assert server.translate(TEXT, source="de", target="en").status_code == 200


def test_requests_with_two_models_do_not_wait_for_each_other(
    folder: Path, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two models fit. Each of two requests has one of its models in memory, and none of them may wait for the other's
    to leave it."""
    for name in ("en-fr", "en-fi"):
        copy_of(folder / name, tmp_path / name)
    for source in ("de", "nl"):
        name = f"{source}-en"
        copy_of(folder / "en-fr", tmp_path / name, name=name, source_language=source, target_language="en")
    limited = dataclasses.replace(
        room_for(2.2, folder, settings), models=(tmp_path,), load_models="demand", request_timeout=60.0
    )
    with ready(limited) as server, ThreadPoolExecutor(4) as threads:
        for source in ("de", "nl"):
            assert server.translate(TEXT, source=source, target="en").status_code == 200
        assert loaded(server) == {"de-en", "nl-en"}
        pairs = [("de", "fr"), ("nl", "fi"), ("de", "fi"), ("nl", "fr")]
        answers = [threads.submit(server.translate, TEXT, source=source, target=target) for source, target in pairs]
        assert [answer.result().status_code for answer in answers] == [200] * len(pairs)
        assert not any(server.state.translators.on_demand._waiting.values())


def test_the_two_models_of_a_document_are_loaded_together(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other, the first would be kept in memory for a request that waits for room for the second."""
    copy_of(folder / "en-fr", tmp_path / "en-fr")
    copy_of(folder / "en-fr", tmp_path / "de-en", name="de-en", source_language="de", target_language="en")
    loads: list[list[str]] = []
    load = ModelsOnDemand.load

    async def recorded(on_demand: ModelsOnDemand, models: Sequence[Translator]) -> None:
        loads.append([model.name for model in models])
        await load(on_demand, models)

    monkeypatch.setattr(ModelsOnDemand, "load", recorded)
    with ready(settings_for(tmp_path, load_models="demand")) as server, server.client() as client:
        body = {"sentences": [TEXT], "source": "de", "target": "fr", "mode": "online", "wait": True}
        created = client.post("/v1/documents", json=body).json()["id"]
        loads.clear()
        assert client.post(f"/v1/documents/{created}/sentences", json={"sentences": ["No."]}).is_success
    assert loads == [["de-en", "en-fr"]]


@pytest.mark.parametrize("load_models", ["background", "start"])
def test_models_are_loaded_without_a_request(load_models: str, folder: Path, tmp_path: Path) -> None:
    for target in ("ar", "bg"):
        copy_of(folder / f"en-{target}", tmp_path / f"en-{target}")
    with ready(settings_for(tmp_path, load_models=load_models)) as server:
        until(lambda: loaded(server) == {"en-ar", "en-bg"}, "both are loaded")


def test_the_background_fills_the_memory_and_no_more(folder: Path, settings: Settings) -> None:
    limited = dataclasses.replace(room_for(2.5, folder, settings), load_models="background")
    with ready(limited) as server:
        until(lambda: len(loaded(server)) == 2, "two are loaded")
        assert server.translate(TEXT, target="it").status_code == 200
        assert len(loaded(server)) == 2


def test_a_model_that_an_administrator_loads_takes_the_place_of_others(folder: Path, settings: Settings) -> None:
    with ready(room_for(1.5, folder, settings)) as server, server.client() as client:
        assert server.translate(TEXT, target="ar").status_code == 200
        assert client.put("/v1/models/en-bg").status_code == 200
        assert loaded(server) == {"en-bg"}


def test_a_server_that_stops_begins_no_load(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    load, begun = Translator.load_unloaded, threading.Event()

    def waiting(translator: Translator) -> LoadedModel:
        loads.append(translator.name)
        begun.set()
        until(lambda: server.state.drain.is_running, "the server stops")
        return load(translator)

    monkeypatch.setattr(Translator, "load_unloaded", waiting)
    with ready(dataclasses.replace(settings, load_models="background", drain_timeout=60)) as server:
        assert begun.wait(60)
    assert loads == ["en-ar"]


def test_documents_load_their_models(folder: Path, settings: Settings) -> None:
    limited = room_for(1.5, folder, settings)
    with ready(limited) as server, server.client() as client:
        document = {"sentences": [TEXT, "Yes."], "source": "en", "target": "fi", "mode": "online"}
        answer = client.post("/v1/documents", json=document).json()
        until(lambda: client.get(f"/v1/documents/{answer['id']}").json()["state"] == "done", "it is translated")
        assert server.translate(TEXT, target="hu").status_code == 200
        assert loaded(server) == {"en-hu"}
        path = f"/v1/documents/{answer['id']}/sentences"
        appended = client.post(path, json={"sentences": ["No."]})
        assert appended.status_code in (200, 201), appended.text
        assert loaded(server) == {"en-fi"}
