"""Documents in pages, and the sentences of a document in pages."""

import dataclasses
from collections.abc import Iterator

import pytest

from server.api.native.documents import MAX_SENTENCES
from server.stores.records import Document, Sentence
from server.telemetry.labels import DocumentState
from tests.server.api.conftest import RunningServer
from tests.server.api.documents import STORY, Documents, checked
from tests.server.documents.some import document, sentence

KEPT: tuple[tuple[DocumentState, int], ...] = (("queued", 4), ("done", 0), ("queued", 3), ("failed", 1), ("done", 0))
"""States of documents, and how many sentences of each are pending."""


@pytest.fixture
def documents(document_server: RunningServer) -> Iterator[Documents]:
    with document_server.client() as client:
        yield Documents(client)


@pytest.fixture
def stored(document_server: RunningServer) -> Iterator[list[Document]]:
    """Documents of a model that is not served here, the newest first."""
    store = document_server.state.documents.store
    kept = [
        document(f"d{number}", state=state, num_sentences=4, num_pending=pending, created=1e9 + number, touched=2e9)
        for number, (state, pending) in enumerate(KEPT)
    ]
    for made in kept:
        store.create(made, [sentence(index) for index in range(4)])
    yield kept[::-1]
    for made in kept:
        store.delete(made.id)


def listed(documents: Documents, **query: object) -> list[dict[str, object]]:
    """All documents of the test, page by page."""
    results: list[dict[str, object]] = []
    while True:
        page = checked(documents.client.get("/v1/documents", params={"limit": 2, **query}), 200)  # type: ignore[dict-item]
        assert len(page["documents"]) <= 2
        results += [kept for kept in page["documents"] if kept["updated"] == 2e9]
        if page["next"] is None:
            return results
        query["after"] = page["next"]


@pytest.mark.parametrize("state", [None, "queued", "running", "done", "failed"])
def test_documents_are_listed_by_state(
    documents: Documents, document_server: RunningServer, stored: list[Document], state: str | None
) -> None:
    result = listed(documents, **({} if state is None else {"state": state}))
    expected = [kept for kept in stored if state in (None, kept.state)]
    assert [kept["id"] for kept in result] == [kept.id for kept in expected]
    ttl = document_server.state.settings.document_ttl
    for shown, kept in zip(result, expected, strict=True):
        assert kept.num_pending is not None
        assert (shown["created"], shown["num_sentences"]) == (kept.created, 4)
        assert shown["num_translated"] == 4 - kept.num_pending
        assert shown["progress"] == 1 - kept.num_pending / 4
        assert shown["expires"] == (2e9 + ttl if kept.state in ("done", "failed") else None)


def test_a_state_that_is_none(documents: Documents) -> None:
    error = checked(documents.client.get("/v1/documents", params={"state": "lost"}), 422)["error"]
    assert error["param"] == "state"


@pytest.mark.parametrize("size", [1, 3, 8, 9])
def test_pages_of_sentences_are_the_document(documents: Documents, size: int) -> None:
    whole = documents.post(sentences=STORY)
    assert "next" not in whole
    assert whole["num_sentences"] == len(STORY)
    sentences, first = [], 0
    while True:
        page = documents.get(whole["id"], first=str(first), limit=str(size))
        assert len(page["sentences"]) <= size
        sentences += page["sentences"]
        assert {**page, "sentences": [], "next": None} == {**whole, "sentences": [], "next": None}
        if "next" not in page:
            break
        first = page["next"]
    assert sentences == whole["sentences"]


def test_a_page_may_be_empty(documents: Documents) -> None:
    name = documents.post(sentences=STORY)["id"]
    answer = documents.get(name, limit="0")
    assert (answer["sentences"], answer["next"], answer["progress"]) == ([], 0, 1)
    assert documents.get(name, first="8")["sentences"] == documents.get(name, first="999")["sentences"] == []


@pytest.mark.parametrize(
    "query", [{"first": "-1"}, {"limit": "-1"}, {"limit": "2001"}, {"first": "x"}, {"first": "9" * 50}]
)
def test_pages_that_cannot_be(documents: Documents, query: dict[str, str]) -> None:
    name = documents.post(sentences=STORY[:1])["id"]
    assert documents.get(name, 422, **query)["error"]["param"] in query


def test_a_very_long_document_is_not_one_answer(documents: Documents, document_server: RunningServer) -> None:
    store, count = document_server.state.documents.store, MAX_SENTENCES + 1
    done = [dataclasses.replace(sentence(index), translation="Ja.") for index in range(count)]
    store.create(document("long", state="done", num_sentences=count, num_pending=0), done)
    answer = documents.get("long")
    assert (len(answer["sentences"]), answer["next"], answer["progress"]) == (MAX_SENTENCES, MAX_SENTENCES, 1)
    rest = documents.get("long", first=str(answer["next"]))
    assert [kept["index"] for kept in rest["sentences"]] == [MAX_SENTENCES]
    assert "next" not in rest
    store.delete("long")


def test_progress_of_a_document_of_an_older_server(documents: Documents, document_server: RunningServer) -> None:
    store = document_server.state.documents.store
    store.create(
        document("old", state="failed", num_sentences=2), [Sentence(0, "a", (), translation="A"), sentence(1, "b")]
    )
    assert documents.get("old", limit="1")["progress"] == documents.get("old")["progress"] == 0.5
    store.delete("old")
