"""Flags of a document's sentences that do not follow from the translation's words."""

import asyncio
import dataclasses
from collections.abc import Iterator

import pytest

from server.documents.cutting import cut_text, listed_sentences
from server.documents.sentence_states import StateReader
from server.documents.state_cache import StateCache
from server.documents.translate import DocumentTask, flags_of, translate_sentences, with_missing
from server.settings import BUNDLED_MODELS, EngineSettings
from server.stores.codec import decode_sentence, encode
from server.stores.records import Sentence
from server.telemetry.metrics import Metrics
from server.translation.planning import TextRequest
from server.translation.translator import RequestedOptions, Translator
from tests.server.translated_files import translate_bytes
from tests.server.translation.test_coverage import LONG

OPTIONS: RequestedOptions = {"beam_size": 4, "length_penalty": None, "max_length": None}
MOVED, KEPT = "You have {{count}} new message", "You have {{count}} new messages"
"""The model leaves out the placeholder of the first."""


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    translator = Translator.load(BUNDLED_MODELS / "en-de", EngineSettings(slots=4, num_workers=1), Metrics())
    yield translator
    translator.stop(1)


def translated(translator: Translator, source: str) -> Sentence:
    task = DocumentTask("a", "offline", OPTIONS)
    [sentence] = asyncio.run(translate_sentences(translator, task, listed_sentences([source], translator), None))
    return sentence


def test_a_placeholder_that_the_model_lost(translator: Translator) -> None:
    assert flags_of(translated(translator, KEPT)) == []
    sentence = translated(translator, MOVED)
    assert flags_of(sentence) == ["moved"]
    assert flags_of(decode_sentence(encode(sentence))) == ["moved"]
    assert flags_of(dataclasses.replace(sentence, is_edited=True)) == []
    second = Sentence(0, sentence.translation or "", (), translation=MOVED.upper(), origin=sentence)
    assert "moved" in flags_of(second)


@pytest.mark.parametrize(("name", "before", "after"), [("a.txt", "", ""), ("a.html", "<p><b>", "</b></p>")])
def test_a_placeholder_that_the_model_lost_in_a_file(
    translator: Translator, name: str, before: str, after: str
) -> None:
    for text, flags in ((MOVED, {"moved": 1}), (KEPT, {})):
        data = f"{before}{text}{after}".encode()
        done = asyncio.run(translate_bytes(translator, data, name, StateReader(StateCache(0)), OPTIONS))
        assert dict(done.flags) == flags


def test_a_translation_that_lacks_a_part(translator: Translator) -> None:
    [sentence], _ = cut_text(LONG, translator)
    whole = translated(translator, LONG)
    request = TextRequest(["The example of travellers."], translator.options())
    [outcome] = asyncio.run(translator.translate(request)).translations
    parts = tuple(dataclasses.replace(part, target_ids=outcome.sentences[0].ids) for part in sentence.parts)
    short = dataclasses.replace(sentence, parts=parts, translation=outcome.text, finish_reason="eos")
    checked = asyncio.run(with_missing(translator, [short, dataclasses.replace(whole, flags=())], None))
    assert ["truncated" in flags_of(each) for each in checked] == [True, "truncated" in whole.flags]
