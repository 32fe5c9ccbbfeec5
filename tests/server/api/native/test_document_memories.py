"""Documents that name a translation memory: entries are used, and corrections become entries."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.documents import service
from server.stores.records import Sentence
from tests.server.api.conftest import RunningServer, ready, settings_for, until
from tests.server.api.documents import STORY, Documents, checked, translations

MEMORIES = "/v1/translation_memories"
KNOWN = {"Yes.": "Jawohl.", "It is not hers.": "Ihrer ist es nicht."}
NO_ID = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def documents(document_server: RunningServer) -> Iterator[Documents]:
    with document_server.client() as client:
        yield Documents(client)


def make(documents: Documents, known: dict[str, str] = KNOWN) -> str:
    memory: str = checked(documents.client.post(MEMORIES, json={"name": "ours", "source": "en", "target": "de"}), 201)[
        "id"
    ]
    if known:
        entries = [{"source": source, "target": target} for source, target in known.items()]
        checked(documents.client.post(f"{MEMORIES}/{memory}/entries", json={"entries": entries}), 200)
    return memory


def entries(documents: Documents, memory: str) -> dict[str, tuple[str, str]]:
    page = checked(documents.client.get(f"{MEMORIES}/{memory}/entries"), 200)["entries"]
    return {entry["source"]: (entry["target"], entry["origin"]) for entry in page}


def test_entries_are_used_and_the_rest_is_as_if_a_person_had_written_them(documents: Documents) -> None:
    memory = make(documents)
    result = documents.post(sentences=STORY, translation_memory_id=memory)
    assert result["translation_memory_id"] == memory
    edited = [index for index, source in enumerate(STORY) if source in KNOWN]
    assert [sentence["index"] for sentence in result["sentences"] if sentence["edited"]] == edited
    assert [result["sentences"][index]["translation"] for index in edited] == [KNOWN[STORY[index]] for index in edited]
    by_hand = documents.post(sentences=STORY)
    for index in edited:
        documents.put(by_hand["id"], index, translation=KNOWN[STORY[index]])
    assert translations(documents.get(by_hand["id"])) == translations(result)
    assert "translation_memory_id" not in by_hand


def test_a_document_that_is_known_is_done_at_once(documents: Documents, document_server: RunningServer) -> None:
    memory = make(documents)
    decoded = document_server.metric("document_jobs_total", result="done", model="")
    result = documents.post(text="Yes. It is not hers.\n", translation_memory_id=memory, wait=False)
    assert (result["state"], result["progress"]) == ("done", 1)
    assert documents.client.get(f"/v1/documents/{result['id']}/result").text == "Jawohl. Ihrer ist es nicht.\n"
    assert document_server.metric("document_jobs_total", result="done", model="") == decoded


def test_appended_sentences_get_entries_of_the_memory(documents: Documents) -> None:
    memory = make(documents)
    plain = documents.post(sentences=STORY[:2], mode="online")
    result = documents.post(sentences=STORY[:2], mode="online", translation_memory_id=memory)
    added = documents.append(result["id"], ["Yes.", "The rain stops."])["sentences"]
    expected = documents.append(plain["id"], ["Yes.", "The rain stops."])["sentences"]
    assert [(sentence["translation"], sentence["edited"]) for sentence in added] == [
        ("Jawohl.", True),
        (expected[1]["translation"], False),
    ]
    assert documents.append(result["id"], "Yes.")["sentences"][0]["translation"] == "Jawohl."


def test_a_document_that_is_too_long_is_not_compared_with_the_memory(
    documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decoder's side reads every translation that an entry gives, each perhaps a thousand times its sentence."""
    memory = make(documents)
    looked_up: list[int] = []

    def with_entries(sentences: list[Sentence], *_: object) -> list[Sentence]:
        looked_up.append(len(sentences))
        return sentences

    monkeypatch.setattr(service, "with_entries", with_entries)
    documents.post(413, text="Yes.\n" * 2001, translation_memory_id=memory)
    assert looked_up == []
    documents.post(text="Yes.\n" * 2, translation_memory_id=memory)
    assert looked_up == [2]


