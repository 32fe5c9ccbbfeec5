"""Where no model translates a pair, two do; the slow reference asks them one after the other, sentence by sentence."""

import asyncio
import io
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import deepl
import deepl.http_client
import pytest
from libretranslatepy import LibreTranslateAPI

from server.settings import BUNDLED_MODELS, EngineSettings
from server.translation.assembly import SentenceTranslation, TranslationOutcome
from server.translation.planning import TextRequest
from server.translation.translator import Translator
from tests.server.api.conftest import RunningServer, ready, settings_for
from tests.server.api.pairs import copy_of

SENTENCES = ("Wo ist der Bahnhof?", "Wir gehen im Regen nach Hause.", "Der alte Mann liest jeden Tag ein Buch.")
TEXT = f"{SENTENCES[0]}\n\n  {SENTENCES[1]} {SENTENCES[2]}\n"
DE_FR = {"source": "de", "target": "fr"}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with models that were trained: German to English, and English to German under the name of French."""
    folder = tmp_path_factory.mktemp("real")
    shutil.copytree(BUNDLED_MODELS / "de-en", folder / "de-en")
    copy_of(BUNDLED_MODELS / "en-de", folder / "en-fr", name="en-fr", target_language="fr")
    engine = EngineSettings(slots=4, num_workers=1, max_beam_size=4, translation_cache_bytes=0)
    with ready(settings_for(folder, engine)) as server:
        yield server


class Leg:
    """Notes what a model is given while a server uses it."""

    def __init__(self, translator: Translator) -> None:
        self.asked: list[tuple[str, ...]] = []
        self._translate = translator.translate

    async def translate(self, request: TextRequest, counts_flags: bool = True) -> TranslationOutcome:
        self.asked.append(tuple(request.texts))
        return await self._translate(request, counts_flags)


def first_leg(server: RunningServer, sentences: Sequence[str]) -> list[dict[str, Any]]:
    """The first model's translations, sentence by sentence."""
    answers = [server.translate(sentence, source="de", target="en").json()["translations"][0] for sentence in sentences]
    assert all(len(answer["sentences"]) == 1 for answer in answers)
    results = [answer["sentences"][0] for answer in answers]
    assert len({sentence["target"] for sentence in results}) == len(results), (
        "sentences that cannot be told apart prove nothing"
    )
    return results


def second_leg(server: RunningServer, middles: Sequence[str]) -> list[SentenceTranslation]:
    """The second model's translation of each, as one sentence."""
    translator = server.state.translators["en-fr"]
    results = []
    for middle in middles:
        outcome = asyncio.run(translator.translate(TextRequest([middle], translator.options(), splits=False)))
        [[sentence]] = [text.sentences for text in outcome.translations]
        results.append(sentence)
    assert len({item.target for item in results}) == len(results)
    return results


