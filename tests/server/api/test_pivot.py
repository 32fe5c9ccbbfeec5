"""Where no model translates a pair, two do; the slow twin asks them one after the other, sentence by sentence."""

import asyncio
import shutil
from pathlib import Path

import deepl
import pytest
from libretranslatepy import LibreTranslateAPI

from server.metrics import Metrics
from server.translator import Translator
from tests.server.api.conftest import RunningServer, ready, settings_for
from tests.server.api.pairs import copy_of

SENTENCES = ("Wo ist der Bahnhof?", "Wir gehen im Regen nach Hause.", "Der alte Mann liest jeden Tag ein Buch.")
TEXT = f"{SENTENCES[0]}\n\n  {SENTENCES[1]} {SENTENCES[2]}\n"
DE_FR = {"source": "de", "target": "fr"}


def by_hand(pairs: dict[str, Path]) -> list[tuple[str, float]]:
    """Every sentence in the end, with the scores of both steps."""
    found = []
    loaded = [Translator.load(pairs[name], settings_for(pairs[name]).engine, Metrics()) for name in ("de-en", "en-fr")]
    try:
        for sentence in SENTENCES:
            said, score = sentence, 0.0
            for one in loaded:
                outcome = asyncio.run(one.translate([said], one.options(), splits=False))
                said = outcome.translations[0].text
                score += sum(part.score for part in outcome.translations[0].sentences)
            found.append((said, score))
    finally:
        for one in loaded:
            one.stop(timeout=0)
    return found


def test_two_models_translate_sentence_by_sentence(many: RunningServer, pairs: dict[str, Path]) -> None:
    expected = by_hand(pairs)
    counted = {name: many.metric("target_tokens_total", model=name) for name in ("de-en", "en-fr", "en-de")}
    answer = many.translate([TEXT, ""], **DE_FR).json()
    first, empty = answer["translations"]
    assert first["text"] == f"{expected[0][0]}\n\n  {expected[1][0]} {expected[2][0]}\n"
    assert [one["source"] for one in first["sentences"]] == list(SENTENCES)
    assert [one["score"] for one in first["sentences"]] == pytest.approx([score for _, score in expected], abs=1e-3)
    assert (empty["text"], empty["sentences"]) == ("", [])
    assert (first["pivot"], empty["pivot"]) == ("en", "en")
    assert (answer["model"], answer["models"]) == ("en-fr", ["de-en", "en-fr"])
    assert answer["timings"]["total"] >= answer["timings"]["decode"] > 0
    grew = {name for name, before in counted.items() if many.metric("target_tokens_total", model=name) > before}
    assert grew == {"de-en", "en-fr"}


def test_one_model_is_preferred(many: RunningServer) -> None:
    answer = many.translate("Yes.", target="fr").json()
    assert answer["model"] == "en-fr"
    assert "models" not in answer
    assert "pivot" not in answer["translations"][0]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"stream": True}, "stream"),
        ({"num_hypotheses": 2}, "num_hypotheses"),
        ({"target_prefix": "Il"}, "target_prefix"),
        ({"glossary": {"Bahnhof": "gare"}}, "glossary"),
        ({"keep": ["Ja"]}, "keep"),
        ({"max_length": 9999}, "max_length"),
        ({"model": "de-en"}, "target"),
        ({"source": "fr"}, "source"),
    ],
)
def test_what_two_models_cannot_do_is_told(many: RunningServer, fields: dict[str, object], param: str) -> None:
    refused = many.translate("Yes.", **{**DE_FR, **fields})
    assert (refused.status_code, refused.json()["error"]["param"]) == (422, param)


def test_documents_files_and_scores_are_for_one_model(many: RunningServer) -> None:
    file = {"file": ("book.txt", b"Wo ist der Bahnhof?")}
    with many.client() as client:
        answers = [
            client.post("/v1/documents", json={"sentences": ["Ja."], **DE_FR}),
            client.post("/v1/score", json={"items": [{"source": "Ja.", "target": "Oui."}], **DE_FR}),
            client.post("/v1/files", data=DE_FR, files=file),
        ]
        for answer in answers:
            assert answer.status_code == 422
            assert "'de' is translated into 'fr' through 'en', which is for texts only" in answer.text
        assert client.post("/translate_file", data=DE_FR, files=file).status_code == 400


def test_languages_say_what_can_be_reached(many: RunningServer) -> None:
    with many.client() as client:
        [german, english] = client.get("/v1/languages").json()["languages"]
        assert german == {"source": "de", "targets": ["en"], "through": {"fr": "en"}}
        assert english == {"source": "en", "targets": ["de", "fr"]}
    targets = {one["code"]: one["targets"] for one in LibreTranslateAPI(many.url).languages()}
    assert targets == {"de": ["en", "fr"], "en": ["de", "fr"], "fr": []}


def test_clients_are_translated_for(many: RunningServer) -> None:
    own = many.translate(TEXT, **DE_FR).json()["translations"][0]["text"]
    assert LibreTranslateAPI(many.url).translate(TEXT, "de", "fr") == own
    assert LibreTranslateAPI(many.url).translate(TEXT, "auto", "fr") == own
    found = deepl.DeepLClient("a key", server_url=many.url, send_platform_info=False).translate_text(
        [TEXT], source_lang="DE", target_lang="FR"
    )
    assert isinstance(found, list)
    assert [(one.text, one.billed_characters) for one in found] == [(own, len(TEXT))]
    body = {"q": f"<p>{SENTENCES[0]}</p>", "format": "html", **DE_FR}
    alone = many.translate(SENTENCES[0], **DE_FR).json()["translations"][0]["text"]
    with many.client() as client:
        assert client.post("/translate", json=body).json()["translatedText"] == f"<p>{alone}</p>"
        refused = client.post("/translate", json={**body, "alternatives": 1})
        assert (refused.status_code, refused.json()["error"][:13]) == (400, "alternatives:")


def test_no_way_has_three_steps_and_an_operator_may_want_none(pairs: dict[str, Path], tmp_path: Path) -> None:
    for name in ("de-en", "en-fr"):
        shutil.copytree(pairs[name], tmp_path / name)
    copy_of(pairs["en-fr"], tmp_path / "fr-es", name="fr-es", source_language="fr", target_language="es")
    with ready(settings_for(tmp_path)) as server:
        assert server.translate("Yes.", source="en", target="es").json()["models"] == ["en-fr", "fr-es"]
        far = server.translate("Ja.", source="de", target="es")
        assert (far.status_code, far.json()["error"]["param"]) == (422, "target")
    with ready(settings_for(tmp_path, pivot="off")) as server:
        off = server.translate("Ja.", **DE_FR)
        assert (off.status_code, off.json()["error"]["param"]) == (422, "target")
        with server.client() as client:
            assert "through" not in client.get("/v1/languages").text
