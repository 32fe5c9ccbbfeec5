"""`POST /v1/translate` as server-sent events, read by a real client."""

import dataclasses
import itertools
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import ClientDisconnect

from server.api.admission.server_sent_events import EventStream
from server.engine.lane import Lane
from server.translation.streaming import Progress
from tests.models import SENTENCES
from tests.server.api.conftest import PATIENCE, RunningServer, ready, settings_for, until

Event = tuple[str, dict[str, Any]]
KNOWN = "Where is the station?"
TEXT = "  We walk home in the rain.\n\nWhere is the station? {name} reads a book.\n"


@contextmanager
def asked(server: RunningServer, headers: dict[str, str] | None = None, **fields: Any) -> Iterator[httpx.Response]:
    body = {"text": TEXT, "source": "en", "target": "de", **fields}
    with server.client() as client, client.stream("POST", "/v1/translate", json=body, headers=headers) as response:
        yield response


def events_of(response: httpx.Response) -> list[Event]:
    """What a reader of the standard makes of it: blocks between empty lines; comments are nothing."""
    results: list[Event] = []
    name, data = "", list[str]()
    for line in response.iter_lines():
        match line.partition(": "):
            case ("event", _, value):
                name = value
            case ("data", _, value):
                data.append(value)
            case ("", "", "") if data:
                results.append((name, json.loads("\n".join(data))))
                name, data = "", []
    assert not data, "the last event has no end"
    return results


def stream(server: RunningServer, **fields: Any) -> list[Event]:
    with asked(server, **{"stream": True, **fields}) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        return events_of(response)


@pytest.fixture(scope="module")
def memory(server: RunningServer) -> Iterator[str]:
    """A translation memory with one entry."""
    with server.client() as client:
        path = "/v1/translation_memories"
        made = client.post(path, json={"name": "x", "source": "en", "target": "de"}).json()["id"]
        entry = {"source": KNOWN, "target": "Wo geht's hier zum Bahnhof?"}
        assert client.post(f"{path}/{made}/entries", json={"entries": [entry]}).status_code == 200
        yield made
        client.delete(f"{path}/{made}")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"beam_size": 1},
        {"num_hypotheses": 3},
        {"text": list(SENTENCES[:6])},
        {"text": "WHERE IS THE STATION?"},
        {"text": ""},
        {"text": []},
        {"max_length": 3},
        {"text": "\U0001f600 She sells bread and milk. <b>Yes.</b>"},
        {"glossary": {"rain": "Zorblax", "book": "Buchband"}, "keep": ["station"]},
        {"text": list(SENTENCES[:6]), "keep": ["nothing"], "num_hypotheses": 2, "beam_size": 4},
        {
            "text": ["She sells bread.", "bread", "", "42"],
            "glossary": {"bread": "Brotlaib"},
            "target_prefix": ["Sie"] + 3 * [""],
        },
        {"translation_memory_id": "MEMORY"},
        {"translation_memory_id": "MEMORY", "text": [TEXT, KNOWN, f"- {KNOWN} {KNOWN}", "42", f"Yes. {KNOWN} No."]},
        {"translation_memory_id": "MEMORY", "text": [KNOWN, f" {KNOWN}\n"]},
        {"translation_memory_id": "MEMORY", "text": f"{KNOWN} The rain! {KNOWN}", "glossary": {"rain": "Zorblax"}},
        {"translation_memory_id": "MEMORY", "text": f"Yes. {KNOWN}", "alignment": True, "pieces": True},
    ],
)
def test_it_ends_in_the_plain_answer(server: RunningServer, memory: str, fields: dict[str, Any]) -> None:
    if "translation_memory_id" in fields:
        fields = {**fields, "translation_memory_id": memory}
    texts = fields.get("text", TEXT)
    plain = server.translate(**{"text": texts, **fields}).json()
    events = stream(server, **fields)
    assert [name for name, _ in events][:1] == ["begin"]
    assert {name for name, _ in events[1:-1]} <= {"beginning"}
    name, answer = events[-1]
    assert name == "answer"
    for body in (plain, answer):
        del body["timings"]
        for translation in body["translations"]:
            for sentence in (*translation["sentences"], *translation.get("hypotheses", ())):
                sentence["score"] = pytest.approx(sentence["score"], abs=1e-3)
    assert answer == plain
    # What was told last of every sentence, in its place among the gaps, is the answer's text.
    last = {(event["text"], event["sentence"]): event for _, event in events[1:-1]}
    assert all(event["done"] for event in last.values())
    for number, (cut, translation) in enumerate(zip(events[0][1]["texts"], answer["translations"], strict=True)):
        source = texts if isinstance(texts, str) else texts[number]
        assert "".join(segment["text"] for segment in cut["segments"]) == source
        event = [
            last[number, item["sentence"]]["target"] if "sentence" in item else item["text"] for item in cut["segments"]
        ]
        assert "".join(event) == translation["text"]