def test_a_correction_becomes_an_entry(documents: Documents) -> None:
    memory = make(documents)
    result = documents.post(sentences=STORY, translation_memory_id=memory)
    assert entries(documents, memory) == {source: (target, "manual") for source, target in KNOWN.items()}
    answer = documents.put(result["id"], 1, translation="Sie hat einen roten Schirm.")
    assert answer["memory"] == {"kept": True}
    assert entries(documents, memory)[STORY[1]] == ("Sie hat einen roten Schirm.", "correction")
    both = documents.put(result["id"], 0, source="She runs.", translation="Sie rennt.")
    assert both["memory"] == {"kept": True}
    assert entries(documents, memory)["She runs."] == ("Sie rennt.", "correction")
    assert "memory" not in documents.put(result["id"], 3, source="Where is it?"), "the model wrote the translation"
    again = documents.post(sentences=["She runs.", STORY[1]], translation_memory_id=memory)
    assert translations(again) == ["Sie rennt.", "Sie hat einen roten Schirm."]


def test_without_a_memory_nothing_is_kept(documents: Documents) -> None:
    memory = make(documents, {})
    result = documents.post(sentences=STORY)
    assert "memory" not in documents.put(result["id"], 1, translation="Sie hat einen roten Schirm.")
    assert entries(documents, memory) == {}


def test_a_correction_that_cannot_become_an_entry_says_why(documents: Documents) -> None:
    memory = make(documents, {})
    result = documents.post(sentences=["Yes.", "No."], translation_memory_id=memory, mode="online")
    for translation, reason in ((" ", "its target is empty"), ("x" * 4001, "at most 4000 are kept")):
        answer = documents.put(result["id"], 0, translation=translation)
        assert answer["sentence"]["translation"] == translation
        assert not answer["memory"]["kept"]
        assert reason in answer["memory"]["reason"]
    assert documents.client.delete(f"{MEMORIES}/{memory}").status_code == 204
    gone = documents.put(result["id"], 0, translation="Ja.")
    assert gone["memory"] == {"kept": False, "reason": "the document's translation memory was deleted"}
    assert documents.append(result["id"], "Yes.")["sentences"][0]["edited"] is False


@pytest.mark.parametrize(("memory", "status"), [(NO_ID, 404), ("x", 404)])
def test_an_unknown_memory(documents: Documents, memory: str, status: int) -> None:
    documents.post(status, sentences=["Yes."], translation_memory_id=memory)


def test_two_models_take_no_memory(many: RunningServer) -> None:
    with many.client() as client:
        made = checked(client.post(MEMORIES, json={"name": "x", "source": "de", "target": "fr"}), 201)["id"]
        body: dict[str, Any] = {"sentences": ["Ja."], "source": "de", "target": "fr", "translation_memory_id": made}
        error = checked(client.post("/v1/documents", json=body), 422)["error"]
        client.delete(f"{MEMORIES}/{made}")
    assert (error["param"], "two models" in error["message"]) == ("translation_memory_id", True)


@pytest.mark.parametrize("store", ["sqlite", "redis"])
def test_documents_and_their_memories_outlive_the_server(
    tiny_artifact: Path, tmp_path: Path, store: str, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/documents.db"
    if store == "redis":
        url = f"redis://127.0.0.1:{request.getfixturevalue('redis_port')}/0"
    settings = settings_for(tiny_artifact, context_store=url)
    with ready(settings) as server, server.client() as client:
        memory = make(Documents(client))
        name = Documents(client).post(sentences=["Yes.", "No."], translation_memory_id=memory)["id"]
    with ready(settings) as server, server.client() as client:
        documents = Documents(client)
        assert documents.put(name, 1, translation="N\u00f6.")["memory"] == {"kept": True}
        assert entries(documents, memory)["No."] == ("N\u00f6.", "correction")
        until(lambda: documents.get(name)["state"] == "done", "the document is done")
        client.delete(f"{MEMORIES}/{memory}")
