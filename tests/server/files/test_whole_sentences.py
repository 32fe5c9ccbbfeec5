"""Sentences of a file of which the model left something out."""

import asyncio
import dataclasses
from collections.abc import Iterator

import pytest

from server.documents.cutting import cut_text
from server.files.whole_sentences import with_all_clauses
from server.settings import BUNDLED_MODELS, EngineSettings
from server.stores.records import Sentence
from server.telemetry.metrics import Metrics
from server.translation.planning import TextRequest
from server.translation.translator import RequestedOptions, Translator
from tests.server.translation.test_coverage import LONG

OPTIONS: RequestedOptions = {"beam_size": 4, "length_penalty": None, "max_length": None}


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    translator = Translator.load(BUNDLED_MODELS / "en-de", EngineSettings(slots=4, num_workers=1), Metrics())
    yield translator
    translator.stop(1)


def translated(translator: Translator, text: str) -> Sentence:
    """The sentence with a translation that has only the beginning of what the model wrote."""
    [sentence], _ = cut_text(text, translator)
    request = TextRequest(["The example of travellers."], translator.options())
    [outcome] = asyncio.run(translator.translate(request)).translations
    ids = outcome.sentences[0].ids
    parts = tuple(dataclasses.replace(part, target_ids=ids) for part in sentence.parts)
    return dataclasses.replace(sentence, parts=parts, translation=outcome.text, finish_reason="eos")


def test_a_long_sentence_is_translated_again_in_clauses(translator: Translator) -> None:
    before = translated(translator, LONG)
    [after], _ = asyncio.run(with_all_clauses(translator, OPTIONS, [before], splits=True))
    spans = [part.span for part in after.parts if part.span is not None]
    assert len(spans) == len(after.parts) > 1
    assert " ".join(LONG[slice(*span)] for span in spans) == LONG
    assert len(after.translation or "") > 3 * len(before.translation or "")


def test_without_clauses_it_is_only_reported(translator: Translator) -> None:
    """As a sentence that was cut off at its maximum length is."""
    before = translated(translator, LONG)
    assert asyncio.run(with_all_clauses(translator, OPTIONS, [before], splits=False)) == ([before], {0})
    cut_off = Sentence(0, "Yes.", (), translation="Ja", finish_reason="length")
    assert asyncio.run(with_all_clauses(translator, OPTIONS, [cut_off], splits=True)) == ([cut_off], {0})
