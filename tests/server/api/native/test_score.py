"""`POST /v1/score`."""

import json
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

from model.data.batching import Pair
from model.document import DocumentModel
from model.translation_model import TranslationModel
from server.artifact.manifest import MANIFEST
from server.settings import EngineSettings
from server.text.base.pieces import Pieces
from tests.scores import teacher_forced
from tests.server.api.conftest import RunningServer, ready, settings_for, until
from tests.server.api.native.test_translate import error_of
from tests.server.api.test_odd_input import BODIES, TEXTS

SOURCE = "She sells bread and milk."
TARGETS = ["Das Haus steht am Fluss.", "Wo ist der Bahnhof?", "", "Wir gehen im Regen nach Hause. " * 2, "Yes."]


def ask(server: RunningServer, items: object, **fields: object) -> httpx.Response:
    with server.client() as client:
        return client.post("/v1/score", json={"items": items, "source": "en", "target": "de", **fields})


def answer(server: RunningServer, items: object, **fields: object) -> Any:
    response = ask(server, items, **fields)
    assert response.status_code == 200, response.text
    return response.json()


def ids_of(artifact: Path, *texts: str) -> list[tuple[int, ...]]:
    return Pieces(artifact / "vocabulary.model").encode(texts)


def test_scores_are_those_of_the_model(
    server: RunningServer, tiny_artifact: Path, tiny_model: TranslationModel
) -> None:
    body = answer(server, {"source": SOURCE, "target": TARGETS}, tokens=True)
    assert (body["model"], "context" in body) == ("tiny", False)
    assert set(body["timings"]) == {"queue", "encode", "decode", "total"}
    [item] = body["items"]
    source, *targets = ids_of(tiny_artifact, SOURCE, *TARGETS)
    expected = [teacher_forced(tiny_model, source, target) for target in targets]
    assert max(map(len, targets)) > 8 * (tiny_model.config.ngram or 0), "no ring wraps"
    for text, target, sentence in zip(TARGETS, expected, item["targets"], strict=True):
        assert (sentence["target"], sentence["num_tokens"]) == (text, len(target))
        assert [token["score"] for token in sentence["tokens"]] == pytest.approx(target, abs=1e-4)
        assert sentence["tokens"][-1]["text"] == "</s>"
        assert sentence["score"] == pytest.approx(sum(target), abs=1e-3)
        assert sentence["mean_score"] == pytest.approx(sum(target) / len(target), abs=1e-4)
    assert item["best"] == max(range(len(expected)), key=lambda index: sum(expected[index]))


def test_a_list_equals_its_items_alone(server: RunningServer) -> None:
    items = [
        {"source": SOURCE, "target": TARGETS[0]},
        {"source": "", "target": ["Ja.", ""]},
        {"source": "Yes. Where is the station?\n", "target": TARGETS * 4},
    ]
    together = answer(server, items)["items"]
    assert [len(item["targets"]) for item in together] == [1, 2, 20]
    for item, entry in zip(items, together, strict=True):
        [alone] = answer(server, item)["items"]
        assert entry["best"] == alone["best"]
        for target, other in zip(entry["targets"], alone["targets"], strict=True):
            assert target["score"] == pytest.approx(other["score"], abs=1e-3)
            assert "tokens" not in target


def test_scores_in_context(
    document_server: RunningServer, document_artifact: Path, document_model: DocumentModel
) -> None:
    before = ["The old man reads a book every day.", "It is cold today."]
    items = [{"source": SOURCE, "target": TARGETS, "context": before}, {"source": SOURCE, "target": TARGETS}]
    body = answer(document_server, items, tokens=True)
    assert body["context"] is True
    source, *rest = ids_of(document_artifact, SOURCE, *before, *TARGETS)
    pairs = [Pair(list(ids[:-1]), []) for ids in rest[:2]]
    for item, context in zip(body["items"], (pairs, []), strict=True):
        for hypothesis, target in zip(item["targets"], rest[2:], strict=True):
            expected = teacher_forced(document_model, source, target, context)
            assert [token["score"] for token in hypothesis["tokens"]] == pytest.approx(expected, abs=1e-3)
    within, alone = ([sentence["score"] for sentence in item["targets"]] for item in body["items"])
    assert max(abs(a - b) for a, b in zip(within, alone, strict=True)) > 0.1


def test_a_model_without_context_says_so(server: RunningServer) -> None:
    item = {"source": SOURCE, "target": TARGETS}
    within, alone = answer(server, {**item, "context": "It rains."}), answer(server, item)
    assert within["context"] is False
    scores = [[target["score"] for target in body["items"][0]["targets"]] for body in (within, alone)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)


def test_a_shortlist_changes_no_score(tiny_artifact: Path, server: RunningServer) -> None:
    engine = EngineSettings(slots=4, num_workers=1, precision="fp32", shortlist="on", max_beam_size=4)
    with ready(settings_for(tiny_artifact, engine)) as other:
        item = {"source": SOURCE, "target": TARGETS}
        mine, theirs = (answer(entry, item)["items"][0]["targets"] for entry in (server, other))
    assert [sentence["score"] for sentence in mine] == pytest.approx([their["score"] for their in theirs], abs=1e-3)


TORCH = EngineSettings(slots=4, num_workers=1, backend="torchscript", precision="fp32", max_beam_size=4)


