"""Corrected sources, edited translations, and which sentences are translated again."""

from collections.abc import Iterator

import pytest

from tests.server.api.conftest import RunningServer
from tests.server.api.documents import MANY, STORY, Documents, translations

CORRECTED = "She sells bread and milk."


@pytest.fixture
def documents(document_server: RunningServer) -> Iterator[Documents]:
    with document_server.client() as client:
        yield Documents(client)


@pytest.mark.parametrize("mode", ["offline", "online"])
@pytest.mark.parametrize("index", [0, 3, 7])
def test_a_corrected_document_is_the_document_of_the_corrected_sources(
    documents: Documents, mode: str, index: int
) -> None:
    """With retranslate=affected: as if it had always been so."""
    sources = [*STORY[:index], CORRECTED, *STORY[index + 1 :]]
    fresh = documents.post(sentences=sources, mode=mode, explain=True)
    old = documents.post(sentences=STORY, mode=mode)
    last = mode == "online" and index == len(STORY) - 1
    answer = documents.put(old["id"], index, 200 if last else 202, "affected", source=CORRECTED)
    assert answer["sentence"]["translation"] == fresh["sentences"][index]["translation"]
    new = documents.done(old["id"])
    assert translations(new) == translations(fresh)
    for mine, theirs in zip(new["sentences"], fresh["sentences"], strict=True):
        assert mine["context_used"] == theirs["context_used"]
    changed = [sentence["index"] for sentence in new["sentences"] if sentence["version"] > 1]
    assert changed == ([*range(index, len(STORY))] if mode == "online" else [*range(len(STORY))])


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_without_retranslate_only_the_sentence_changes(documents: Documents, mode: str) -> None:
    old = documents.post(sentences=STORY, mode=mode)
    answer = documents.put(old["id"], 3, source=CORRECTED)
    assert (answer["state"], answer["sentence"]["source"], answer["sentence"]["version"]) == ("done", CORRECTED, 2)
    assert answer["version"] > old["version"]
    new = documents.get(old["id"])
    for before, after in zip(old["sentences"], new["sentences"], strict=True):
        assert after == (answer["sentence"] if before["index"] == 3 else before)


def test_an_edited_translation_changes_nothing_else(documents: Documents) -> None:
    """The context is made of sources: no sentence is affected."""
    old = documents.post(sentences=STORY)
    answer = documents.put(old["id"], 2, retranslate="affected", translation="Von Hand.")
    assert (answer["sentence"]["translation"], answer["sentence"]["edited"]) == ("Von Hand.", True)
    new = documents.get(old["id"])
    assert new["state"] == "done"
    assert [after for after in new["sentences"] if after["index"] != 2] == [
        before for before in old["sentences"] if before["index"] != 2
    ]
    text = documents.client.get(f"/v1/documents/{old['id']}/result").text
    assert text.split("\n")[2] == "Von Hand."


def test_an_edited_translation_is_never_translated_again(documents: Documents) -> None:
    old = documents.post(sentences=STORY)
    documents.put(old["id"], 2, translation="Von Hand.")
    documents.put(old["id"], 0, 202, "affected", source=CORRECTED)
    new = documents.done(old["id"])
    assert new["sentences"][2]["translation"] == "Von Hand."
    assert new["sentences"][2]["edited"]
    fresh = documents.post(sentences=[CORRECTED, *STORY[1:]])
    assert [translation for translation in translations(new) if translation != "Von Hand."] == [
        item for index, item in enumerate(translations(fresh)) if index != 2
    ]


def test_a_new_source_ends_an_edit_unless_it_comes_with_one(documents: Documents) -> None:
    old = documents.post(sentences=STORY)
    documents.put(old["id"], 2, translation="Von Hand.")
    both = documents.put(old["id"], 2, source=CORRECTED, translation="Anders.")["sentence"]
    assert (both["source"], both["translation"], both["edited"]) == (CORRECTED, "Anders.", True)
    again = documents.put(old["id"], 2, source=STORY[2])["sentence"]
    assert (again["translation"], again["edited"]) == (translations(old)[2], False)
    assert again["version"] == 4


def test_a_correction_back_and_forth_is_where_it_was(documents: Documents) -> None:
    old = documents.post(sentences=STORY, explain=True)
    for source in (CORRECTED, STORY[4]):
        documents.put(old["id"], 4, 202, "affected", source=source)
        new = documents.done(old["id"])
    assert translations(new) == translations(old)
    assert [sentence["context_used"] for sentence in new["sentences"]] == [
        item["context_used"] for item in old["sentences"]
    ]


def test_a_document_is_corrected_while_it_is_translated(documents: Documents) -> None:
    """Corrections, one after the other, never wait for the job and are never lost to it."""
    accepted = documents.post(202, sentences=MANY[:160], wait=False)
    for index in (0, 50, 159):
        documents.put(accepted["id"], index, None, "affected", source=CORRECTED)
    documents.put(accepted["id"], 100, None, translation="Von Hand.")
    new = documents.done(accepted["id"])
    sources = [CORRECTED if index in (0, 50, 159) else source for index, source in enumerate(MANY[:160])]
    assert [sentence["source"] for sentence in new["sentences"]] == sources
    fresh = translations(documents.post(sentences=sources))
    fresh[100] = "Von Hand."
    assert translations(new) == fresh


def test_an_empty_source_and_an_empty_translation(documents: Documents) -> None:
    old = documents.post(sentences=STORY)
    assert documents.put(old["id"], 1, source="")["sentence"]["translation"] == ""
    assert documents.put(old["id"], 2, translation="")["sentence"]["translation"] == ""
    documents.put(old["id"], 0, 202, "affected", source=CORRECTED)
    done = documents.done(old["id"])
    assert translations(done)[1:3] == ["", ""]
    assert all(used["index"] != 1 for sentence in done["sentences"] for used in sentence["context_used"])
