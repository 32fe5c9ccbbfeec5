"""Answers as JSON: what FastAPI would send for the same model, written in short calls and beside the event loop."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Response
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from server.api.admission import server_sent_events as event_stream
from server.api.native.document_schemas import DocumentAnswer, SentencePage
from server.api.native.schemas import AlignedWords, SentenceAnswer, TranslateResponse, Translation
from server.api.requests import json_response as answers
from server.api.requests.fields import TimingsAnswer
from server.api.requests.json_response import AT_ONCE, json_of, written, written_as_set, written_whole
from server.stores.records import Document, Leg, Sentence
from tests.server.api.conftest import PATIENCE, RunningServer, until

FEW = settings(max_examples=50, deadline=None)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.integers(0, 10**6)
FLOATS = st.floats(-1e6, 1e6, allow_subnormal=False)  # an ONNX session turns them off in its thread


@st.composite
def sentences(draw: st.DrawFn, index: int) -> Sentence:
    return Sentence(
        index,
        draw(TEXTS),
        (),
        translation=draw(st.none() | TEXTS),
        version=draw(NUMBERS),
        is_edited=draw(st.booleans()),
        is_stale=draw(st.booleans()),
        finish_reason=draw(st.sampled_from([None, "eos", "length"])),
        context_used=tuple(draw(st.lists(st.tuples(NUMBERS, FLOATS), max_size=3))),
    )


@st.composite
def document_answers(draw: st.DrawFn) -> DocumentAnswer:
    some = [draw(sentences(index)) for index in range(draw(st.integers(0, 6)))]
    many = some * (draw(st.sampled_from([1, 1, AT_ONCE])) if some else 1)
    legs = draw(st.sampled_from([(), (Leg("a", "f", "en"), Leg("b", "g", "de"))]))
    document = Document(
        "doc", "model", "f", "en", "de", "offline", "running", len(many), legs=legs, error=draw(st.none() | TEXTS)
    )
    answer = DocumentAnswer.of(document, SentencePage(many), draw(st.booleans()), explain=draw(st.booleans()))
    if draw(st.booleans()):
        answer.error = draw(TEXTS)
    return answer


@FEW
@given(document_answers())
def test_a_document_is_sent_as_fastapi_would_send_it(answer: DocumentAnswer) -> None:
    sent = _sent_by_fastapi(answer, response_model_exclude_unset=True)
    assert TestClient(_app(written_as_set(answer))).get("/").json() == sent


@FEW
@given(document_answers())
def test_it_is_what_pydantic_writes_at_once(answer: DocumentAnswer) -> None:
    assert written(answer).body == answer.model_dump_json(exclude_none=True).encode()
    assert written_as_set(answer).body == answer.model_dump_json(exclude_unset=True).encode()
    assert written_whole(answer).body == answer.model_dump_json().encode()


def _sent_by_fastapi(answer: BaseModel, **details: Any) -> Any:
    """The JSON that comes of a route that returns the model."""
    return TestClient(_app(answer, response_model=type(answer), **details)).get("/").json()


def _app(answer: object, **details: Any) -> FastAPI:
    app = FastAPI()

    @app.get("/", **({"response_model": None} | details))
    async def give() -> object:
        return answer

    return app


def test_no_call_writes_much_of_a_large_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call of pydantic's keeps all threads waiting until it ends, and the more so the more it writes."""
    rounds: list[int] = []
    monkeypatch.setattr(answers, "checkpoint", lambda: rounds.append(1))
    sentence = SentenceAnswer(source="a", target="b", score=-1.0, finish_reason="eos", num_tokens=2, flags=[])
    words = AlignedWords(source=(0, 1), target=(0, 1))
    translation = Translation(
        text="b", flags=[], sentences=[sentence] * 3000, hypotheses=None, alignment=[words] * 7000, pivot=None
    )
    timings = TimingsAnswer(queue=1, encode=1, decode=1, total=1)
    answer = TranslateResponse(translations=[translation] * 3, model="m", timings=timings, context=None)
    whole = answer.model_dump_json(exclude_none=True).encode()
    pieces = list(answers._pieces(answer, answers._LeftOut(exclude_none=True, exclude_unset=False)))
    assert b"".join(pieces) == whole == json_of(answer, exclude_none=True)
    assert max(map(len, pieces)) < len(whole) / 100
    assert len(rounds) >= 3 * 10_000 / AT_ONCE


