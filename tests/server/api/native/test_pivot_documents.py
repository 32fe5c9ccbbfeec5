"""Documents that two models translate in turn; the slow reference sends two documents, the second made of the first's
translations."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.telemetry.labels import FLAGS
from server.text.checks.flags import find_flags
from tests.server.api.conftest import RunningServer, ready, settings_for
from tests.server.api.documents import STORY, Documents, checked, translations
from tests.server.api.pairs import copy_of

DE_FR: dict[str, Any] = {"source": "de", "target": "fr"}
LEGS: tuple[dict[str, Any], ...] = ({"source": "de", "target": "en"}, {"source": "en", "target": "fr"})


@pytest.fixture(scope="module", params=["encoder", "decoder"])
def through(
    request: pytest.FixtureRequest, document_artifacts: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """A server that gets from German to French by two models, whose context is on one side or the other."""
    folder = tmp_path_factory.mktemp("through")
    for name, languages in {"de-en": ("de", "en"), "en-fr": ("en", "fr")}.items():
        source, target = languages
        copy_of(
            document_artifacts[request.param], folder / name, name=name, source_language=source, target_language=target
        )
    with ready(settings_for(folder)) as server:
        yield server


@pytest.fixture
def documents(through: RunningServer) -> Iterator[Documents]:
    with through.client() as client:
        yield Documents(client)


def by_hand(documents: Documents, sentences: list[str], mode: str = "offline", **options: Any) -> list[str]:
    """The sentences translated as a document, and that again."""
    for languages in LEGS:
        sentences = translations(documents.post(sentences=sentences, mode=mode, **languages, **options))
    return sentences


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_it_is_translated_as_a_document_on_both_legs(through: RunningServer, documents: Documents, mode: str) -> None:
    expected = by_hand(documents, STORY, mode)
    made = documents.post(sentences=STORY, mode=mode, **DE_FR)
    assert translations(made) == expected
    assert [sentence["source"] for sentence in made["sentences"]] == STORY
    assert (made["state"], made["progress"], made["context"]) == ("done", 1.0, True)
    assert (made["source"], made["target"], made["pivot"]) == ("de", "fr", "en")
    assert (made["model"], made["models"]) == ("en-fr", ["de-en", "en-fr"])
    apart = through.translate(STORY, beam_size=2, **DE_FR).json()["translations"]
    assert translations(made) != [translation["text"] for translation in apart], (
        "the sentences saw nothing of each other"
    )


def test_a_text_and_a_file_of_it_have_one_translation(documents: Documents) -> None:
    text = f"  {STORY[0]} {STORY[1]}\n\n{STORY[2]}\n"
    client = documents.client
    made = documents.post(text=text, beam_size=None, **DE_FR)
    answer = client.get(f"/v1/documents/{made['id']}/result")
    file = client.post("/v1/files", data=DE_FR, files={"file": ("story.txt", text.encode())})
    assert (answer.status_code, answer.text) == (200, file.text)
    assert translations(made) == by_hand(documents, STORY[:3], beam_size=None)


def test_sentences_are_appended_through_both_models(documents: Documents) -> None:
    """One after the other, two at once, and after all that was known of the document was forgotten."""
    expected = by_hand(documents, STORY, "online")
    name = documents.post(sentences=[], mode="online", **DE_FR)["id"]
    appended = [item for sentence in STORY[:3] for item in documents.append(name, sentence)["sentences"]]
    appended += documents.append(name, STORY[3:5], first_index=3)["sentences"]
    begun = documents.post(sentences=STORY[:5], mode="online", **DE_FR)["id"]
    again = documents.append(begun, STORY[5:])["sentences"]
    appended += documents.append(name, STORY[5:])["sentences"]
    assert [item["translation"] for item in appended] == expected
    assert [item["translation"] for item in again] == expected[5:]
    assert [item["source"] for item in appended] == STORY
    assert translations(documents.get(name)) == expected
    refused = documents.append(name, "Yes.", 409, first_index=3)
    assert "the next index is 8" in refused["error"]["message"]


def test_a_translation_is_corrected_and_a_source_is_not(documents: Documents) -> None:
    name = documents.post(sentences=STORY[:3], **DE_FR)["id"]
    answer = documents.put(name, 1, translation="Elle a un parapluie.")
    assert (answer["sentence"]["translation"], answer["sentence"]["source"]) == ("Elle a un parapluie.", STORY[1])
    assert answer["sentence"]["edited"]
    for fields in ({"source": "Yes."}, {"source": "Yes.", "translation": "Oui."}):
        refused = documents.put(name, 1, 409, **fields)
        assert "correct the `translation`, or send the document again" in refused["error"]["message"]
    assert translations(documents.get(name))[1] == "Elle a un parapluie."


def test_a_correction_reaches_sentences_that_see_it(documents: Documents) -> None:
    """The slow reference corrects the second of two documents."""
    middles = translations(documents.post(sentences=STORY, **LEGS[0]))
    twin = documents.post(sentences=middles, **LEGS[1])["id"]
    name = documents.post(sentences=STORY, **DE_FR)["id"]
    results = []
    for item in (twin, name):
        documents.put(item, 1, None, "affected", translation="Elle a un parapluie.")
        results.append(translations(documents.done(item, explain="false")))
    assert results[0] == results[1]
    assert results[0][1] == "Elle a un parapluie."


def test_attention_weights_are_refused(documents: Documents) -> None:
    refused = documents.post(422, sentences=STORY, explain=True, **DE_FR)
    assert refused["error"]["param"] == "explain"
    name = documents.post(sentences=STORY, mode="online", **DE_FR)["id"]
    path = f"/v1/documents/{name}"
    client, query = documents.client, {"explain": "true"}
    for answer in (
        client.get(path, params=query),
        client.get(f"{path}/events", params=query),
        client.post(f"{path}/sentences", params=query, json={"sentences": "Yes."}),
        client.get(f"{path}/sentences/1/context"),
    ):
        message = checked(answer, 409)["error"]["message"]
        assert "de to en to fr" in message
        assert "send it as a document into 'en'" in message
    assert len(documents.get(name)["sentences"]) == len(STORY)


def test_events_tell_of_the_second_model_only(documents: Documents) -> None:
    expected = by_hand(documents, STORY)
    name = documents.post(202, sentences=STORY, wait=False, **DE_FR)["id"]
    events: list[Any] = []
    with documents.client.stream("GET", f"/v1/documents/{name}/events") as answer:
        kind = ""
        for line in answer.iter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                events.append((kind, json.loads(line.removeprefix("data: "))))
    sentences = {item["index"]: item for kind, item in events if kind == "sentence"}
    assert [sentences[index]["translation"] for index in range(len(STORY))] == expected
    assert [sentences[index]["source"] for index in range(len(STORY))] == STORY
    assert all(item["translation"] == expected[item["index"]] for kind, item in events if kind == "translated")
    assert events[-1][1]["state"] == "done"


def test_limits_are_those_of_both(documents: Documents) -> None:
    assert documents.post(422, sentences=["Yes."], max_length=9999, **DE_FR)["error"]["param"] == "max_length"
    assert documents.post(422, sentences=["Yes."], model="de-en", **DE_FR)["error"]["param"] == "target"


def counted(server: RunningServer) -> Counter[str]:
    """How often the metrics have counted each flag, of all models."""
    [metric] = [entry for entry in server.state.metrics.registry.collect() if entry.name == "ringmt_sentences_flagged"]
    samples = metric.samples
    return Counter(
        {flag: round(sum(sample.value for sample in samples if sample.labels["flag"] == flag)) for flag in FLAGS}
    )


@pytest.mark.parametrize("languages", [DE_FR, {"source": "de", "target": "en"}])
@pytest.mark.parametrize("glossary", [{}, {"girl": "Z", "umbrella": "Q"}])
def test_the_flags_of_a_text_are_counted_once(
    through: RunningServer, languages: dict[str, Any], glossary: dict[str, str]
) -> None:
    before = counted(through)
    options = {"glossary": glossary} if glossary else {}
    answer = through.translate([*STORY, "7, 14 and 21 of 1999."], max_length=60, **languages, **options).json()
    flags = Counter(
        flag for text in answer["translations"] for sentence in text["sentences"] for flag in sentence["flags"]
    )
    assert flags
    assert counted(through) - before == flags


@pytest.mark.parametrize("languages", [DE_FR, {"source": "de", "target": "en"}])
def test_the_flags_of_a_file_are_counted_once(through: RunningServer, languages: dict[str, Any]) -> None:
    before = counted(through)
    with through.client() as client:
        file = {"file": ("a.txt", " ".join([*STORY, "7, 14 and 21 of 1999."]).encode())}
        done = client.post("/v1/files", data=languages, files=file)
    flags = Counter(
        {flag: int(count) for flag, count in (item.split("=") for item in done.headers["x-flags"].split(", "))}
    )
    assert counted(through) - before == flags


@pytest.mark.parametrize("languages", [DE_FR, {"source": "de", "target": "en"}])
@pytest.mark.parametrize("mode", ["offline", "online"])
def test_the_flags_of_a_document_are_counted_once(
    through: RunningServer, documents: Documents, languages: dict[str, Any], mode: str
) -> None:
    before = counted(through)
    made = documents.post(sentences=[*STORY, "7, 14 and 21 of 1999."], mode=mode, **languages)
    sentences = made["sentences"]
    if mode == "online":
        sentences = [*sentences, *documents.append(made["id"], ["8, 15 and 22 of 1998."])["sentences"]]
    flags = Counter(flag for sentence in sentences for flag in find_flags(sentence["source"], sentence["translation"]))
    flags.update(flag for each in sentences for flag in each.get("flags", []) if flag in ("truncated", "moved"))
    assert flags
    assert counted(through) - before == flags
