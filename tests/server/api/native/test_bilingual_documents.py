"""Documents of a model whose context is on the decoder's side: made of first translations."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from export.context_parity import half_precision
from model import document_search
from model.document import DocumentModel
from model.document_search import search_document, stack_store
from server.artifact.artifact import Artifact
from server.stores.open_store import open_store
from server.text.base.pieces import Pieces
from server.text.protect.capitals import with_initial_of
from tests.server.api.conftest import RunningServer, ready, settings_for
from tests.server.api.documents import MANY, STORY, Documents, alone, checked, translations
from tests.server.api.native.test_document_invariants import OTHER, results_of, scenario, url_of

LONGEST = 14
"""Tokens of a translation; the reference takes one limit for both passes, as a document's max_length is."""


@pytest.fixture(scope="module")
def artifact(bilingual_artifact: Path) -> Path:
    return bilingual_artifact


@pytest.fixture(scope="module")
def bilingual_server(artifact: Path) -> Iterator[RunningServer]:
    with ready(settings_for(artifact)) as server:
        yield server


@pytest.fixture
def documents(bilingual_server: RunningServer) -> Iterator[Documents]:
    with bilingual_server.client() as client:
        yield Documents(client)


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_two_passes_are_the_reference_protocol(
    documents: Documents, artifact: Path, bilingual_model: DocumentModel, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference keeps states at half precision, as the server does."""
    monkeypatch.setattr(document_search, "stack_store", lambda sentences: half_precision(stack_store(sentences)))
    pieces, penalty = Pieces(artifact / "vocabulary.model"), Artifact.load(artifact).manifest.length_penalty
    sources = [ids[:-1] for ids in pieces.encode(STORY)]
    expected = search_document(
        bilingual_model, sources, mode == "online", beam_size=2, max_length=LONGEST, length_penalty=penalty
    )
    done = documents.post(sentences=STORY, mode=mode, max_length=LONGEST, explain=True)
    assert (done["context"], done["state"], done["progress"]) == (True, "done", 1.0)
    texts = pieces.decode(hypotheses[0].ids for hypotheses in expected)
    assert translations(done) == list(map(with_initial_of, STORY, texts))
    for sentence in done["sentences"]:
        looked = {used["index"] for used in sentence["context_used"]}
        seen = set(range(sentence["index"] if mode == "online" else len(STORY))) - {sentence["index"]}
        assert looked <= seen
        total = sum(used["weight"] for used in sentence["context_used"])
        assert total == pytest.approx(1 if looked else 0, abs=1e-4)
    assert sum(bool(sentence["context_used"]) for sentence in done["sentences"]) >= 4


def test_context_makes_a_difference(documents: Documents, bilingual_server: RunningServer) -> None:
    offline, online = (translations(documents.post(sentences=STORY, mode=mode)) for mode in ("offline", "online"))
    by_themselves = alone(bilingual_server, STORY)
    assert len({tuple(offline), tuple(online), tuple(by_themselves)}) == 3
    assert online[0] == by_themselves[0]
    assert [model["context"] for model in documents.client.get("/v1/models").json()["models"]] == [True]


def test_one_sentence_is_the_sentence(documents: Documents, bilingual_server: RunningServer) -> None:
    for source in ("She has a red umbrella.", "", "we walk home " * 60, "One. Two.", "***"):
        assert translations(documents.post(sentences=[source])) == alone(bilingual_server, [source])


def test_what_comes_later_changes_nothing_before_it(documents: Documents) -> None:
    longest = results_of(documents.post(sentences=STORY, mode="online", explain=True))
    for count in (1, 4):
        done = documents.post(sentences=STORY[:count] + OTHER, mode="online", explain=True)
        assert results_of(done)[:count] == longest[:count]
    grown = documents.post(sentences=STORY[:3], mode="online", explain=True)
    before = grown["sentences"]
    documents.append(grown["id"], STORY[3])
    documents.append(grown["id"], STORY[4:])
    after = documents.get(grown["id"], explain="true")
    assert after["sentences"][:3] == before
    assert results_of(after) == longest


def test_a_corrected_document_is_the_document_of_the_corrected_sources(documents: Documents) -> None:
    corrected = "She sells bread and milk."
    for mode in ("offline", "online"):
        fresh = documents.post(sentences=[*STORY[:3], corrected, *STORY[4:]], mode=mode, explain=True)
        old = documents.post(sentences=STORY, mode=mode)
        documents.put(old["id"], 3, 202, "affected", source=corrected)
        assert results_of(documents.done(old["id"])) == results_of(fresh)


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_an_edited_translation_is_context_for_the_rest(documents: Documents, mode: str) -> None:
    """retranslate=affected follows it; what is appended sees it, too."""
    edits = {2: "Der Schirm ist nicht ihrer.", 5: "Ja!"}
    old = documents.post(sentences=STORY, mode=mode)
    for index, text in edits.items():
        documents.put(old["id"], index, 202, "affected", translation=text)
    new = documents.done(old["id"])
    assert [new["sentences"][index]["translation"] for index in edits] == list(edits.values())
    touched = [sentence["index"] for sentence in new["sentences"] if sentence["version"] > 1]
    assert touched == ([*range(2, len(STORY))] if mode == "online" else [*range(len(STORY))])
    assert translations(new)[3:5] != translations(old)[3:5]
    # The other way round, and without `affected`: sentences are translated again one by one.
    other = documents.post(sentences=STORY, mode=mode)
    for index in reversed(edits):
        documents.put(other["id"], index, translation=edits[index])
    for index in set(range(len(STORY))) - set(edits):
        documents.put(other["id"], index, source=STORY[index])
    assert results_of(documents.get(other["id"], explain="true")) == results_of(new)
    if mode == "online":
        pairs = [documents.append(item["id"], OTHER[0])["sentences"][0]["translation"] for item in (new, other)]
        assert pairs[0] == pairs[1]


def test_the_attention_of_an_edited_translation(documents: Documents, bilingual_server: RunningServer) -> None:
    old = documents.post(sentences=[*STORY, "One. Two. Three."])
    for index, text in ((2, "Von Hand."), (3, "Das Haus steht am Fluss. " * 50), (4, ""), (8, "Eins. Zwei. Drei.")):
        assert documents.put(old["id"], index, translation=text)["sentence"]["edited"]
        assert documents.context(old["id"], index)["context"] is True
    seen = [sentence for index in (0, 5, 8) for sentence in documents.context(old["id"], index)["sentences"]]
    assert all(item["index"] != 4 for item in seen)  # it has no words
    edited = next(item for item in seen if item["index"] == 2)
    pieces = bilingual_server.state.translators["bilingual"].target_pieces
    assert pieces.decode([ids_of(pieces, edited["words"])]) == ["Von Hand."]


def ids_of(pieces: Pieces, words: list[dict[str, Any]]) -> list[int]:
    """The ids of the pieces that an explanation lists."""
    known = {text: index for index, text in enumerate(pieces.texts(range(len(pieces))))}
    return [known[word["text"]] for word in words]


def test_the_context_of_a_sentence_makes_no_drafts(artifact: Path, tmp_path: Path) -> None:
    """What was made for a reader and thrown away would be made again for every reader."""
    url = f"sqlite:///{tmp_path}/documents.db"
    store = open_store(url)
    with ready(settings_for(artifact, context_store=url)) as server, server.client() as client:
        name = Documents(client).post(sentences=STORY)["id"]
        document, sentences = store.read(name)
        undrafted = [dataclasses.replace(part, context_ids=None) for part in sentences[0].parts]
        without = dataclasses.replace(sentences[0], parts=tuple(undrafted))
        store.update(dataclasses.replace(document, version=document.version + 1), document.version, [without])
        before = server.metric("sentences_total", finish_reason="eos", model="bilingual")
        response = client.get(f"/v1/documents/{name}/sentences/1/context")
        assert "not translated yet" in checked(response, 409)["error"]["message"]
        assert server.metric("sentences_total", finish_reason="eos", model="bilingual") == before
    store.close()


@pytest.mark.parametrize("index", [2, 6])
def test_the_attention_of_a_sentence(documents: Documents, bilingual_server: RunningServer, index: int) -> None:
    """Among the words of drafts; the engine itself gives the same."""
    done = documents.post(sentences=STORY, explain=True)
    result = documents.context(done["id"], index)
    assert 0 < result["gate"] < 1
    assert [(item["index"], pytest.approx(item["weight"], abs=1e-6)) for item in result["sentences"]] == [
        (item["index"], item["weight"]) for item in done["sentences"][index]["context_used"]
    ]
    pieces = bilingual_server.state.translators["bilingual"].target_pieces
    drafts = [
        translation["text"] for translation in bilingual_server.translate(STORY, beam_size=1).json()["translations"]
    ]
    for sentence in result["sentences"]:
        assert sentence["source"] == STORY[sentence["index"]]
        assert pieces.decode([ids_of(pieces, sentence["words"])]) == [drafts[sentence["index"]]]
        assert sum(word["weight"] for word in sentence["words"]) == pytest.approx(sentence["weight"], abs=1e-5)


def test_a_sentence_that_is_not_translated_has_no_attention(artifact: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/documents.db"
    with ready(settings_for(artifact, context_store=url)) as server, server.client() as client:
        name = Documents(client).post(202, sentences=MANY, wait=False)["id"]
        answer = client.get(f"/v1/documents/{name}/sentences/{len(MANY) - 1}/context")
        assert answer.status_code == 409, answer.text
        assert "not translated yet" in answer.json()["error"]["message"]


def test_translate_and_score_with_context(documents: Documents, bilingual_server: RunningServer) -> None:
    online = translations(documents.post(sentences=STORY, mode="online"))
    answer = bilingual_server.translate(STORY[-1], beam_size=2, context=STORY[:-1]).json()
    assert answer["context"] is True
    assert answer["translations"][0]["text"] == online[-1]
    item = {"source": STORY[-1], "target": ["Ja.", "Nein."]}
    body = {"items": [item, {**item, "context": STORY[:-1]}], "source": "en", "target": "de"}
    scored = checked(documents.client.post("/v1/score", json=body), 200)
    assert scored["context"] is True
    plain, within = (entry["targets"][0]["score"] for entry in scored["items"])
    assert within != pytest.approx(plain, abs=0.1)


@pytest.mark.parametrize("kind", ["sqlite", "redis", "no cache"])
def test_every_store_gives_the_same_answers(
    documents: Documents, artifact: Path, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    changes = {"context_cache_bytes": 0} if kind == "no cache" else {"context_store": url_of(kind, tmp_path, request)}
    expected = scenario(documents)
    with ready(settings_for(artifact, **changes)) as server, server.client() as client:
        assert scenario(Documents(client)) == expected


def test_a_restarted_server_continues_from_the_ids(documents: Documents, artifact: Path, tmp_path: Path) -> None:
    """Drafts are kept, states are made again from their ids."""
    whole = results_of(documents.post(sentences=STORY, mode="online", explain=True))
    url = f"sqlite:///{tmp_path}/documents.db"
    settings = settings_for(artifact, context_store=url)
    with ready(settings) as server, server.client() as client:
        name = Documents(client).post(sentences=STORY[:5], mode="online")["id"]
    with ready(settings) as server, server.client() as client:
        appended = Documents(client).append(name, STORY[5:], first_index=5)
        assert len(appended["sentences"]) == 3
        assert results_of(Documents(client).get(name, explain="true")) == whole
        decoded = server.metric("sentences_total", finish_reason="eos", model="bilingual")
        decoded += server.metric("sentences_total", finish_reason="length", model="bilingual")
    assert decoded == 1 + 2 * 3  # the warm-up, and three sentences twice
    store = open_store(url)
    assert all(part.context_ids is not None for sentence in store.sentences(name) for part in sentence.parts)
    store.close()
