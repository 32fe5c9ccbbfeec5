"""`ringmt serve --processes` with a real Redis: documents, glossaries and limits are those of one server, also when one
of its processes is killed."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.stores.open_store import open_store
from tests.api_keys import new_key
from tests.server.api.conftest import PATIENCE, until
from tests.server.api.documents import MANY, STORY, Documents, checked, translations
from tests.server.api.native.test_document_events import ids_and_events
from tests.server.api.serving.processes_of_one import slot_clients, workers_of
from tests.server.processes import Served, starting
from tests.server.redis_server import flush

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="several processes are one server on Linux only")

SETTINGS = ("--processes", "2", "--slots", "4", "--document-lease", "1.0", "--max-documents-per-key", "6")
SHORT, LONG = MANY[:90], MANY[:160]
PAIR = {"source_lang": "en", "target_lang": "de"}
TERMS = {"name": "terms", **PAIR, "entries": "umbrella\tSchirm", "entries_format": "tsv"}


@dataclass(frozen=True)
class OneServer:
    """`secret` is a key of an administrator, `url` the store's."""

    served: Served
    secret: str
    url: str

    @property
    def headers(self) -> dict[str, str]:
        return {"X-API-Key": self.secret}

    def is_whole(self) -> bool:
        return self.served.answers() and self.served.metric("slots", model="documents") == 4

    @contextlib.contextmanager
    def clients(self) -> Iterator[tuple[httpx.Client, httpx.Client]]:
        """One client of each process."""
        with slot_clients(self.served.url, self.secret) as found:
            yield found


@pytest.fixture
def one(document_artifact: Path, redis_port: int) -> Iterator[OneServer]:
    flush(redis_port)
    url = f"redis://127.0.0.1:{redis_port}/0"
    secret, line = new_key("boss", ["admin"])
    with starting(document_artifact, *SETTINGS, "--context-store", url, "--api-keys", line) as served:
        one = OneServer(served, secret, url)
        until(one.is_whole, "both processes are ready")
        yield one


def test_documents_glossaries_and_their_limits_are_those_of_one_server(one: OneServer) -> None:
    with one.clients() as (a, b):
        first, second = Documents(a), Documents(b)
        made = first.post(sentences=STORY[:3], mode="online", max_length=8)
        name = made["id"]
        assert second.get(name)["sentences"] == made["sentences"]
        grown = second.append(name, ["The rain is back."], first_index=3)
        assert [sentence["index"] for sentence in grown["sentences"]] == [3]
        first.put(name, 0, source="The boy walks home in the rain.")
        assert second.get(name)["sentences"][0]["source"] == "The boy walks home in the rain."
        assert second.context(name, 3) == first.context(name, 3)
        glossary = checked(a.post("/v2/glossaries", json=TERMS), 201)["glossary_id"]
        text = {"text": [STORY[1]], **PAIR, "glossary_id": glossary}
        answers = [checked(client.post("/v2/translate", json=text), 200)["translations"] for client in (a, b)]
        assert answers[0] == answers[1]
        assert "Schirm" in answers[0][0]["text"]
        names = {name} | {
            documents.post(202, sentences=["Yes."], wait=False)["id"] for documents in (second, first, second, first)
        }
        names.add(second.post(202, sentences=["Yes."], wait=False)["id"])
        assert listed(a) == listed(b) == sorted(names)
        for client in (a, b):
            body = {"sentences": ["Yes."], "source": "en", "target": "de"}
            refused = client.post("/v1/documents", json=body)
            assert refused.status_code == 429, refused.text
        assert b.delete(f"/v2/glossaries/{glossary}").status_code == 204
        assert a.post("/v2/translate", json=text).status_code == 400
        assert b.delete(f"/v1/documents/{name}").status_code == 204
        first.get(name, 404)
        first.post(202, sentences=["Yes."], wait=False)


def listed(client: httpx.Client) -> list[str]:
    """The ids of all documents, page by page, sorted; one that is listed twice is there twice."""
    names: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = checked(client.get("/v1/documents", params=query), 200)
        names += [document["id"] for document in page["documents"]]
        if page["next"] is None:
            return sorted(names)
        query["after"] = page["next"]


