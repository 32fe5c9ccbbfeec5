"""Tags of a sentence that is read in parts stand where they stand in a text of these parts."""

import asyncio
import dataclasses
from collections.abc import Iterator

import pytest

from server.documents.cutting import joined, listed_sentences
from server.documents.sentence_states import StateReader
from server.documents.state_cache import StateCache
from server.engine.request import SentenceRequest
from server.files.tagged_sentences import with_tags, without_tags
from server.settings import BUNDLED_MODELS, EngineSettings
from server.telemetry.metrics import Metrics
from server.text.base.placeholders import PlaceholderText
from server.translation.planning import TextRequest
from server.translation.translator import RequestedOptions, Translator
from tests.server.translated_files import translate_bytes


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    loaded = Translator.load(BUNDLED_MODELS / "en-de", EngineSettings(slots=4, num_workers=1), Metrics())
    yield loaded
    loaded.stop(timeout=5)


def placeholder_text(*parts: str) -> str:
    """Texts and, in between, texts that are enclosed in tags."""
    text = PlaceholderText()
    for number, part in enumerate(parts):
        if number % 2:
            text.open("b", "<b>")
        text.add_text(part)
        if number % 2:
            text.close("b", "</b>")
    return text.text


@pytest.mark.parametrize(
    "text",
    [
        placeholder_text("The lamp is new. The ", "train", " is late. My sister works in a ", "hospital", "."),
        placeholder_text("The ", "lamp", " is new. It is broken."),
    ],
)
def test_parts(translator: Translator, text: str) -> None:
    async def scenario() -> tuple[str, str]:
        options = translator.options()
        sentences = listed_sentences([text], translator)
        [read] = without_tags(sentences, translator)
        assert len(read.parts) > 1
        results = await translator.run([SentenceRequest(part.source_ids, options) for part in read.parts], None)
        best = [result.hypotheses[0].ids for result in results]
        parts = tuple(dataclasses.replace(part, target_ids=ids) for part, ids in zip(read.parts, best, strict=True))
        translation = joined(read, translator.target_pieces.decode(best), translator)
        done = dataclasses.replace(read, parts=parts, translation=translation)
        [placed] = await with_tags(translator, sentences, [done])
        tagged = placed.text
        return tagged, (await translator.translate(TextRequest([text], options, tagged=True))).translations[0].text

    tagged, expected = asyncio.run(scenario())
    assert tagged == expected


def test_more_sentences_than_the_engine_lets_wait() -> None:
    narrow = EngineSettings(slots=2, max_waiting=2, num_workers=1)
    translator = Translator.load(BUNDLED_MODELS / "en-de", narrow, Metrics())
    page = "".join(f"<p>The <b>lamp</b> of house {number} is new.</p>" for number in range(300))
    long = f"<p>{'We walk home in the rain, ' * 200} and <b>the lamp</b> is new.</p>"
    options = RequestedOptions(beam_size=1, length_penalty=None, max_length=None)
    try:
        work = translate_bytes(translator, f"{page}{long}".encode(), "a.html", StateReader(StateCache(0)), options)
        done = asyncio.run(asyncio.wait_for(work, 60)).data.decode()
    finally:
        translator.stop(timeout=5)
    assert done.count("<b>") == done.count("</b>") == 301
    assert done.count("<b>Lampe</b>") >= 250
