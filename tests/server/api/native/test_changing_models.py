"""Models are loaded, replaced and unloaded while a real server works: no request is lost, and each is answered by its
own model."""

import contextlib
import json
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from server.engine.worker import EngineWorker
from server.keys.record import Scope
from server.telemetry.metrics import Metrics
from server.translation.translator import Translator
from tests.api_keys import new_key
from tests.server.api.conftest import PATIENCE, RunningServer, ready, settings_for, until
from tests.server.api.pairs import PAIRS, copy_of, write_pair

ENGLISH = "Where is the station? She sells bread and milk."
LONG = "".join(f"We walk home in the rain, and where is the station {n}?\n" for n in range(60))


@pytest.fixture(scope="session")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another model named "en-de"."""
    return write_pair(tmp_path_factory.mktemp("other"), "en-de", PAIRS["en-de"], seed=7)


@pytest.fixture
def models(pairs: dict[str, Path], tmp_path: Path) -> Path:
    """A folder of "en-de" and "de-en"; "en-fr" lies beside it."""
    for name in ("en-de", "de-en"):
        copy_of(pairs[name], tmp_path / "models" / name)
    return tmp_path / "models"


@contextlib.contextmanager
def opened(models: Path) -> Iterator[RunningServer]:
    with ready(settings_for(models, open_admin="on")) as server:
        yield server


def put_there(artifact: Path, folder: Path) -> None:
    """In place of what is there: a model that is served may still read the old files."""
    if folder.exists():
        folder.rename(folder.with_name(f".old-{len(list(folder.parent.iterdir()))}"))
    copy_of(artifact, folder)


def load(server: RunningServer, name: str, **query: str) -> httpx.Response:
    with server.client() as client:
        return client.put(f"/v1/models/{name}", params=query)


def unload(server: RunningServer, name: str) -> httpx.Response:
    with server.client() as client:
        return client.delete(f"/v1/models/{name}")


def served(server: RunningServer) -> dict[str, str]:
    with server.client() as client:
        return {model["name"]: model["fingerprint"] for model in client.get("/v1/models").json()["models"]}


def translated(server: RunningServer, text: str, name: str = "en-de") -> str:
    source, target = PAIRS[name]
    answer = server.translate(text, source=source, target=target)
    assert answer.status_code == 200, answer.text
    assert answer.json()["model"] == name
    result: str = answer.json()["translations"][0]["text"]
    return result


def alone(artifact: Path, *texts: str) -> list[str]:
    """A model's own translations."""
    translator = Translator.load(artifact, settings_for(artifact).engine, Metrics())
    try:
        return [translator.submit_text(text, translator.options()).wait().text for text in texts]
    finally:
        translator.stop(timeout=0)


def test_a_model_comes_is_replaced_and_goes(models: Path, pairs: dict[str, Path], other: Path) -> None:
    with opened(models) as server:
        assert served(server).keys() == {"en-de", "de-en"}
        put_there(pairs["en-fr"], models / "french" / "first")
        came = load(server, "en-fr")
        assert (came.status_code, came.json()["target"]) == (201, "fr")
        assert translated(server, ENGLISH, "en-fr") == alone(pairs["en-fr"], ENGLISH)[0]
        before = translated(server, ENGLISH)
        put_there(other, models / "en-de")
        assert translated(server, ENGLISH) == before
        assert load(server, "en-de").status_code == 200
        assert translated(server, ENGLISH) == alone(other, ENGLISH)[0] != before
        assert list(served(server)) == ["de-en", "en-de", "en-fr"]
        assert unload(server, "en-fr").status_code == 204
        assert unload(server, "en-fr").status_code == 404
        gone = server.translate(ENGLISH, target="fr")
        assert (gone.status_code, gone.json()["error"]["param"]) == (422, "target")
        assert unload(server, "de-en").status_code == 204
        last = unload(server, "en-de")
        assert (last.status_code, last.json()["error"]["type"]) == (409, "conflict")
        assert translated(server, ENGLISH) == alone(other, ENGLISH)[0]


def test_only_what_is_in_the_models_folder_is_loaded(models: Path, pairs: dict[str, Path], other: Path) -> None:
    copy_of(pairs["en-fr"], models.parent / "en-fr")
    with opened(models) as server, server.client() as client:
        for name in ("en-fr", "..%2Fen-fr", "%2E%2E%2Fen-fr", str(models.parent / "en-fr").replace("/", "%2F")):
            assert client.put(f"/v1/models/{name}").status_code == 404, name
        for place in ("../en-fr", str(models.parent / "en-fr"), "en-de/../../en-fr", "", ".", "en-de/", "\0"):
            refused = load(server, "en-fr", folder=place)
            assert (refused.status_code, refused.json()["error"]["type"]) == (404, "not_found"), place
        assert "did you mean 'en-de'" in load(server, "en-da").json()["error"]["message"]
        assert load(server, "en-de", folder="de-en").status_code == 404
        put_there(other, models / "second" / "en-de")
        several = load(server, "en-de")
        assert several.status_code == 422
        assert "at en-de, second/en-de: say which with 'folder'" in several.json()["error"]["message"]
        assert load(server, "en-de", folder="second/en-de").status_code == 200
        assert translated(server, ENGLISH) == alone(other, ENGLISH)[0]
        assert load(server, "en-de", place="en-de").status_code == 422


