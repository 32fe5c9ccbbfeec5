"""What is refused, and that nothing refused leaves a trace."""

import dataclasses
import socket
import threading
import time
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.api.native import documents as routes
from server.backends.onnx.context import OnnxContext
from server.settings import EngineSettings
from server.stores.interface import StoreError
from server.stores.open_store import open_store
from tests.server.api.conftest import PATIENCE, RunningServer, ready, running, settings_for, until
from tests.server.api.documents import MANY, STORY, Documents, checked, translations
from tests.server.api.test_odd_input import BODIES, TEXTS
from tests.server.documents.some import keep

MANY_CHARS = 1_200
"""After normalization: 20 sentences of the tiny model."""
ONE_SLOT = EngineSettings(
    slots=1, max_waiting=512, num_workers=1, precision="fp32", max_beam_size=4, translation_cache_bytes=0
)


@pytest.fixture
def documents(document_server: RunningServer) -> Iterator[Documents]:
    with document_server.client() as client:
        yield Documents(client)
    until(lambda: document_server.sentences == 0, "every slot is free")


@pytest.fixture(scope="module")
def online(document_server: RunningServer) -> str:
    """An online document that nothing here may change."""
    with document_server.client() as client:
        return str(Documents(client).post(sentences=STORY, mode="online")["id"])


