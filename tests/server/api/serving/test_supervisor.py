"""A model whose engine hangs or ends: its own requests fail, it is restarted, and all other models go on."""

import contextlib
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.api.serving import supervisor
from server.engine import worker as worker_module
from server.engine.engine import Engine
from tests.server.api.conftest import PATIENCE, RunningServer, ready, settings_for, until
from tests.server.api.pairs import PAIRS, copy_of

TEXT = {"en": "We walk home.", "de": "Wir gehen nach Hause."}


class Fault:
    """What the engines of some models do in their next steps, until it is `over`: hang, or end their thread."""

    def __init__(self, names: set[str], kind: str = "hangs") -> None:
        self.names, self.kind = names, kind
        self.over = threading.Event()
        self.hanging: list[threading.Thread] = []

    def meet(self, engine: Engine) -> None:
        if self.over.is_set() or engine.backend.manifest.name not in self.names:
            return
        if self.kind == "ends":
            raise SystemExit  # no Exception: the thread ends without a word
        self.hanging.append(threading.current_thread())
        assert self.over.wait(PATIENCE)


@contextlib.contextmanager
def sick(models: Path, fault: Fault, **changes: Any) -> Iterator[RunningServer]:
    """A server of models, some of which fall sick as soon as they have something to do."""
    step = Engine.step

    def step_with_fault(engine: Engine) -> None:
        fault.meet(engine)
        step(engine)

    with pytest.MonkeyPatch.context() as patch:
        with ready(settings_for(models, drain_timeout=0.2, open_admin="on", **changes)) as server:
            patch.setattr(worker_module, "STUCK_AFTER", 1.5)
            patch.setattr(supervisor, "POLL_SECONDS", 0.05)
            patch.setattr(Engine, "step", step_with_fault)
            try:
                yield server
            finally:
                fault.over.set()
        for thread in fault.hanging:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a thread that hung ends when it comes back"


@pytest.fixture
def models(pairs: dict[str, Path], tmp_path: Path) -> Path:
    for name in ("en-de", "de-en"):
        copy_of(pairs[name], tmp_path / "models" / name)
    return tmp_path / "models"


def ask(server: RunningServer, name: str, **fields: object) -> httpx.Response:
    source, target = PAIRS[name]
    return server.translate(TEXT[source], source=source, target=target, **fields)


def state_of(server: RunningServer, name: str) -> tuple[str, str | None]:
    listed = httpx.get(f"{server.url}/v1/models", timeout=PATIENCE).json()["models"]
    return next((entry["state"], entry["reason"]) for entry in listed if entry["name"] == name)


def probes(server: RunningServer) -> tuple[int, int]:
    return tuple([httpx.get(f"{server.url}/{path}", timeout=PATIENCE).status_code for path in ("livez", "readyz")])  # type: ignore[return-value]