TEXT = "We walk home now. " * 200
PAIR = {"source": "en", "target": "de", "beam_size": 1, "max_length": 3}
LARGE: dict[str, tuple[str, dict[str, Any]]] = {
    "translation": ("/v1/translate", {"text": TEXT, **PAIR}),
    "alignment and pieces": ("/v1/translate", {"text": TEXT, "alignment": True, "pieces": True, **PAIR}),
    "stream": ("/v1/translate", {"text": TEXT, "stream": True, **PAIR}),
    "score": (
        "/v1/score",
        {
            "items": [{"source": "a", "target": ["a b c d e f " * 5] * 9}] * 4,
            "tokens": True,
            "source": "en",
            "target": "de",
        },
    ),
    "document": ("/v1/documents", {"text": TEXT, "wait": True, **PAIR}),
    "DeepL": ("/v2/translate", {"text": [TEXT[:540]] * 5, "source_lang": "en", "target_lang": "de"}),
    "LibreTranslate": ("/translate", {"q": [TEXT[:540]] * 5, "source": "en", "target": "de"}),
}


@pytest.mark.parametrize("name", LARGE)
def test_others_are_answered_while_a_large_answer_is_written(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Every large answer waits, while it is written, until another request was answered."""
    path, body = LARGE[name]
    with server.client() as client:
        others_are_answered(server, monkeypatch, lambda: client.post(path, json=body))


def test_others_are_answered_while_a_large_document_is_read(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server.client() as client:
        made = client.post("/v1/documents", json={"text": TEXT, "wait": True, **PAIR}).json()
        answer = others_are_answered(server, monkeypatch, lambda: client.get(f"/v1/documents/{made['id']}"))
    assert len(answer.json()["sentences"]) == 200


def test_first_and_last_event_of_a_large_stream_are_written_in_threads(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_in: list[tuple[str, str]] = []

    def noted(answer: BaseModel, exclude_none: bool = False, exclude_unset: bool = False) -> bytes:
        written_in.append((type(answer).__name__, threading.current_thread().name.partition("-")[0]))
        return json_of(answer, exclude_none, exclude_unset)

    monkeypatch.setattr(event_stream, "json_of", noted)
    with server.client() as client:
        assert client.post("/v1/translate", json={"text": TEXT, "stream": True, **PAIR}).is_success
    assert written_in[0] == ("StreamBegins", "work")
    assert written_in[-1] == ("TranslateResponse", "work")


def others_are_answered(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, ask: Callable[[], httpx.Response]
) -> httpx.Response:
    with held_writing(monkeypatch) as (is_writing, go_on), ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask)
        try:
            until(lambda: is_writing.is_set() or asking.done(), "the answer is written")
            assert is_writing.is_set(), asking.result().text
            assert httpx.get(f"{server.url}/livez", timeout=PATIENCE / 6).status_code == 200
        finally:
            go_on.set()
        assert asking.result().is_success, asking.result().text
        return asking.result()


@contextmanager
def held_writing(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Writing an answer sets the first event, and waits for the second."""
    is_writing, go_on = threading.Event(), threading.Event()

    def held(answer: BaseModel, exclude_none: bool = False, exclude_unset: bool = False) -> bytes:
        result = json_of(answer, exclude_none, exclude_unset)
        if len(result) > 200:
            is_writing.set()
            assert go_on.wait(PATIENCE)
        return result

    monkeypatch.setattr(answers, "json_of", held)
    monkeypatch.setattr(event_stream, "json_of", held)
    yield is_writing, go_on


def test_a_response_has_the_status_and_headers_that_it_is_given() -> None:
    answer: Response = written_as_set(TimingsAnswer(queue=1, encode=1, decode=1, total=1), 202, {"Location": "/x"})
    assert (answer.status_code, answer.headers["location"]) == (202, "/x")
