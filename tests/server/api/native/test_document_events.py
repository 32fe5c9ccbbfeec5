"""`GET /v1/documents/{id}/events`: sentence by sentence, until the document is done."""

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from server.api.native import document_events
from server.documents.feeds import Update
from server.engine.engine import Engine
from server.runtime.offload import INLINE_CHARS
from server.stores.records import Sentence
from tests.models import SENTENCES
from tests.server.api.conftest import PATIENCE, RunningServer, until
from tests.server.api.native.test_stream import Event, events_of

BODY = {"sentences": SENTENCES[:8], "source": "en", "target": "de"}


def create(server: RunningServer, **fields: Any) -> dict[str, Any]:
    with server.client() as client:
        answer: dict[str, Any] = client.post("/v1/documents", json={**BODY, **fields}).json()
    return answer


def read(server: RunningServer, path: str, headers: dict[str, str] | None = None) -> list[Event]:
    with server.client() as client, client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        return events_of(response)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The engine makes no step before it is open."""
    gate, step = threading.Event(), Engine.step

    def gated(engine: Engine) -> None:
        assert gate.wait(PATIENCE)
        step(engine)

    monkeypatch.setattr(Engine, "step", gated)
    yield gate
    gate.set()


def test_sentences_come_as_they_are_translated_and_again_as_they_are_written(
    document_server: RunningServer, gate: threading.Event
) -> None:
    document = create(document_server)
    listeners = document_server.state.documents.runner.progress
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read, document_server, f"/v1/documents/{document['id']}/events")
        until(lambda: listeners.has_listeners(document["id"]), "somebody listens")
        gate.set()
        events = reading.result(PATIENCE)
    assert not listeners.has_listeners(document["id"])
    with document_server.client() as client:
        done = client.get(f"/v1/documents/{document['id']}").json()
    translations = {sentence["index"]: sentence["translation"] for sentence in done["sentences"]}
    names = [name for name, _ in events]
    assert {data["index"]: data["translation"] for name, data in events if name == "translated"} == translations
    assert [data for name, data in events if name == "sentence"] == done["sentences"]
    assert names.index("translated") < names.index("sentence")
    assert names[0] == names[-1] == "document"
    assert (events[0][1]["progress"], events[-1][1]["progress"], events[-1][1]["state"]) == (0, 1, "done")


def test_of_a_document_that_is_done_everything_comes_at_once(document_server: RunningServer) -> None:
    document = create(document_server, wait=True, explain=True)
    events = read(document_server, f"/v1/documents/{document['id']}/events?explain=true")
    assert [name for name, _ in events] == ["sentence"] * 8 + ["document"]
    assert [data for _, data in events[:-1]] == document["sentences"]


def test_a_document_without_sentences(document_server: RunningServer) -> None:
    document = create(document_server, sentences=[])
    [(name, data)] = read(document_server, f"/v1/documents/{document['id']}/events")
    assert (name, data["state"], data["progress"]) == ("document", "done", 1)


def test_no_such_document(document_server: RunningServer) -> None:
    assert httpx.get(f"{document_server.url}/v1/documents/nothing/events").status_code == 404


def test_it_ends_at_the_deadline(document_server: RunningServer, gate: threading.Event) -> None:
    document = create(document_server)
    path = f"/v1/documents/{document['id']}/events"
    events = read(document_server, path, {"X-Request-Timeout": "2"})
    assert {name for name, _ in events} == {"document"}
    assert events[-1][1]["state"] in ("queued", "running")


def test_a_document_that_is_deleted_meanwhile_is_an_error(
    document_server: RunningServer, gate: threading.Event
) -> None:
    document = create(document_server)
    path = f"/v1/documents/{document['id']}"
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read, document_server, path + "/events")
        until(lambda: document_server.state.documents.runner.progress.has_listeners(document["id"]), "somebody listens")
        httpx.delete(document_server.url + path)
        gate.set()
        name, data = reading.result(PATIENCE)[-1]
    assert (name, data["error"]["type"]) == ("error", "not_found")


def test_a_client_that_disconnects_is_forgotten(document_server: RunningServer, gate: threading.Event) -> None:
    document = create(document_server)
    listeners = document_server.state.documents.runner.progress
    path = f"{document_server.url}/v1/documents/{document['id']}/events"
    with httpx.stream("GET", path) as response:
        lines = response.iter_lines()  # dropping it would hang up already
        next(lines)
        assert listeners.has_listeners(document["id"])
    until(lambda: not listeners.has_listeners(document["id"]), "nobody listens")


def ids_and_events(lines: Iterator[str], count: int | None = None) -> list[tuple[str | None, Event]]:
    """Up to `count` events (None: all), each with its id."""
    results: list[tuple[str | None, Event]] = []
    fields: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            results.append((fields.get("id"), (fields["event"], json.loads(fields["data"]))))
            fields = {}
            if len(results) == count:
                break
    return results


@pytest.mark.parametrize("is_done", [True, False])
def test_an_interrupted_stream_continues_where_it_ended(
    document_server: RunningServer, gate: threading.Event, is_done: bool
) -> None:
    """A client that is interrupted after every event receives all stored sentences, each once."""
    if is_done:
        gate.set()
    document = create(document_server, wait=is_done)
    path, headers = f"/v1/documents/{document['id']}/events", dict[str, str]()
    received: list[Event] = []
    with document_server.client() as client:
        while True:
            with client.stream("GET", path, headers=headers) as response:
                if response.status_code == 204:
                    break
                assert response.status_code == 200
                for event_id, event in ids_and_events(response.iter_lines(), 1):
                    assert (event_id is None) == (event[0] == "translated")
                    if event_id is not None:
                        headers["Last-Event-ID"] = event_id
                        received.append(event)
            gate.set()
        done = client.get(f"/v1/documents/{document['id']}").json()
    assert [data for name, data in received if name == "sentence"] == done["sentences"]
    assert (received[-1][0], received[-1][1]["state"]) == ("document", "done")


def test_only_what_changed_since_is_sent(document_server: RunningServer) -> None:
    document = create(document_server, wait=True)
    path = f"/v1/documents/{document['id']}"
    with document_server.client() as client:
        with client.stream("GET", path + "/events") as response:
            last, _ = ids_and_events(response.iter_lines())[-1]
        assert last == str(document["version"])
        headers = {"Last-Event-ID": last}
        assert client.get(path + "/events", headers=headers).status_code == 204
        client.put(path + "/sentences/3", json={"translation": "Ja."})
        with client.stream("GET", path + "/events", headers=headers) as response:
            [(first_id, (_, sentence)), (last, (name, _))] = ids_and_events(response.iter_lines())
    assert (sentence["index"], sentence["translation"], name) == (3, "Ja.", "document")
    assert first_id == f"{last}.3"


@pytest.mark.parametrize("event_id", ["x", "1.", "-1", "1.2.3", "9" * 400, "1 2", "\u0661"])
def test_an_id_that_is_none(document_server: RunningServer, event_id: str) -> None:
    path = f"/v1/documents/{create(document_server, wait=True)['id']}/events"
    with document_server.client() as client:
        answer = client.get(path, headers=[(b"Last-Event-ID", event_id.encode())])
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, "Last-Event-ID")


def test_what_is_wrong_with_a_long_sentence_is_found_beside_the_event_loop(
    document_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = dict[str, str]()

    def find_flags(source: str, target: str, languages: tuple[str, str]) -> list[str]:
        if any(languages):  # for an event, not for the metrics
            threads[source] = threading.current_thread().name
        return ["loop"]

    monkeypatch.setattr("server.documents.translate.find_flags", find_flags)
    long, short = "walk " * INLINE_CHARS, "We walk home."
    document = create(document_server, sentences=[long, short])
    events = read(document_server, f"/v1/documents/{document['id']}/events")
    assert [data["flags"][0] for kind, data in events if kind == "sentence"] == ["loop"] * 2
    assert threads[long].startswith("work-")
    assert not threads[short].startswith("work-")


def test_the_event_of_a_long_sentence_is_made_once_for_all_listeners(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listeners that need it while it is made wait for it, and a listener that disconnects does not cancel it for
    others."""
    released, made = threading.Event(), list[str]()

    def make(update: Update, *_: object) -> bytes:
        made.append(threading.current_thread().name)
        assert released.wait(PATIENCE)
        return b"event"

    async def listen() -> list[bytes]:
        update = Update(None, Sentence(0, "walk " * INLINE_CHARS, (), translation="geht"))
        listeners = [asyncio.create_task(document_events._written(update, False, ("en", "de"))) for _ in range(5)]
        await asyncio.sleep(0)
        listeners[0].cancel()
        await asyncio.gather(listeners[0], return_exceptions=True)
        released.set()
        events = await asyncio.gather(*listeners[1:])
        return [*events, await document_events._written(update, False, ("en", "de"))]

    monkeypatch.setattr(document_events, "_event", make)
    assert asyncio.run(listen()) == [b"event"] * 5
    assert len(made) == 1