def cut_short(folder: Path) -> None:
    graph = next(folder.glob("step*.onnx"))
    graph.write_bytes(graph.read_bytes()[:-100])


def newer_format(folder: Path) -> None:
    copied = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(copied | {"format": 99}))


def half_a_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text((folder / "manifest.json").read_text()[:100])


DAMAGE = {
    "is not the file that was exported (its hash differs)": cut_short,
    "format 99, this server reads": newer_format,
    "is not a manifest": half_a_manifest,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_load_that_fails_changes_nothing_and_says_why(
    models: Path, pairs: dict[str, Path], other: Path, damage: str
) -> None:
    with opened(models) as server:
        before, text = served(server), translated(server, ENGLISH)
        for artifact, name in ((other, "en-de"), (pairs["en-fr"], "en-fr")):
            put_there(artifact, models / name)
            DAMAGE[damage](models / name)
            failed = load(server, name)
            assert (failed.status_code, failed.json()["error"]["type"]) == (422, "invalid_value")
            assert damage in failed.json()["error"]["message"]
            assert str(models / name) in failed.json()["error"]["message"]
        assert served(server) == before
        assert translated(server, ENGLISH) == text
        assert server.metric("slots", model="en-de") == 4
        assert 'model="en-fr"' not in server.state.metrics.exposition().decode()


def test_steady_traffic_loses_nothing(models: Path, pairs: dict[str, Path], other: Path) -> None:
    """Several clients translate all the time. After a replacement was answered, no client is answered by the old
    model."""
    texts = [f"{ENGLISH} We walk home {n}." for n in range(4)]
    expected = {
        "old": alone(pairs["en-de"], *texts),
        "new": alone(other, *texts),
        "back": alone(pairs["de-en"], *texts),
    }
    assert not set(expected["old"]) & set(expected["new"])
    over, is_new = threading.Event(), threading.Event()
    counts: list[int] = []

    def traffic(server: RunningServer, name: str) -> None:
        count = 0
        with server.client() as client:
            while not over.is_set() or count < 5:
                source, target = PAIRS[name]
                was_new, body = is_new.is_set(), {"text": texts, "source": source, "target": target}
                answer = client.post("/v1/translate", json=body)
                assert answer.status_code == 200, answer.text
                actual = [translation["text"] for translation in answer.json()["translations"]]
                fitting = [expected["new"]] if was_new else [expected["old"], expected["new"]]
                assert actual in (fitting if name == "en-de" else [expected["back"]])
                count += 1
        counts.append(count)

    with opened(models) as server, ThreadPoolExecutor(6) as pool:
        clients = [pool.submit(traffic, server, name) for name in ("en-de", "en-de", "en-de", "de-en")]
        try:
            for _ in range(3):
                assert load(server, "en-de").status_code == 200
                put_there(pairs["en-fr"], models / "en-fr")
                assert load(server, "en-fr").status_code == 201
                source, target = PAIRS["en-fr"]
                long = pool.submit(server.translate, LONG, source=source, target=target)
                until(lambda: server.metric("running_sentences", model="en-fr") > 0, "the request is being worked on")
                assert unload(server, "en-fr").status_code == 204
                assert "en-fr" not in served(server)
                answer = long.result(PATIENCE)
                assert answer.status_code == 200
                assert len(answer.json()["translations"][0]["sentences"]) == 60
            put_there(other, models / "en-de")
            assert load(server, "en-de").status_code == 200
            is_new.set()
            assert load(server, "en-de").status_code == 200
        finally:
            over.set()
        for client in clients:
            client.result(PATIENCE)
        assert len(counts) == 4


def test_memory_of_an_unloaded_model_is_given_back(models: Path) -> None:
    others = set(threading.enumerate())
    with opened(models) as server:
        translated(server, ENGLISH)
        translated(server, ENGLISH, "de-en")
        old = server.state.translators["de-en"]
        engine = old.worker._engines[0]
        graphs = [weakref.ref(item) for item in (old, old.worker, engine, engine.backend)]
        del old, engine
        assert unload(server, "de-en").status_code == 204
        until(lambda: not any(graph() for graph in graphs), "nothing of the model is left")
        left = set(threading.enumerate()) - others
        assert not [thread for thread in left if thread.name.startswith("engine-de-en")]


def test_loading_blocks_no_request_and_survives_its_client(
    models: Path, pairs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on, warm_up = threading.Event(), EngineWorker.warm_up

    def late(worker: EngineWorker) -> None:
        assert may_go_on.wait(PATIENCE)
        warm_up(worker)

    with opened(models) as server, server.client() as client:
        copy_of(pairs["en-fr"], models / "en-fr")
        monkeypatch.setattr(EngineWorker, "warm_up", late)
        try:
            hurried = {"X-Request-Timeout": "0.2"}
            assert client.put("/v1/models/en-fr", headers=hurried).status_code == 504
            assert translated(server, ENGLISH)
            assert client.get("/readyz").status_code == 200
            assert "en-fr" not in served(server)
        finally:
            may_go_on.set()
        until(lambda: "en-fr" in served(server), "the model is there")
        assert translated(server, ENGLISH, "en-fr")


def test_gauges_of_a_model_go_with_it_and_counters_stay(models: Path) -> None:
    with opened(models) as server:
        translated(server, ENGLISH, "de-en")
        counted = server.metric("target_tokens_total", model="de-en")
        assert counted > 0
        assert unload(server, "de-en").status_code == 204
        shown = server.state.metrics.exposition().decode()
        for gauge in ("ready", "slots", "queue_depth", "ring_cache_bytes", "model_load_seconds"):
            assert f'ringmt_{gauge}{{model="de-en"}}' not in shown
            assert f'ringmt_{gauge}{{model="en-de"}}' in shown
        assert server.metric("target_tokens_total", model="de-en") == counted
        assert load(server, "de-en").status_code == 201
        assert (server.metric("ready", model="de-en"), server.metric("slots", model="de-en")) == (1, 4)
        translated(server, ENGLISH, "de-en")
        assert server.metric("target_tokens_total", model="de-en") > counted


def test_documents_wait_for_their_model(models: Path) -> None:
    body = {"source": "de", "target": "en", "sentences": [f"Wo ist der Bahnhof {n}?" for n in range(40)]}
    with opened(models) as server, server.client() as client:
        before = [client.post("/v1/documents", json=body).json()["id"] for _ in range(12)]
        assert unload(server, "de-en").status_code == 204
        looked = {name: client.get(f"/v1/documents/{name}").json() for name in before}
        waiting = [item for item in looked.values() if item["state"] == "queued"]
        assert waiting
        assert all("is not served here: the document waits" in item["error"] for item in waiting)
        assert client.post("/v1/documents", json=body).status_code == 422
        assert load(server, "de-en").status_code == 201
        until(
            lambda: all(client.get(f"/v1/documents/{name}").json()["state"] == "done" for name in before),
            "all documents are done",
        )


def test_documents_of_other_weights_say_so(models: Path, pairs: dict[str, Path], other: Path) -> None:
    body = {"source": "en", "target": "de", "sentences": ["Yes."], "mode": "online", "wait": True}
    with opened(models) as server, server.client() as client:
        name = client.post("/v1/documents", json=body).json()["id"]
        put_there(other, models / "en-de")
        assert load(server, "en-de").status_code == 200
        refused = client.post(f"/v1/documents/{name}/sentences", json={"sentences": ["We walk home."]})
        assert refused.status_code == 409
        assert "it was replaced" in refused.json()["error"]["message"]
        put_there(pairs["en-de"], models / "en-de")
        assert load(server, "en-de").status_code == 200
        assert client.post(f"/v1/documents/{name}/sentences", json={"sentences": ["Yes."]}).status_code == 200


def test_a_server_that_stops_waits_for_a_model_that_leaves(models: Path, pairs: dict[str, Path]) -> None:
    others = set(threading.enumerate())
    copy_of(pairs["en-fr"], models / "en-fr")
    with ThreadPoolExecutor(1) as pool:
        with opened(models) as server:
            long = pool.submit(server.translate, LONG, target="fr")
            until(lambda: server.sentences > 0, "the request is being worked on")
            assert unload(server, "en-fr").status_code == 204
        assert long.result(PATIENCE).status_code == 200
    left = set(threading.enumerate()) - others
    assert not [thread for thread in left if "en-fr" in thread.name]


def test_access(models: Path, tmp_path: Path) -> None:
    with ready(settings_for(models)) as server:
        for answer in (load(server, "en-de"), unload(server, "de-en")):
            assert (answer.status_code, answer.json()["error"]["type"]) == (403, "forbidden")
            assert "--open-admin" in answer.json()["error"]["message"]
    scopes: tuple[Scope, ...] = ("translate", "documents", "admin")
    made = {scope: new_key(scope, (scope,)) for scope in scopes}
    (tmp_path / "keys").write_text("".join(f"{line}\n" for _, line in made.values()))
    with ready(settings_for(models, api_keys=str(tmp_path / "keys"), open_admin="on")) as server:
        client = server.client()
        with client:
            for scope in (None, *scopes):
                headers = {} if scope is None else {"Authorization": f"Bearer {made[scope][0]}"}
                allowed, refused = scope == "admin", 401 if scope is None else 403
                answer = client.put("/v1/models/en-de", headers=headers)
                assert answer.status_code == (200 if allowed else refused)
                answer = client.delete("/v1/models/de-en", headers=headers)
                assert answer.status_code == (204 if allowed else refused)
                assert client.get("/v1/models", headers=headers).status_code == (401 if scope is None else 200)