def test_torchscript_scores_the_same(tiny_artifact: Path, server: RunningServer) -> None:
    with ready(settings_for(tiny_artifact, TORCH)) as other:
        item = {"source": SOURCE, "target": TARGETS}
        mine, theirs = (answer(entry, item, tokens=True)["items"][0]["targets"] for entry in (server, other))
    for ours, given in zip(mine, theirs, strict=True):
        expected = [token["score"] for token in ours["tokens"]]
        assert [token["score"] for token in given["tokens"]] == pytest.approx(expected, abs=1e-4)


def test_torchscript_of_an_older_export_says_that_it_cannot(tiny_artifact: Path, tmp_path: Path) -> None:
    older = tmp_path / tiny_artifact.name
    shutil.copytree(tiny_artifact, older)
    manifest = json.loads((older / MANIFEST).read_text(encoding="utf-8"))
    for graph in manifest["graphs"]:
        graph |= {"score": "", "align": ""} if graph["format"] == "torchscript" else {}
    (older / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    with ready(settings_for(older, TORCH)) as server:
        error = error_of(ask(server, {"source": SOURCE, "target": "Ja."}), 422)
        assert error["param"] == "model"
        assert "--backend onnx" in error["message"]
        assert server.translate("Yes.").status_code == 200


@pytest.mark.parametrize(
    ("items", "status", "message"),
    [
        ({"source": "a", "target": []}, 422, "items[0].target: must be a translation or a list of at least one"),
        ([{"source": "a", "target": "b"}, {"source": "a"}], 422, "items[1].target"),
        ([{"source": "a", "target": "b", "contxt": "c"}], 422, "items[0].contxt"),
        ({"source": ["a"], "target": "b"}, 422, "items[0].source"),
        ({"source": "a", "target": "b", "context": 3}, 422, "items[0].context: must be a string"),
        ({"source": "a", "target": ["b", 1]}, 422, "items[0].target: must be a string"),
        ("a", 422, "items"),
        (["a"], 422, "items[0]"),
        ([None], 422, "items[0]"),
        ({"source": "house " * 200, "target": "b"}, 413, "item 0: the source has"),
        ([{"source": "a", "target": "b"}, {"source": "a", "target": ["b", "haus " * 90]}], 413, "item 1: target 1"),
        ([{"source": "a", "target": "b"}] * 51, 413, "51 texts, at most 50"),
        ({"source": "a", "target": ["b"] * 51}, 413, "51 texts, at most 50"),
        ({"source": "a", "target": "b" * 20_001}, 413, "20001 characters"),
        ({"source": "a", "target": "b", "context": "Yes. " * 4_001}, 413, "20005 characters"),
        ({"source": "a", "target": "b", "context": ["Yes."] * 2_001}, 413, "2001 sentences of context"),
    ],
)
def test_what_cannot_be_scored(server: RunningServer, items: object, status: int, message: str) -> None:
    error = error_of(ask(server, items), status)
    assert (error["type"], error["param"]) == ("invalid_value" if status == 422 else "too_large", "items")
    assert message in error["message"]


def test_other_fields_are_checked_as_for_translations(server: RunningServer) -> None:
    item = {"source": "a", "target": "b"}
    assert error_of(ask(server, item, model="tny"), 422)["param"] == "model"
    assert error_of(ask(server, item, target="fr"), 422)["param"] == "target"
    assert error_of(ask(server, item, token=True), 422)["message"] == "unknown field 'token': did you mean 'tokens'?"
    assert error_of(ask(server, item, tokens=1), 422)["param"] == "tokens"
    with server.client() as client:
        assert error_of(client.get("/v1/score"), 405)["type"] == "method_not_allowed"


@pytest.mark.parametrize("name", TEXTS)
def test_odd_texts(server: RunningServer, name: str) -> None:
    text = TEXTS[name]
    item = {"source": text if isinstance(text, str) else "a", "target": text}
    assert ask(server, item).status_code in (200, 413)
    until(lambda: server.sentences == 0, "every slot is free")


@pytest.mark.parametrize("name", BODIES)
def test_odd_bodies(server: RunningServer, name: str) -> None:
    with server.client() as client:
        response = client.post("/v1/score", content=BODIES[name], headers={"content-type": "application/json"})
    assert 400 <= response.status_code < 500, response.text


def test_a_deadline_answers_504_and_frees_the_slots(tiny_artifact: Path) -> None:
    with ready(settings_for(tiny_artifact, request_timeout=0.02)) as server:
        items = [{"source": SOURCE, "target": [TARGETS[3]]}] * 50
        assert error_of(ask(server, items), 504)["type"] == "deadline_exceeded"
        until(lambda: server.sentences == 0, "every slot is free")


def test_requests_and_tokens_are_counted(server: RunningServer) -> None:
    labels = {"endpoint": "/v1/score", "code": "200", "model": "tiny"}
    answer(server, {"source": SOURCE, "target": ""})
    requests, tokens = server.metric("requests_total", **labels), server.metric("scored_tokens_total", model="tiny")
    decoded = server.metric("target_tokens_total", model="tiny")
    [item] = answer(server, {"source": SOURCE, "target": TARGETS})["items"]
    assert server.metric("requests_total", **labels) == requests + 1
    result = sum(target["num_tokens"] for target in item["targets"])
    assert server.metric("scored_tokens_total", model="tiny") == tokens + result
    assert server.metric("target_tokens_total", model="tiny") == decoded