def test_a_killed_process_loses_no_document_and_no_event(one: OneServer) -> None:
    """Four documents at a time, some in each process; each has a listener, who continues where it was disconnected."""
    with one.served.client() as client, ThreadPoolExecutor(4) as pool:
        client.headers.update(one.headers)
        documents = Documents(client)
        names = [documents.post(202, sentences=SHORT, wait=False, max_length=12, beam_size=1)["id"] for _ in range(4)]
        listening = [pool.submit(followed, one, name) for name in names]
        until(lambda: one.served.metric("document_jobs_running") > 0, "the documents are translated")
        until(lambda: any(documents.get(name, limit="0")["progress"] > 0 for name in names), "a part is translated")
        victim = workers_of(one.served.process.pid)[0]
        os.kill(victim, signal.SIGKILL)
        until(lambda: victim not in workers_of(one.served.process.pid), "it has ended")
        before = stored(one.url, names)
        assert any(sum(sentence.is_pending for sentence in before[name]) for name in names), "killed too late"
        until(lambda: all(is_done(one, name) for name in names), "all documents are done")
        after = stored(one.url, names)
        for name, events in zip(names, [listener.result(PATIENCE) for listener in listening], strict=True):
            assert [sentence.source for sentence in after[name]] == SHORT
            for earlier, later in zip(before[name], after[name], strict=True):
                assert earlier.is_pending or earlier == later, "made twice"
            assert [index for index, _ in events] == list(range(len(SHORT))), "a sentence was lost, or came twice"
            assert [translation for _, translation in events] == [item.translation for item in after[name]]
        assert len({tuple(item.translation for item in after[name]) for name in names}) == 1
        until(one.is_whole, "the process is replaced")
        with one.clients() as (a, b):
            assert listed(a) == listed(b) == sorted(names)
            for name in names:
                assert Documents(a).get(name) == Documents(b).get(name)


def is_done(one: OneServer, name: str) -> bool:
    """Also while connections are lost."""
    try:
        answer = httpx.get(f"{one.served.url}/v1/documents/{name}?limit=0", headers=one.headers, timeout=PATIENCE)
    except httpx.TransportError:
        return False
    assert answer.status_code in (200, 503), answer.text
    if answer.status_code == 503:
        return False
    assert answer.json()["state"] != "failed", answer.text
    return bool(answer.json()["state"] == "done")


def followed(one: OneServer, name: str) -> list[tuple[int, str]]:
    """The stored sentences that a client receives until the document is done, however often it is disconnected."""
    found: list[tuple[int, str]] = []
    headers = one.headers
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        with (
            contextlib.suppress(httpx.TransportError),
            one.served.client() as client,
            client.stream("GET", f"/v1/documents/{name}/events", headers=headers) as answer,
        ):
            if answer.status_code == 204:
                return found
            lines = answer.iter_lines()
            while events := ids_and_events(lines, 1):
                [(place, (event, data))] = events
                if place is not None:
                    headers = {**headers, "Last-Event-ID": place}
                if event == "sentence":
                    found.append((data["index"], data["translation"]))
                    give_up = time.monotonic() + PATIENCE
    raise AssertionError(f"nothing came for {PATIENCE} seconds after {len(found)} sentences")


def stored(url: str, names: list[str]) -> dict[str, list[Any]]:
    store = open_store(url)
    try:
        return {name: list(store.sentences(name)) for name in names}
    finally:
        store.close()


def test_a_drain_gives_documents_back_and_a_restart_finishes_them(one: OneServer) -> None:
    with one.served.client() as client:
        client.headers.update(one.headers)
        documents = Documents(client)
        names = [documents.post(202, sentences=LONG, wait=False, max_length=12)["id"] for _ in range(3)]
        until(lambda: one.served.metric("document_jobs_running") == 3, "all are being translated")
        one.served.process.terminate()
    assert one.served.process.wait(PATIENCE) == 0
    one.served.process.communicate()
    store = open_store(one.url)
    try:
        assert [store.document(name).state for name in names] == ["queued"] * 3
        assert [store.document(name).attempts for name in names] == [0] * 3
    finally:
        store.close()
    one.served.restart()
    until(one.is_whole, "both processes are ready")
    until(lambda: all(is_done(one, name) for name in names), "all documents are done")
    with one.served.client() as client:
        client.headers.update(one.headers)
        results = [Documents(client).get(name) for name in names]
    assert [[sentence["source"] for sentence in result["sentences"]] for result in results] == [LONG] * 3
    assert translations(results[0]) == translations(results[1]) == translations(results[2])
