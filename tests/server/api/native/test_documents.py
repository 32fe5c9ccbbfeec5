"""Documents over HTTP: the answer has what was requested."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from server.text.checks.flags import find_flags
from tests.server.api.conftest import RunningServer, until
from tests.server.api.documents import MANY, STORY, Documents, alone, translations


@pytest.fixture
def documents(document_server: RunningServer) -> Iterator[Documents]:
    with document_server.client() as client:
        yield Documents(client)


@pytest.fixture
def plain(server: RunningServer) -> Iterator[Documents]:
    """Documents of a model that knows no context."""
    with server.client() as client:
        yield Documents(client)


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_a_document_is_translated(documents: Documents, mode: str) -> None:
    done = documents.post(sentences=STORY, mode=mode, explain=True)
    assert (done["state"], done["mode"], done["progress"], done["context"]) == ("done", mode, 1.0, True)
    assert [item["source"] for item in done["sentences"]] == STORY
    assert [item["index"] for item in done["sentences"]] == list(range(len(STORY)))
    assert documents.get(done["id"], explain="true") == done
    assert "context_used" not in documents.get(done["id"])["sentences"][1]
    for sentence in done["sentences"]:
        assert sentence["version"] == 1
        assert not sentence["pending"]
        looked = [used["index"] for used in sentence["context_used"]]
        weights = [used["weight"] for used in sentence["context_used"]]
        seen = [other for other in range(len(STORY)) if other != sentence["index"]]
        if mode == "online":
            seen = seen[: sentence["index"]]
        assert set(looked) <= set(seen)
        assert weights == sorted(weights, reverse=True)
        assert sum(weights) == pytest.approx(1 if seen else 0, abs=1e-5)


def test_without_wait_it_is_accepted_and_polled(documents: Documents) -> None:
    body = {"source": "en", "target": "de", "sentences": STORY, "beam_size": 2}
    accepted = documents.client.post("/v1/documents", json=body)
    assert accepted.status_code in (200, 202)
    location = accepted.headers["Location"]
    assert location == f"/v1/documents/{accepted.json()['id']}"
    done = documents.done(accepted.json()["id"])
    assert translations(done) == translations(documents.post(sentences=STORY))
    assert documents.client.get(location).json()["state"] == "done"


def test_sentences_that_look_wrong_have_flags(plain: Documents) -> None:
    """In every answer that has them, and not where a person wrote the translation. What is cut off has "truncated", and
    what lacks a part of its source may have it, too (tests/server/documents/test_flags.py)."""
    done = plain.post(sentences=STORY)
    expected = [list(find_flags(each["source"], each["translation"], ("en", "de"))) for each in done["sentences"]]
    given = [each.get("flags", []) for each in done["sentences"]]
    cut_off = [each["finish_reason"] == "length" for each in done["sentences"]]
    assert [[flag for flag in flags if flag != "truncated"] for flags in given] == expected
    assert all(flags[-1:] == ["truncated"] for flags, is_cut in zip(given, cut_off, strict=True) if is_cut)
    assert any(given), "a model of random weights says nothing that looks wrong: take other sentences"
    at = next(number for number, flags in enumerate(given) if flags)
    changed = plain.client.put(f"/v1/documents/{done['id']}/sentences/{at}", json={"translation": "So."}).json()
    assert "flags" not in changed["sentence"]


def test_context_makes_a_difference(documents: Documents, document_server: RunningServer) -> None:
    """Otherwise the other tests of it would test nothing."""
    offline, online = (translations(documents.post(sentences=STORY, mode=mode)) for mode in ("offline", "online"))
    by_themselves = alone(document_server, STORY)
    assert len({tuple(offline), tuple(online), tuple(by_themselves)}) == 3
    assert online[0] == by_themselves[0]


def test_a_text_comes_back_with_its_gaps(documents: Documents) -> None:
    text = "\n  - One day.  Two days!\n\n\tThree?\u3000Yes. \r\n***\n"
    done = documents.post(text=text)
    assert [sentence["source"] for sentence in done["sentences"]] == ["One day.", "Two days!", "Three?", "Yes."]
    response = documents.client.get(f"/v1/documents/{done['id']}/result")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    first, two, three, four = translations(done)
    assert response.text == f"\n  - {first}  {two}\n\n\t{three}\u3000{four} \r\n***\n"


def test_sentences_come_back_on_lines(documents: Documents) -> None:
    done = documents.post(sentences=STORY[:3])
    text = documents.client.get(f"/v1/documents/{done['id']}/result").text
    assert text == "\n".join(translations(done))


@pytest.mark.parametrize("fields", [{"sentences": []}, {"text": ""}, {"text": " \n"}])
def test_an_empty_document_is_done(documents: Documents, fields: dict[str, Any]) -> None:
    done = documents.post(wait=False, **fields)
    assert (done["state"], done["sentences"], done["progress"]) == ("done", [], 1.0)
    assert documents.client.get(f"/v1/documents/{done['id']}/result").text == fields.get("text", "")


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_empty_odd_long_and_equal_sentences(documents: Documents, document_server: RunningServer, mode: str) -> None:
    sources = ["", "Yes.", " \n", "***", "Yes.", "we walk home " * 60, "a\x00b\r\nc", "  Two. Sentences! ", ""]
    done = documents.post(sentences=sources, mode=mode, explain=True)
    assert [item["source"] for item in done["sentences"]] == sources
    by_index = translations(done)
    assert [by_index[index] for index in (0, 2, 3, 8)] == ["", " \n", "***", ""]
    assert by_index[6].count("\r\n") == 1
    assert by_index[7].startswith("  ")
    assert by_index[7].endswith(" ")
    empty = {0, 2, 3, 8}
    for sentence in done["sentences"]:
        assert not empty & {used["index"] for used in sentence["context_used"]}
    if mode == "online":  # what comes first has nothing to look at
        assert by_index[1] == alone(document_server, ["Yes."])[0]


def test_online_goes_on(documents: Documents) -> None:
    whole = documents.post(sentences=STORY, mode="online")
    growing = documents.post(sentences=STORY[:2], mode="online")
    translation = documents.append(growing["id"], STORY[2], first_index=2)
    assert [sentence["index"] for sentence in translation["sentences"]] == [2]
    many = documents.append(growing["id"], STORY[3:])
    assert translations(whole) == translations(growing) + translations(translation) + translations(many)
    assert many["version"] > translation["version"] > growing["version"]
    assert translations(documents.get(growing["id"])) == translations(whole)


def test_online_from_nothing(documents: Documents) -> None:
    empty = documents.post(sentences=[], mode="online")
    answers = [documents.append(empty["id"], source, first_index=index) for index, source in enumerate(STORY)]
    translated = [translation for answer in answers for translation in translations(answer)]
    assert translated == translations(documents.post(sentences=STORY, mode="online"))


def test_the_attention_of_a_sentence(documents: Documents) -> None:
    done = documents.post(sentences=STORY, explain=True)
    for sentence in done["sentences"]:
        result = documents.context(done["id"], sentence["index"])
        assert (result["index"], result["context"]) == (sentence["index"], True)
        assert 0 < result["gate"] < 1
        assert [(item["index"], pytest.approx(item["weight"], abs=1e-6)) for item in result["sentences"]] == [
            (item["index"], item["weight"]) for item in sentence["context_used"]
        ]
        heads = [sum(weights) for weights in zip(*(item["heads"] for item in result["sentences"]), strict=True)]
        assert heads == pytest.approx([1.0] * len(heads), abs=1e-5)
        assert all(item["source"] == STORY[item["index"]] for item in result["sentences"])
        for item in result["sentences"]:
            spelled = "".join(word["text"] for word in item["words"]).replace("\u2581", " ").strip()
            assert re.sub("<0x(..)>", lambda byte: chr(int(byte[1], 16)), spelled) == item["source"]
            assert sum(word["weight"] for word in item["words"]) == pytest.approx(item["weight"], abs=1e-5)


def test_the_first_sentence_online_looks_nowhere(documents: Documents) -> None:
    done = documents.post(sentences=STORY, mode="online")
    assert documents.context(done["id"], 0) == {"index": 0, "context": False, "sentences": []}


def test_a_model_without_context_translates_every_sentence_by_itself(plain: Documents, server: RunningServer) -> None:
    for mode in ("offline", "online"):
        done = plain.post(sentences=STORY, mode=mode, explain=True)
        assert done["context"] is False
        assert translations(done) == alone(server, STORY)
        assert all(sentence["context_used"] == [] for sentence in done["sentences"])
        assert plain.context(done["id"], 2) == {"index": 2, "context": False, "sentences": []}
    growing = plain.post(sentences=[], mode="online")
    assert translations(plain.append(growing["id"], STORY)) == alone(server, STORY)


def test_the_documents_are_counted_when_the_metrics_are_read(documents: Documents) -> None:
    def count() -> float:
        lines = documents.client.get("/metrics").text.splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("ringmt_context_store_documents{")))

    before = count()
    name = documents.post(sentences=STORY[:1])["id"]
    assert count() == before + 1
    documents.client.delete(f"/v1/documents/{name}")
    assert count() == before


def test_deleted_is_gone(documents: Documents, document_server: RunningServer) -> None:
    done = documents.post(sentences=STORY)
    response = documents.client.delete(f"/v1/documents/{done['id']}")
    assert (response.status_code, response.content) == (204, b"")
    documents.get(done["id"], 404)
    assert documents.client.delete(f"/v1/documents/{done['id']}").status_code == 404


def test_deleted_while_it_is_translated(documents: Documents, document_server: RunningServer) -> None:
    lost = document_server.metric("document_jobs_total", result="lost", model="")
    accepted = documents.post(202, sentences=MANY, wait=False)
    until(lambda: document_server.sentences > 0, "it is being translated")
    assert documents.client.delete(f"/v1/documents/{accepted['id']}").status_code == 204
    ended = "the work on it has ended"
    until(lambda: document_server.metric("document_jobs_total", result="lost", model="") == lost + 1, ended)
    until(lambda: document_server.sentences == 0, "every slot is free")
    documents.get(accepted["id"], 404)


def test_models_say_whether_they_know_context(documents: Documents, plain: Documents) -> None:
    assert [model["context"] for model in documents.client.get("/v1/models").json()["models"]] == [True]
    assert [model["context"] for model in plain.client.get("/v1/models").json()["models"]] == [False]


def test_translate_with_context(documents: Documents, document_server: RunningServer) -> None:
    online = translations(documents.post(sentences=STORY, mode="online"))
    for context in (STORY[:-1], " ".join(STORY[:-1])):
        answer = document_server.translate(STORY[-1], beam_size=2, context=context).json()
        assert answer["context"] is True
        assert answer["translations"][0]["text"] == online[-1]
    for nothing in ([], "", "***", [""]):
        answer = document_server.translate(STORY[-1], beam_size=2, context=nothing).json()
        assert answer["translations"][0]["text"] == alone(document_server, STORY[-1:])[0]
    assert "context" not in document_server.translate("Yes.").json()


def test_translate_with_context_by_a_model_that_knows_none(server: RunningServer) -> None:
    answer = server.translate("Yes.", beam_size=2, context="No.").json()
    assert answer["context"] is False
    assert answer["translations"][0]["text"] == alone(server, ["Yes."])[0]
