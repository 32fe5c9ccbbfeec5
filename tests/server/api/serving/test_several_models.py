"""One server for a folder of models: every pair is translated by its own, and every list shows them all."""

from collections.abc import Iterator
from pathlib import Path

import deepl
import pytest
from libretranslatepy import LibreTranslateAPI

from server.settings import BUNDLED_MODELS, Settings
from server.telemetry.metrics import Metrics
from server.translation.translator import Translator
from tests.server.api.conftest import RunningServer, ready, settings_for
from tests.server.api.pairs import PAIRS

ENGLISH = "Where is the station? She sells bread and milk."
GERMAN = "Wo ist der Bahnhof? Wir gehen im Regen nach Hause."
TEXTS = {"en": ENGLISH, "de": GERMAN}


@pytest.fixture(scope="module")
def alone(pairs: dict[str, Path]) -> Iterator[dict[str, Translator]]:
    """Every model by itself."""
    engine = settings_for(next(iter(pairs.values()))).engine
    loaded = {name: Translator.load(folder, engine, Metrics()) for name, folder in pairs.items()}
    yield loaded
    for translator in loaded.values():
        translator.stop(timeout=0)


def said_by(translator: Translator, text: str) -> str:
    return translator.submit_text(text, translator.options()).wait().text


def test_every_pair_is_translated_by_its_model(many: RunningServer, alone: dict[str, Translator]) -> None:
    for name, (source, target) in PAIRS.items():
        answer = many.translate(TEXTS[source], source=source, target=target).json()
        assert answer["model"] == name
        assert answer["translations"][0]["text"] == said_by(alone[name], TEXTS[source])
    assert len({said_by(alone[name], ENGLISH) for name in ("en-de", "en-fr")}) == 2


def test_every_list_shows_them(many: RunningServer) -> None:
    with many.client() as client:
        assert client.get("/readyz").status_code == 200
        models = client.get("/v1/models").json()["models"]
        assert {model["name"]: (model["source"], model["target"]) for model in models} == PAIRS
        languages = {
            language["source"]: language["targets"] for language in client.get("/v1/languages").json()["languages"]
        }
        assert languages == {"de": ["en"], "en": ["de", "fr"]}
        metrics = client.get("/metrics").text
        for name in PAIRS:
            assert f'ringmt_ready{{model="{name}"}} 1.0' in metrics


def test_clients_see_both_pairs(many: RunningServer, alone: dict[str, Translator]) -> None:
    libre = LibreTranslateAPI(many.url)
    assert {language["code"] for language in libre.languages()} == {"de", "en", "fr"}
    own = deepl.DeepLClient("a key", server_url=many.url, send_platform_info=False)
    assert {language.code for language in own.get_source_languages()} == {"DE", "EN"}
    assert {language.code for language in own.get_target_languages()} == {
        "DE",
        "EN-GB",
        "EN-US",
        "FR",
    }
    for name, (source, target) in PAIRS.items():
        expected = said_by(alone[name], TEXTS[source])
        assert libre.translate(TEXTS[source], source, target) == expected
        region = {"en": "EN-GB"}.get(target, target.upper())
        actual = own.translate_text(TEXTS[source], source_lang=source.upper(), target_lang=region)
        assert not isinstance(actual, list)
        assert actual.text == expected


def test_a_language_is_looked_for_among_the_sources_that_are_served(many: RunningServer) -> None:
    libre = LibreTranslateAPI(many.url)
    spanish = "¿Dónde está la estación? Ella vende pan y leche."
    with many.client() as client:
        result = client.post("/translate", json={"q": [spanish, ENGLISH], "source": "auto", "target": "fr"}).json()
    assert {item["language"] for item in result["detectedLanguage"]} <= {"en", "de"}
    assert result["detectedLanguage"][1]["language"] == "en"
    assert libre.translate(GERMAN, "auto", "en") == libre.translate(GERMAN, "de", "en")


def test_what_is_bundled_is_served() -> None:
    """All of it, as `make serve` does."""
    there = {path.parent.name for path in BUNDLED_MODELS.glob("*/manifest.json")}
    with ready(Settings(port=0, log_level="error")) as server, server.client() as client:
        served = {model["name"]: model for model in client.get("/v1/models").json()["models"]}
        assert served.keys() == there >= {"en-de"}
        for sentence in served.values():
            answer = server.translate("Yes.", source=sentence["source"], target=sentence["target"])
            assert answer.json()["model"] == sentence["name"]