@pytest.mark.parametrize("kind", ["hangs", "ends"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_sick_model_answers_for_itself_and_comes_back(
    models: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "BACK_OFF_SECONDS", (0.5,) * 50)
    fault = Fault({"en-de"}, kind)
    with sick(models, fault) as server, ThreadPoolExecutor(8) as pool:
        before = ask(server, "de-en").json()["translations"]
        waiting = [pool.submit(ask, server, "en-de") for _ in range(4)]
        body = {"items": [{"source": "Yes.", "target": "Ja."}], "source": "en", "target": "de"}
        waiting.append(pool.submit(lambda: httpx.post(f"{server.url}/v1/score", json=body, timeout=PATIENCE)))
        # Those in flight are answered, long before their deadline: the hung thread still hangs.
        for answer in waiting:
            error = answer.result(PATIENCE)
            assert error.status_code == 503, error.text
            assert error.json()["error"]["type"] == "not_ready"
            assert "model 'en-de' is not available" in error.json()["error"]["message"]
        assert not fault.over.is_set()
        refused = ask(server, "en-de")
        assert (refused.status_code, "Retry-After" in refused.headers) == (503, True)
        assert state_of(server, "en-de")[0] == "restarting"
        assert server.metric("model_healthy", model="en-de") == server.metric("ready", model="en-de") == 0
        assert server.metric("model_healthy", model="de-en") == server.metric("ready", model="de-en") == 1
        # The others, and the process, are well.
        assert probes(server) == (200, 200)
        assert ask(server, "de-en").json()["translations"] == before
        assert state_of(server, "de-en") == ("ready", None)
        languages = httpx.get(f"{server.url}/v1/languages", timeout=PATIENCE)
        assert {language["source"] for language in languages.json()["languages"]} == {"en", "de"}
        fault.over.set()
        until(lambda: state_of(server, "en-de") == ("ready", None), "the model is started anew")
        assert ask(server, "en-de").status_code == 200
        assert server.metric("model_healthy", model="en-de") == 1
        assert server.metric("model_restarts_total", model="en-de") == 1
        assert server.metric("model_restarts_total", model="de-en") == 0


def test_a_model_whose_restarts_fail_gets_no_requests_until_it_is_loaded_again(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "BACK_OFF_SECONDS", (0.0, 0.0))
    fault = Fault({"en-de"})
    with sick(models, fault) as server:
        assert ask(server, "en-de").status_code == 503
        until(lambda: state_of(server, "en-de")[0] == "failed", "it was tried often enough")
        assert len(fault.hanging) == 3
        assert "restarts of its engine failed" in str(state_of(server, "en-de")[1])
        refused = ask(server, "en-de", model="en-de")
        assert refused.status_code == 503
        assert "load it again" in refused.json()["error"]["message"]
        assert statuses_of_all_dialects(server, "en", "de") == {503}
        listed = httpx.get(f"{server.url}/v1/languages", timeout=PATIENCE).json()["languages"]
        assert [sentence["source"] for sentence in listed] == ["de"]
        assert probes(server) == (200, 200)
        assert ask(server, "de-en").status_code == 200
        fault.names.clear()
        loaded = httpx.put(f"{server.url}/v1/models/en-de", timeout=PATIENCE)
        assert (loaded.status_code, loaded.json()["state"]) == (200, "ready")
        assert ask(server, "en-de").status_code == 200
        assert server.metric("model_healthy", model="en-de") == 1
        assert server.metric("slots", model="en-de") == 4


def statuses_of_all_dialects(server: RunningServer, source: str, target: str) -> set[int]:
    """What texts and files are answered with, in every API, whether their language is given or found."""
    text = TEXT[source]
    file = {"file": ("a.txt", text.encode())}
    deepl = {"target_lang": target.upper()}
    with server.client() as client:
        answers = [
            ask(server, f"{source}-{target}"),
            client.post("/v1/files", data={"source": source, "target": target}, files=file),
            client.post("/v1/documents", json={"text": text, "source": source, "target": target}),
            client.post("/translate", json={"q": text, "source": source, "target": target}),
            client.post("/translate", json={"q": text, "source": "auto", "target": target}),
            client.post("/translate_file", data={"source": source, "target": target}, files=file),
            client.post("/v2/translate", json={"text": [text], "source_lang": source.upper(), **deepl}),
            client.post("/v2/translate", json={"text": [text], **deepl}),
            client.post("/v2/document", data={"source_lang": source.upper(), **deepl}, files=file),
        ]
    return {answer.status_code for answer in answers}


def test_two_models_of_which_one_has_failed_are_not_available(
    pairs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "BACK_OFF_SECONDS", ())
    for name in ("de-en", "en-fr"):
        copy_of(pairs[name], tmp_path / "models" / name)
    with sick(tmp_path / "models", Fault({"en-fr"})) as server:
        assert server.translate(TEXT["en"], source="en", target="fr").status_code == 503
        until(lambda: state_of(server, "en-fr")[0] == "failed", "it was tried often enough")
        assert server.translate(TEXT["de"], source="de", target="fr").status_code == 503
        for language in ("de", "auto"):
            body = {"q": TEXT["de"], "source": language, "target": "fr"}
            assert httpx.post(f"{server.url}/translate", json=body, timeout=PATIENCE).status_code == 503
        listed = httpx.get(f"{server.url}/v1/languages", timeout=PATIENCE).json()["languages"]
        assert [(sentence["source"], sentence["targets"]) for sentence in listed] == [("de", ["en"])]


def test_the_process_is_at_fault_when_no_model_is_left(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "BACK_OFF_SECONDS", (0.5,))
    fault = Fault({"en-de", "de-en"})
    with sick(models, fault) as server, ThreadPoolExecutor(2) as pool:
        assert {answer.status_code for answer in pool.map(lambda name: ask(server, name), ("en-de", "de-en"))} == {503}
        until(lambda: probes(server)[1] == 503, "no model is well")
        until(lambda: probes(server) == (503, 503), "a restart of the process is all that is left")
        message = httpx.get(f"{server.url}/livez", timeout=PATIENCE).json()["error"]["message"]
        assert "model 'en-de'" in message
        assert "model 'de-en'" in message
        settings = httpx.get(f"{server.url}/frontend/settings", timeout=PATIENCE)
        assert settings.status_code == 503
        fault.names.clear()
        assert httpx.put(f"{server.url}/v1/models/de-en", timeout=PATIENCE).status_code == 200
        assert probes(server) == (200, 200)


def test_the_next_model_of_the_pair_serves(models: Path, pairs: dict[str, Path]) -> None:
    copy_of(pairs["en-de"], models / "other", name="other")
    fault = Fault({"en-de"})
    with sick(models, fault) as server:
        first = next(iter(server.state.translators))
        assert ask(server, "en-de", model="en-de").status_code == 503
        answer = ask(server, "en-de")
        assert (answer.status_code, answer.json()["model"]) == (200, "other")
        assert ask(server, "en-de", model="en-de").status_code == 503
        fault.over.set()
        until(lambda: state_of(server, "en-de")[0] == "ready", "it is started anew")
        assert ask(server, "en-de").json()["model"] == "en-de" == first or first != "en-de"


def test_documents_wait_for_a_sick_model(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "BACK_OFF_SECONDS", (0.5,) * 50)
    fault = Fault({"de-en"})
    body = {"source": "de", "target": "en", "sentences": [f"Wo ist der Bahnhof {n}?" for n in range(5)]}
    with sick(models, fault) as server, server.client() as client:
        kept = client.post("/v1/documents", json=body).json()["id"]
        until(lambda: state_of(server, "de-en")[0] == "restarting", "the model is sick")
        until(lambda: client.get(f"/v1/documents/{kept}").json()["state"] == "queued", "the document is given back")
        assert "the document waits: model 'de-en'" in client.get(f"/v1/documents/{kept}").json()["error"]
        assert client.post("/v1/documents", json=body).status_code == 503
        claims = server.metric("document_jobs_total", result="released", model="")
        assert claims <= 2, "it is not claimed again and again"
        other = {"source": "en", "target": "de", "sentences": ["Yes."], "wait": True}
        assert client.post("/v1/documents", json=other).json()["state"] == "done"
        fault.over.set()
        until(lambda: client.get(f"/v1/documents/{kept}").json()["state"] == "done", "it is translated")
        assert json.loads(client.get(f"/v1/documents/{kept}").text).get("error") is None


def test_a_pivot_goes_by_models_that_are_well(pairs: dict[str, Path], tmp_path: Path) -> None:
    """From "de" to "fr" through "en", or through "nl" while "de-en" is sick."""
    folder = tmp_path / "models"
    copy_of(pairs["de-en"], folder / "de-en")
    copy_of(pairs["en-fr"], folder / "en-fr")
    copy_of(pairs["de-en"], folder / "de-nl", name="de-nl", target_language="nl")
    copy_of(pairs["en-fr"], folder / "nl-fr", name="nl-fr", source_language="nl")
    fault = Fault({"de-en"})
    with sick(folder, fault) as server:
        assert ask(server, "de-en").status_code == 503
        answer = server.translate(TEXT["de"], source="de", target="fr")
        assert answer.status_code == 200, answer.text
        assert (answer.json()["model"], server.state.routes.pivot_language("de", "fr")) == ("nl-fr", "nl")
        fault.over.set()
        until(lambda: state_of(server, "de-en")[0] == "ready", "it is started anew")
        assert server.state.routes.pivot_language("de", "fr") == "en"


def test_a_process_that_was_stopped_as_a_whole_accuses_no_model(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever holds the loop, the interpreter or the process holds the engines, too."""
    with sick(models, Fault(set())) as server:
        assert ask(server, "en-de").status_code == 200
        [loop] = {id(item.get_loop()): item.get_loop() for item in server.uvicorn.servers}.values()
        worker = server.state.translators["en-de"].worker

        def hold() -> None:
            """The loop comes back after the engines were silent for long."""
            threading.Event().wait(worker_module.STUCK_AFTER)
            for engine in worker._threads:
                engine.heartbeat -= 60

        loop.call_soon_threadsafe(hold)
        assert probes(server) == (200, 200)
        until(lambda: not worker.is_stuck, "the engine shows that it lives")
        assert state_of(server, "en-de") == ("ready", None)
        assert server.metric("model_restarts_total", model="en-de") == 0


def test_restarts_are_forgiven_after_a_time_unless_threads_still_hang() -> None:
    over = threading.Event()
    hanging, ended = threading.Thread(target=over.wait), threading.Thread(target=lambda: None)
    for thread in (hanging, ended):
        thread.start()
    ended.join()
    later = supervisor.FORGIVEN_AFTER
    try:
        record = supervisor._Record([(0.0, ()), (0.0, (ended,)), (0.0, (ended, hanging)), (1.0, ())])
        assert record.count(later - 1.0) == 4
        assert record.count(later) == 2  # the one that hangs, and the last
        assert record.count(later + 1.0) == 1
    finally:
        over.set()
        hanging.join()
    assert record.count(later + 1.0) == 0