@pytest.mark.parametrize(
    ("fields", "param", "message"),
    [
        ({}, None, "either `sentences` or `text`"),
        ({"sentences": ["a"], "text": "a"}, None, "either"),
        ({"sentences": "a"}, "sentences", "list"),
        ({"sentences": ["a", 1]}, "sentences", "string or a list of strings"),
        ({"text": ["a"]}, "text", "string"),
        ({"text": "a", "mode": "ofline"}, "mode", "'offline' or 'online'"),
        ({"text": "a", "wait": 1}, "wait", "boolean"),
        ({"text": "a", "beam_size": 99}, "beam_size", "at most 4"),
        ({"text": "a", "max_length": 10**6}, "max_length", "at most 64"),
        ({"text": "a", "source": "xx"}, "source", "only 'en' is served"),
        ({"text": "a", "model": "no"}, "model", "is served"),
        ({"text": "a", "mod": "online"}, "mod", "did you mean 'mode'?"),
    ],
)
def test_bodies_that_cannot_be_used(
    documents: Documents, fields: dict[str, Any], param: str | None, message: str
) -> None:
    error = documents.post(422, **fields)["error"]
    assert error["type"] == "invalid_value"
    assert error.get("param") == param
    assert message in error["message"]


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize(("method", "path"), [("POST", ""), ("POST", "/{id}/sentences"), ("PUT", "/{id}/sentences/0")])
def test_odd_bodies(documents: Documents, online: str, method: str, path: str, name: str) -> None:
    headers = {"content-type": "application/json"}
    url = "/v1/documents" + path.format(id=online)
    response = documents.client.request(method, url, content=BODIES[name], headers=headers)
    assert response.status_code in (400, 422) or (name == "byte order mark" and not path and response.is_success)
    assert translations(documents.get(online)) == translations(documents.post(sentences=STORY, mode="online"))


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if isinstance(text, str)])
def test_odd_texts(documents: Documents, name: str) -> None:
    """Long ones are cut, because every sentence looks at all others. /v1/translate takes them whole."""
    text = str(TEXTS[name])
    text = text[: len(text) * MANY_CHARS // max(MANY_CHARS, len(unicodedata.normalize("NFKC", text)))]
    for fields in ({"text": text}, {"sentences": [text, "Yes.", text]}):
        done = documents.post(max_length=8, beam_size=1, **fields)
        assert done["state"] == "done"
    assert done["sentences"][0]["source"] == text
    lines = documents.client.get(f"/v1/documents/{done['id']}/result").text.split("\n")
    assert len(lines) == 3 + 2 * text.count("\n")


@pytest.mark.parametrize("name", ["unknown", "a" * 18, "%2e%2e", "%00", "x" * 5_000, "\N{SNOWMAN}", "*", "a b"])
def test_unknown_foreign_and_malformed_ids_are_the_same(documents: Documents, name: str) -> None:
    url = f"/v1/documents/{name}"
    calls = [
        documents.client.get(url), documents.client.delete(url), documents.client.get(f"{url}/result"),
        documents.client.get(f"{url}/sentences/0/context"),
        documents.client.post(f"{url}/sentences", json={"sentences": "a"}),
        documents.client.put(f"{url}/sentences/0", json={"source": "a"}),
    ]  # fmt: skip
    messages = {checked(response, 404)["error"]["message"] for response in calls}
    assert messages == {"there is no such document: it never existed, was deleted, or has expired"}


@pytest.mark.parametrize("index", ["8", "99999999999999999999999", "-1", "x", "1.0", "0x1"])
def test_unknown_sentences(documents: Documents, online: str, index: str) -> None:
    url = f"/v1/documents/{online}/sentences/{index}"
    assert checked(documents.client.get(f"{url}/context"), 404)["error"]["type"] == "not_found"
    assert checked(documents.client.put(url, json={"source": "a"}), 404)["error"]["type"] == "not_found"


def test_sentences_out_of_order(documents: Documents, online: str) -> None:
    for first_index in (0, 7, 9, 10**30):
        error = documents.append(online, "Next.", 409, first_index=first_index)["error"]
        assert (error["type"], "the next index is 8" in error["message"]) == ("conflict", True)
    assert documents.append(online, "Next.", 422, first_index=-1)["error"]["param"] == "first_index"
    assert len(documents.get(online)["sentences"]) == len(STORY)


def test_an_offline_document_takes_no_more(documents: Documents) -> None:
    done = documents.post(sentences=STORY)
    assert "mode 'online'" in documents.append(done["id"], "Next.", 409)["error"]["message"]


def test_corrections_that_say_nothing_and_queries_that_are_wrong(documents: Documents, online: str) -> None:
    assert "`source`, `translation` or both" in documents.put(online, 0, 422)["error"]["message"]
    assert documents.put(online, 0, 422, "all", source="a")["error"]["param"] == "retranslate"
    assert documents.get(online, 422, explain="yes")["error"]["param"] == "explain"
    assert "did you mean 'explain'?" in documents.get(online, 422, explian="true")["error"]["message"]


def test_a_document_that_is_not_done_has_no_result(document_artifact: Path) -> None:
    with ready(settings_for(document_artifact, ONE_SLOT)) as server, server.client() as client:
        accepted = Documents(client).post(202, sentences=STORY * 50, wait=False)
        response = client.get(f"/v1/documents/{accepted['id']}/result")
        assert "when it is done" in checked(response, 409)["error"]["message"]


def test_limits(document_artifact: Path) -> None:
    settings = settings_for(document_artifact, max_document_sentences=10, max_documents=4, max_text_chars=2_000)
    with ready(settings) as server, server.client() as client:
        documents = Documents(client)
        for fields in ({"sentences": [""] * 11}, {"text": "Yes. " * 11}, {"sentences": ["we walk home " * 150]}):
            error = documents.post(413, **fields)["error"]
            assert (error["type"], "at most 10" in error["message"]) == ("too_large", True)
        documents.post(413, sentences=["a" * 2_001])
        documents.post(413, text="a" * 40_001)
        response = server.translate("Yes.", context=["Yes."] * 11)
        assert checked(response, 413)["error"]["param"] == "context"
        assert server.state.documents.store.count() == 0
        name = documents.post(sentences=["Yes."] * 8, mode="online")["id"]
        documents.append(name, ["Yes."] * 3, 413)
        documents.append(name, ["Yes."] * 2)
        documents.append(name, "Yes.", 413)
        documents.append(name, "a" * 2_001, 413)
        documents.put(name, 0, 413, source="we walk home " * 40)
        for param in ("source", "translation"):
            error = documents.put(name, 0, 413, **{param: "a" * 2_001})["error"]
            assert error["param"] == param
        for _ in range(3):
            documents.post(sentences=["Yes."])
        response = client.post("/v1/documents", json={"source": "en", "target": "de", "text": "Yes."})
        assert checked(response, 429)["error"]["type"] == "overloaded"
        assert int(response.headers["Retry-After"]) >= 1
        client.delete(f"/v1/documents/{name}")
        documents.post(sentences=["Yes."])


def test_a_full_engine_refuses_what_waits_and_loses_no_document(document_artifact: Path) -> None:
    full = dataclasses.replace(ONE_SLOT, max_waiting=24)
    with ready(settings_for(document_artifact, full)) as server, server.client() as client:
        documents = Documents(client)
        expected = documents.post(sentences=STORY * 3, beam_size=4)
        names = [documents.post(202, sentences=STORY * 3, beam_size=4, wait=False)["id"] for _ in range(12)]
        for name in names:
            assert translations(documents.done(name)) == translations(expected)


def test_an_append_that_finds_no_room_is_refused_and_nothing_is_kept(
    document_artifact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = dataclasses.replace(ONE_SLOT, max_waiting=4)
    settings = settings_for(document_artifact, full)
    with ready(settings) as server, server.client() as client, ThreadPoolExecutor(2) as pool:
        documents = Documents(client)
        name = documents.post(sentences=STORY[:1], mode="online")["id"]
        may_go = threading.Event()
        [running_engine] = server.state.translators["documents"].worker._engines
        step = running_engine.step

        def held_step() -> None:
            assert may_go.wait(60)
            step()

        monkeypatch.setattr(running_engine, "step", held_step)
        try:
            answers = [pool.submit(server.translate, texts) for texts in (["One.", "Two."], ["Three.", "Four."])]
            until(lambda: server.sentences == 4, "the waiting room is full")
            assert documents.append(name, "Next.", 429)["error"]["type"] == "overloaded"
        finally:
            may_go.set()
        assert [answer.result(60).status_code for answer in answers] == [200, 200]
        assert len(documents.get(name)["sentences"]) == 1
        documents.append(name, "Next.", first_index=1)


def test_waiting_ends_at_the_deadline_and_the_document_goes_on(
    document_artifact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Long, so that a busy machine reads the document in time too.
    monkeypatch.setattr(routes, "READING_SECONDS", 30)
    with ready(settings_for(document_artifact, ONE_SLOT)) as server, server.client() as client:
        with server.client(within=30.5) as hurried:
            accepted = Documents(hurried).post(202, sentences=STORY * 20, beam_size=4)
        assert accepted["state"] in ("queued", "running")
        Documents(client).done(accepted["id"], explain="false")


def test_a_late_append_keeps_nothing(document_artifact: Path) -> None:
    with ready(settings_for(document_artifact, ONE_SLOT)) as server, server.client() as client:
        documents = Documents(client)
        name = documents.post(sentences=[], mode="online", beam_size=4)["id"]
        with server.client(within=0.2) as hurried:
            Documents(hurried).append(name, STORY * 40, 504)
        assert documents.get(name)["sentences"] == []
        until(lambda: server.sentences == 0, "every slot is free")


def test_a_late_request_for_the_attention_is_answered_in_time(
    document_artifact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ready(settings_for(document_artifact)) as server, server.client() as client:
        name = Documents(client).post(202, sentences=STORY, wait=False)["id"]
        Documents(client).done(name)
        may_go = threading.Event()
        explain = OnnxContext.explain
        monkeypatch.setattr(OnnxContext, "explain", lambda *given: (may_go.wait(60), explain(*given))[1])
        try:
            with server.client(within=0.5) as hurried:
                assert Documents(hurried).context(name, 1, 504)["error"]["type"] == "deadline_exceeded"
        finally:
            may_go.set()


def test_a_client_that_disconnects_while_it_waits_leaves_no_document(document_artifact: Path) -> None:
    with ready(settings_for(document_artifact)) as server:
        fields = {"sentences": MANY, "source": "en", "target": "de", "wait": True}
        body = httpx.Request("POST", server.url, json=fields).content
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
            head = "POST /v1/documents HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            until(lambda: server.sentences > 0, "the document is being translated")
            assert server.state.documents.store.count() == 1
        until(lambda: server.state.documents.store.count() == 0 and server.sentences == 0, "nothing of it is left")
        assert (server.state.documents.store.count(), server.sentences) == (0, 0)


def test_draining_refuses_documents_and_finishes_those_that_are_waited_for(document_artifact: Path) -> None:
    settings = settings_for(document_artifact, drain_timeout=60)
    with ThreadPoolExecutor(1) as pool, ready(settings) as server:
        with server.client() as client:
            name = Documents(client).post(sentences=STORY, mode="online")["id"]
            fields = {"sentences": STORY * 10, "source": "en", "target": "de", "wait": True}
            answer = pool.submit(httpx.post, f"{server.url}/v1/documents", json=fields, timeout=60)
            until(lambda: server.sentences > 0, "the document is being translated")
            server.state.drain.begin()
            url = f"/v1/documents/{name}"
            for response in (
                client.post("/v1/documents", json={}), client.get(url), client.delete(url), client.get(f"{url}/result"),
                client.post(f"{url}/sentences", json={}), client.put(f"{url}/sentences/0", json={}),
                client.get(f"{url}/sentences/0/context"),
            ):  # fmt: skip
                assert "draining" in checked(response, 503)["error"]["message"]
            server.uvicorn.should_exit = True
        done = checked(answer.result(60), 200)
        assert done["state"] == "done"


def test_a_document_of_a_failed_model_has_its_error(document_artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ready(settings_for(document_artifact)) as server, server.client() as client:
        documents = Documents(client)
        with monkeypatch.context() as broken:
            broken.setattr(OnnxContext, "attend", lambda *_: 1 / 0)
            failed = documents.post(sentences=STORY)
            assert failed["state"] == "failed"
            assert "the server's log has more" in failed["error"]
            assert all(sentence["pending"] for sentence in failed["sentences"])
            online = documents.post(sentences=STORY[:1], mode="online")["id"]
            assert documents.append(online, "Next.", 500)["error"]["type"] == "internal"
        # Any change tries it again.
        documents.put(failed["id"], 0, None, translation="Von Hand.")
        assert documents.done(failed["id"])["sentences"][0]["edited"]
        documents.append(online, "Next.")


def test_other_weights_do_not_continue_a_document(document_artifact: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/documents.db"
    settings = settings_for(document_artifact, context_store=url)
    with ready(settings) as server, server.client() as client:
        name = Documents(client).post(sentences=STORY, mode="online")["id"]
    with running(settings) as server, server.client() as client:
        until(lambda: server.state.why_not_ready is None, "the model is loaded")
        server.state.translators["documents"].fingerprint = "other"
        documents = Documents(client)
        assert "other weights" in documents.append(name, "Next.", 409)["error"]["message"]
        assert "other weights" in documents.put(name, 0, 409, source="a")["error"]["message"]
        documents.context(name, 1, 409)
        assert documents.get(name)["state"] == "done"
        assert client.get(f"/v1/documents/{name}/result").status_code == 200


def test_a_document_of_another_server_s_model_waits_for_it(document_artifact: Path, tmp_path: Path) -> None:
    """Servers that share a store and serve different models."""
    url = f"sqlite:///{tmp_path}/documents.db"
    store = open_store(url)
    keep(store, "elsewhere", num_sentences=2, model="another", touched=time.time())
    store.close()
    with ready(settings_for(document_artifact, context_store=url)) as server, server.client() as client:
        documents = Documents(client)
        documents.post(sentences=STORY[:2])  # what is younger is not held up
        result = documents.get("elsewhere")
        assert result["state"] == "queued"
        for error in (result["error"], documents.put("elsewhere", 0, 409, source="a")["error"]["message"]):
            assert "model 'another' is not served here" in error
            assert "waits for a server" in error


def test_a_store_that_is_gone_is_503(document_artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ready(settings_for(document_artifact)) as server, server.client() as client:
        documents = Documents(client)
        name = documents.post(sentences=STORY[:2])["id"]

        def gone(*_: object) -> None:
            raise StoreError("context store redis://secret-host:1/0: gone")

        with monkeypatch.context() as broken:
            for method in ("document", "sentences", "read", "create", "count", "claim"):
                broken.setattr(server.state.documents.store, method, gone)
            documents.get(name, 503)
            error = documents.post(503, sentences=["Yes."])["error"]
            assert (error["type"], "secret-host" in error["message"]) == ("not_ready", False)
        assert documents.post(sentences=["Yes."])["state"] == "done"


def test_a_store_that_cannot_be_opened_ends_the_server_with_its_reason(document_artifact: Path) -> None:
    settings = settings_for(document_artifact, context_store="postgres://x")
    with running(settings) as server:
        until(lambda: server.state.failure is not None, "loading failed")
        assert "context_store begins with postgres://" in str(server.state.failure)
        until(lambda: not server.thread.is_alive(), "the server ends")


def test_documents_without_changes_expire(document_artifact: Path) -> None:
    with ready(settings_for(document_artifact, document_ttl=1.0)) as server, server.client() as client:
        name = Documents(client).post(sentences=["Yes."])["id"]
        until(lambda: client.get(f"/v1/documents/{name}").status_code == 404, "it is deleted")
        assert server.metric("context_store_expired_total", model="") == 1