def test_the_second_gets_exactly_what_the_first_answered(real: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone and in company: texts, scores and places."""
    sentences = [*SENTENCES, "Das Haus steht am Fluss.", "Sie verkauft Brot und Milch.", "Heute ist es kalt."]
    first = first_leg(real, sentences)
    second = second_leg(real, [sentence["target"] for sentence in first])
    middles = {source: sentence["target"] for source, sentence in zip(sentences, first, strict=True)}
    expected = {
        source: (end.target, end.num_tokens, middle["score"] + end.score)
        for source, middle, end in zip(sentences, first, second, strict=True)
    }
    leg = Leg(real.state.translators["en-fr"])
    monkeypatch.setattr(real.state.translators["en-fr"], "translate", leg.translate)

    def ask(chosen: Sequence[str]) -> None:
        answer = real.translate(list(chosen), **DE_FR).json()
        for source, translation in zip(chosen, answer["translations"], strict=True):
            [actual] = translation["sentences"]
            target, num_tokens, score = expected[source]
            assert (actual["source"], actual["target"], actual["num_tokens"]) == (source, target, num_tokens)
            assert actual["score"] == pytest.approx(score, abs=1e-4)

    for sentence in sentences:
        ask([sentence])
    assert leg.asked == [(middles[sentence],) for sentence in sentences]
    leg.asked.clear()
    turns = [[*sentences[at:], *sentences[:at]] for at in range(len(sentences))]
    with ThreadPoolExecutor(len(turns)) as pool:
        list(pool.map(ask, turns))
    assert sorted(leg.asked) == sorted(tuple(middles[item] for item in turn) for turn in turns)


def test_two_models_translate_sentence_by_sentence(real: RunningServer) -> None:
    first = first_leg(real, SENTENCES)
    second = second_leg(real, [sentence["target"] for sentence in first])
    scores = [sentence["score"] + end.score for sentence, end in zip(first, second, strict=True)]
    answer = real.translate([TEXT, ""], **DE_FR).json()
    translation, empty = answer["translations"]
    assert translation["text"] == f"{second[0].target}\n\n  {second[1].target} {second[2].target}\n"
    assert [sentence["source"] for sentence in translation["sentences"]] == list(SENTENCES)
    assert [sentence["score"] for sentence in translation["sentences"]] == pytest.approx(scores, abs=1e-4)
    assert (empty["text"], empty["sentences"]) == ("", [])
    assert (translation["pivot"], empty["pivot"]) == ("en", "en")
    assert (answer["model"], answer["models"]) == ("en-fr", ["de-en", "en-fr"])
    assert answer["timings"]["total"] >= answer["timings"]["decode"] > 0


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_the_sentences_of_a_file_see_each_other_on_both_legs(
    document_artifact: Path, tmp_path: Path, mode: str
) -> None:
    """The slow reference sends two documents, the second made of the first one's translations."""
    for name in ("de-en", "en-fr"):
        source, target = name.split("-")
        copy_of(document_artifact, tmp_path / name, name=name, source_language=source, target_language=target)
    with ready(settings_for(tmp_path)) as server, server.client() as client:
        translated_sentences, gaps = list(SENTENCES), ["", "\n\n  ", " "]
        for languages in ({"source": "de", "target": "en"}, {"source": "en", "target": "fr"}):
            made = client.post(
                "/v1/documents", json={"sentences": translated_sentences, **languages, "mode": mode, "wait": True}
            )
            translated_sentences = [sentence["translation"] for sentence in made.json()["sentences"]]
        assert len(set(translated_sentences)) == len(translated_sentences)
        file = {"file": ("book.txt", TEXT.encode())}
        done = client.post("/v1/files", data={**DE_FR, "mode": mode}, files=file)
        assert done.headers["X-Pivot"] == "en"
        assert done.headers["Content-Disposition"].endswith("book.fr.txt")
        assert done.text == "".join(gap + item for gap, item in zip(gaps, translated_sentences, strict=True)) + "\n"
        apart = server.translate(TEXT, **DE_FR).json()["translations"][0]["text"]
        assert done.text != apart, "the sentences saw nothing of each other"


def test_files_of_every_api_go_through_two_models(real: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 0)
    ends = [
        sentence.target
        for sentence in second_leg(real, [sentence["target"] for sentence in first_leg(real, SENTENCES)])
    ]
    expected = f"{ends[0]}\n\n  {ends[1]} {ends[2]}\n"
    file = {"file": ("book.txt", TEXT.encode())}
    with real.client() as client:
        direct = client.post("/v1/files", data={"source": "de", "target": "en"}, files=file)
        assert "X-Pivot" not in direct.headers
        assert client.post("/v1/files", data=DE_FR, files=file).text == expected
        kept = client.post("/translate_file", data=DE_FR, files=file).json()["translatedFileUrl"]
        assert client.get(kept).text == expected
        page = {"file": ("a.html", f"<p>{SENTENCES[0]}</p><p>{{name}}</p><p>{SENTENCES[1]}</p>".encode())}
        translated = client.post("/v1/files", data=DE_FR, files=page).text
        assert translated == f"<p>{ends[0]}</p><p>{{name}}</p><p>{ends[1]}</p>"
        assert client.post("/v1/files", data={**DE_FR, "model": "de-en"}, files=file).status_code == 422
    out = io.BytesIO()
    translator = deepl.DeepLClient("a key", server_url=real.url, send_platform_info=False)
    source = io.BytesIO(TEXT.encode())
    translator.translate_document(source, out, filename="book.txt", source_lang="DE", target_lang="FR")
    assert out.getvalue().decode() == expected


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
        ({"alignment": True}, "alignment"),
        ({"pieces": True}, "pieces"),
        ({"max_length": 9999}, "max_length"),
        ({"model": "de-en"}, "target"),
        ({"source": "fr"}, "source"),
    ],
)
def test_options_that_need_a_single_model_are_refused(
    many: RunningServer, fields: dict[str, object], param: str
) -> None:
    refused = many.translate("Yes.", **{**DE_FR, **fields})
    assert (refused.status_code, refused.json()["error"]["param"]) == (422, param)


def test_scores_are_of_one_model(many: RunningServer) -> None:
    with many.client() as client:
        answer = client.post("/v1/score", json={"items": [{"source": "Ja.", "target": "Oui."}], **DE_FR})
        assert (answer.status_code, answer.json()["error"]["param"]) == (422, "target")
        assert "two models translate 'de' into 'fr', through 'en', and a score is of one model" in answer.text


def test_languages_say_what_can_be_reached(many: RunningServer) -> None:
    with many.client() as client:
        [german, english] = client.get("/v1/languages").json()["languages"]
        assert german == {"source": "de", "targets": ["en"], "through": {"fr": "en"}}
        assert english == {"source": "en", "targets": ["de", "fr"], "formality": ["de"]}
    targets = {language["code"]: language["targets"] for language in LibreTranslateAPI(many.url).languages()}
    assert targets == {"de": ["en", "fr"], "en": ["de", "fr"], "fr": []}


def test_clients_are_translated_for(many: RunningServer) -> None:
    own = many.translate(TEXT, **DE_FR).json()["translations"][0]["text"]
    assert LibreTranslateAPI(many.url).translate(TEXT, "de", "fr") == own
    assert LibreTranslateAPI(many.url).translate(TEXT, "auto", "fr") == own
    result = deepl.DeepLClient("a key", server_url=many.url, send_platform_info=False).translate_text(
        [TEXT], source_lang="DE", target_lang="FR"
    )
    assert isinstance(result, list)
    assert [(translation.text, translation.billed_characters) for translation in result] == [(own, len(TEXT))]
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
