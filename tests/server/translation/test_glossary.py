"""Terms in translations of models with random weights, which would hardly say them by themselves."""

import asyncio
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from server.text.protect.terms import Terms
from server.translation.glossary import translate_with_terms
from server.translation.planning import PrefixRefused, TextRequest
from server.translation.translator import Translator
from tests.models import SENTENCES

MADE_UP = {
    "Zorblax": "Quarzbl\u00f6\u00df",
    "Zorblax drive": "Quarz-Antrieb",
    "house": "Geh\u00e4use",
    "river": "River",
    "C++": "C plus-plus",
    "\u4e16": "Welt der \U0001f600",
}


@pytest.fixture(scope="module")
def translator(tiny_artifact: Path) -> Iterator[Translator]:
    engine = EngineSettings(
        slots=4, num_workers=1, precision="int8", shortlist="on", max_beam_size=8, translation_cache_bytes=0
    )
    translator = Translator.load(tiny_artifact, engine, Metrics())
    yield translator
    translator.stop(timeout=5)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), beam=st.sampled_from([1, 2, 4]), count=st.sampled_from([1, 2]))
def test_every_term_is_there_as_often_as_it_was_found(translator: Translator, seed: int, beam: int, count: int) -> None:
    generator = random.Random(seed)
    words = [*" ".join(SENTENCES[:6]).split(), *(3 * [*MADE_UP, "https://x.example/Zorblax", "HOUSE"])]
    texts = [" ".join(generator.choice(words) for _ in range(generator.randrange(1, 12))) for _ in range(4)]
    terms, options = Terms(MADE_UP), translator.options(beam, min(beam, count))
    outcome = asyncio.run(translate_with_terms(translator, TextRequest(texts, options), terms))
    url = "https://x.example/Zorblax"
    for translation in outcome.translations:
        for sentence in translation.sentences:
            wanted = [match.target for match in terms.find(sentence.source.replace(url, "-"))]
            for target in set(wanted):
                assert sentence.target.count(target) >= wanted.count(target), (sentence.source, sentence.target)
            assert sentence.target.count(url) == sentence.source.count(url)


def test_a_translation_that_has_the_term_by_itself_stays(translator: Translator) -> None:
    """And a text without a term is translated as ever."""
    free = asyncio.run(translator.translate(TextRequest(SENTENCES, translator.options(4)))).translations
    checked = 0
    for text, translation in zip(SENTENCES, free, strict=True):
        for translated in re.findall(r"\w+", translation.text)[:1]:
            texts, terms = [text, "Yes."], Terms({text.split()[0].strip("."): translated})
            outcome = asyncio.run(translate_with_terms(translator, TextRequest(texts, translator.options(4)), terms))
            assert outcome.translations[0].text == translation.text
            checked += 1
    assert checked > 3


def test_a_worse_hypothesis_that_has_the_term_is_taken(translator: Translator) -> None:
    free = asyncio.run(translator.translate(TextRequest(SENTENCES, translator.options(4, 4)))).translations
    checked = 0
    for text, translation in zip(SENTENCES, free, strict=True):
        best, *others = (hypothese.text for hypothese in translation.hypotheses)
        only = [word for other in others for word in re.findall(r"\w+", other) if word not in best]
        for translated in only[:1]:
            terms = Terms({text.split()[0].strip("."): translated})
            outcome = asyncio.run(translate_with_terms(translator, TextRequest([text], translator.options(4)), terms))
            assert outcome.translations[0].text == next(
                item for item in others if translated in re.findall(r"\w+", item)
            )
            checked += 1
    assert checked > 3


def test_a_text_of_nothing_but_terms(translator: Translator) -> None:
    outcome = asyncio.run(
        translate_with_terms(translator, TextRequest([" Zorblax drive, C++ "], translator.options(2)), Terms(MADE_UP))
    )
    assert outcome.translations[0].text == " Quarz-Antrieb, C plus-plus "


def test_a_term_that_the_vocabulary_cannot_spell_is_translated_without_other_words(translator: Translator) -> None:
    assert not translator.source_pieces.spells("\u4e16")
    outcome = asyncio.run(
        translate_with_terms(translator, TextRequest(["\u732b \u4e16!"], translator.options(2)), Terms(MADE_UP))
    )
    assert outcome.translations[0].text == "\u732b Welt der \U0001f600!"


def test_terms_behind_a_prefix(translator: Translator) -> None:
    """A term that the prefix has is not added again."""
    terms, text = Terms(MADE_UP), "The Zorblax sells bread and Zorblax."
    for prefix in ("Der", f"Der {MADE_UP['Zorblax']}", "Der Quarz"):
        outcome = asyncio.run(
            translate_with_terms(translator, TextRequest([text], translator.options(4), prefixes=[prefix]), terms)
        )
        translated = outcome.translations[0].text
        assert translated.startswith(prefix)
        assert translated.count(MADE_UP["Zorblax"]) == 2
    with pytest.raises(PrefixRefused):
        asyncio.run(
            translate_with_terms(translator, TextRequest([text], translator.options(4), prefixes=["Der " * 80]), terms)
        )