def test_beginnings_come_while_it_is_decoded_and_grow(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine waits until each of them is read: the stream of a fast one joins several."""
    record = Progress.record

    def recorded(progress: Progress, index: int, ids: tuple[int, ...] | None) -> None:
        record(progress, index, ids)
        if threading.current_thread().name.startswith("engine-"):
            until(lambda: not progress._updates, "the event loop has read it")

    monkeypatch.setattr(Progress, "record", recorded)
    event = [data for name, data in stream(server, text=list(SENTENCES), beam_size=1) if name == "beginning"]
    for number in range(len(SENTENCES)):
        mine = [translation for translation in event if translation["text"] == number]
        assert all(b["target"].startswith(a["target"]) for a, b in pairwise(mine))
        assert [item["done"] for item in mine] == [False] * (len(mine) - 1) + [True]
    assert len(event) > 2 * len(SENTENCES)


def test_accept_asks_for_the_same(server: RunningServer) -> None:
    with asked(server, headers={"accept": "text/event-stream"}) as response:
        assert events_of(response)[-1][0] == "answer"
    with asked(server, headers={"accept": "application/json, text/event-stream"}) as response:
        assert response.headers["content-type"] == "application/json"


def test_what_is_refused_is_refused_with_its_status(server: RunningServer) -> None:
    with asked(server, stream=True, beam_size=99) as response:
        assert response.status_code == 422
    with asked(server, stream=True, text="a\n" * 600) as response:
        assert response.status_code == 413


def test_an_error_after_the_beginning_is_an_event(server: RunningServer) -> None:
    name, data = stream(server, text="We walk home in the rain.\n" * 400, timeout=0.05)[-1]
    assert (name, data["error"]["type"]) == ("error", "deadline_exceeded")
    assert set(data["error"]) == {"type", "message", "request_id"}
    until(lambda: server.sentences == 0, "every slot is free")


def test_a_fault_of_the_engine_is_an_event(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(lane: Lane, slot: int) -> None:
        raise RuntimeError("the graph broke")

    monkeypatch.setattr(Lane, "hypotheses", broken)
    name, data = stream(server, text="Yes.")[-1]
    assert (name, data["error"]["type"]) == ("error", "internal")
    assert "graph" not in data["error"]["message"]


def test_a_client_that_hangs_up_frees_its_slots_at_the_next_step(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine is held after a few steps until the server knows that the client has gone."""
    steps, step = itertools.count(), Lane.step
    is_held, go_on = threading.Event(), threading.Event()

    def held(lane: Lane) -> None:
        if next(steps) == 6:
            is_held.set()
            assert go_on.wait(PATIENCE)
        step(lane)

    until(lambda: server.sentences == 0, "what came before is over")
    monkeypatch.setattr(Lane, "step", held)
    body = {"text": "We walk home in the rain.\n" * 50, "source": "en", "target": "de", "stream": True, "beam_size": 1}
    content = json.dumps(body).encode()
    host, port = server.url.removeprefix("http://").split(":")
    cancelled = server.metric("requests_cancelled_total", stage="running", model="tiny")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        head = "POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        received = b""
        while b"event: beginning" not in received:
            more = connection.recv(65536)
            assert more, received
            received += more
        assert is_held.wait(PATIENCE)
        running = server.state.translators["tiny"].worker.running_sentences
    until(lambda: server.metric("requests_in_progress", model="tiny") == 0, "the request is over")
    go_on.set()
    until(lambda: server.sentences == 0, "every slot is free")
    assert running > 0
    assert server.metric("requests_cancelled_total", stage="running", model="tiny") - cancelled == running


def test_from_the_cache_it_is_the_same(tiny_artifact: Path) -> None:
    plain = settings_for(tiny_artifact)
    engine = dataclasses.replace(plain.engine, translation_cache_bytes=10**6)
    with ready(dataclasses.replace(plain, engine=engine)) as caching:
        first, second = (stream(caching, text=[TEXT, TEXT])[-1][1]["translations"] for _ in range(2))
    assert first == second
    assert first[0] == first[1]


def test_a_stream_that_is_lost_before_it_is_sent_frees_its_slots(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client has hung up, or the server gives up, between the handler and the first byte."""

    async def lost(*_: object) -> None:
        raise ClientDisconnect

    until(lambda: server.sentences == 0, "what came before is over")
    go_on, step = threading.Event(), Lane.step

    def held(lane: Lane) -> None:
        assert go_on.wait(PATIENCE)
        step(lane)

    monkeypatch.setattr(Lane, "step", held)
    monkeypatch.setattr(EventStream, "__call__", lost)
    cancelled = server.metric("requests_cancelled_total", stage="running", model="tiny")
    waiting = server.metric("requests_cancelled_total", stage="waiting", model="tiny")
    body = {"text": "We walk home in the rain.\n" * 50, "source": "en", "target": "de", "stream": True}
    with server.client() as client:
        assert client.post("/v1/translate", json=body).status_code == 500
    until(lambda: server.metric("requests_in_progress", model="tiny") == 0, "the request is over")
    go_on.set()
    until(lambda: server.sentences == 0, "every slot is free")
    cancelled = server.metric("requests_cancelled_total", stage="running", model="tiny") - cancelled
    waiting = server.metric("requests_cancelled_total", stage="waiting", model="tiny") - waiting
    assert cancelled + waiting == 50


def test_a_client_that_hangs_up_after_the_head_frees_its_slots(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    until(lambda: server.sentences == 0, "what came before is over")
    go_on, step = threading.Event(), Lane.step

    def held(lane: Lane) -> None:
        assert go_on.wait(PATIENCE)
        step(lane)

    monkeypatch.setattr(Lane, "step", held)
    cancelled = server.metric("requests_cancelled_total", stage="running", model="tiny")
    with asked(server, text="We walk home in the rain.\n" * 50, stream=True) as response:
        assert response.status_code == 200
        running = server.state.translators["tiny"].worker.running_sentences
    until(lambda: server.metric("requests_in_progress", model="tiny") == 0, "the request is over")
    go_on.set()
    until(lambda: server.sentences == 0, "every slot is free")
    assert server.metric("requests_cancelled_total", stage="running", model="tiny") - cancelled >= running
