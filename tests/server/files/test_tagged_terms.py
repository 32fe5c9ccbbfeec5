"""Tags of sentences that are translated with a glossary: the model reads neither, and both come out right."""

import asyncio
import re
from collections.abc import Iterator, Mapping

import pytest

from server.documents.sentence_states import StateReader
from server.documents.state_cache import StateCache
from server.settings import BUNDLED_MODELS, EngineSettings
from server.telemetry.metrics import Metrics
from server.text.protect.terms import Terms
from server.translation.glossary import GlossaryTranslator, translate_with_terms
from server.translation.markup_translation import translate_markup
from server.translation.planning import TextRequest
from server.translation.translator import RequestedOptions, Translator
from tests.server.translated_files import translate_bytes

OPTIONS = RequestedOptions(beam_size=4, length_penalty=None, max_length=None)
TAGGED = (
    "The <b>lamp</b> of my <i>sister</i> is new.",
    "Where is <b>the old station</b>? My sister works in a <i>hospital</i>.",
    "The old <b>man</b> bought a <a href='x'>lamp</a> at the station.",
)
FUNZEL = {"lamp": "Funzel", "station": "Hauptbahnhof", "old man": "Greis", "sister": "Schwester"}


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    loaded = Translator.load(BUNDLED_MODELS / "en-de", EngineSettings(slots=4, num_workers=1), Metrics())
    yield loaded
    loaded.stop(timeout=5)


def of_text(translator: Translator, text: str, terms: Mapping[str, str]) -> str:
    options = translator.options(**OPTIONS)
    way = GlossaryTranslator(translator, Terms(terms))
    return asyncio.run(translate_markup(way, TextRequest([text], options), "html")).translations[0].text


def of_file(translator: Translator, text: str, terms: Mapping[str, str]) -> str:
    reader, page = StateReader(StateCache(0)), f"<p>{text}</p>".encode()
    work = translate_bytes(translator, page, "a.html", reader, OPTIONS, terms=Terms(terms))
    return asyncio.run(work).data.decode().removeprefix("<p>").removesuffix("</p>")


def bare(text: str) -> str:
    return re.sub("<[^>]*>", "", text)


@pytest.mark.parametrize("text", TAGGED)
def test_a_glossary_without_a_term_of_the_text_moves_no_tag(translator: Translator, text: str) -> None:
    options = translator.options(**OPTIONS)
    free = asyncio.run(translate_markup(translator, TextRequest([text], options), "html")).translations[0].text
    assert of_text(translator, text, {"Zorblax": "Quarz"}) == free


@pytest.mark.parametrize("text", TAGGED)
def test_a_sentence_is_read_without_its_tags(translator: Translator, text: str) -> None:
    """Also where a tag stands in the midst of a term."""
    translation = of_text(translator, text, FUNZEL)
    options, terms = translator.options(**OPTIONS), Terms(FUNZEL)
    words = (
        asyncio.run(translate_with_terms(translator, TextRequest([bare(text)], options), terms)).translations[0].text
    )
    assert bare(translation) == words
    assert translation.count("<") == text.count("<")
    assert translation.count("Hauptbahnhof") == text.count("station")


def test_a_tagged_term_has_its_tag(translator: Translator) -> None:
    translation = of_text(translator, TAGGED[0], FUNZEL)
    assert "<b>Funzel</b>" in translation
    assert "<i>Schwester</i>" in translation
    assert "<b>Greis</b>" in of_text(translator, TAGGED[2], {"old man": "Greis"})


def test_a_file_says_what_a_text_says(translator: Translator) -> None:
    """Sentence by sentence, since those of a file see each other; some of their terms the model says by itself."""
    masked = 0
    for sentence in [part.strip() for text in TAGGED for part in re.findall(r"[^.?]+[.?]", text)]:
        for terms in (FUNZEL, {"sister": "Schwester"}):
            translation = of_text(translator, sentence, terms)
            assert of_file(translator, sentence, terms) == translation
            masked += "Funzel" in translation
    assert masked >= 2
