"""Tags of a sentence that is read in parts stand where they stand in a text of these parts."""

import asyncio
import dataclasses
from collections.abc import Iterator

import pytest

from server.documents.cutting import joined, listed_sentences
from server.engine.request import SentenceRequest
from server.metrics import Metrics
from server.settings import BUNDLED_MODELS, EngineSettings
from server.tagged_sentences import with_tags, without_tags
from server.text.marks import MarkedText
from server.translator import Translator


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    loaded = Translator.load(BUNDLED_MODELS / "en-de", EngineSettings(slots=4, num_workers=1), Metrics())
    yield loaded
    loaded.stop(timeout=5)


def marked(*parts: str) -> str:
    """Texts and, in between, texts that are enclosed in tags."""
    text = MarkedText()
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
        marked("The lamp is new. The ", "train", " is late. My sister works in a ", "hospital", "."),
        marked("The ", "lamp", " is new. It is broken."),
    ],
)
def test_parts(translator: Translator, text: str) -> None:
    async def scenario() -> tuple[str, str]:
        options = translator.options()
        sentences = listed_sentences([text], translator)
        [read] = without_tags(sentences, translator)
        assert len(read.parts) > 1
        found = await translator.run([SentenceRequest(part.source_ids, options) for part in read.parts], None)
        best = [one.hypotheses[0].ids for one in found]
        parts = tuple(dataclasses.replace(part, target_ids=ids) for part, ids in zip(read.parts, best, strict=True))
        translation = joined(read, translator.target_pieces.decode(best), translator)
        done = dataclasses.replace(read, parts=parts, translation=translation)
        [tagged] = await with_tags(translator, sentences, [done])
        return tagged, (await translator.translate([text], options, tagged=True)).translations[0].text

    tagged, expected = asyncio.run(scenario())
    assert tagged == expected
