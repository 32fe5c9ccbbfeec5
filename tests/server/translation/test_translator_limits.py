"""Requests with more sentences than can ever wait are refused while they are cut, not after it."""

import asyncio
from pathlib import Path

import pytest

from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from server.text.split import trimming
from server.text.split.segment import Segment
from server.translation.planning import TextRequest, TooManySentences
from server.translation.translator import Translator
from tests.growth import ORDINARY

MOST = 50


@pytest.mark.parametrize("unit", ["Yes. No. ", "Yes.\x00No.\x1f", "Yes.\tNo.\u2028", ORDINARY.rstrip()])
@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("waits", [True, False])
def test_what_is_too_much_is_not_all_cut(
    tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch, unit: str, count: int, waits: bool
) -> None:
    """However long the texts are, about as many sentences are cut as can wait."""
    cut = 0

    def trim(part: str, real: object = trimming.trim) -> list[Segment]:
        nonlocal cut
        cut += 1
        assert callable(real)
        return list(real(part))

    monkeypatch.setattr("server.text.split.sentences.trim", trim)
    translator = Translator.load(tiny_artifact, EngineSettings(max_waiting=MOST, slots=2), Metrics())
    options = translator.options(beam_size=1)

    def refused(texts: list[str], waits: bool) -> None:
        if waits:
            asyncio.run(translator.translate(TextRequest(texts, options)))
        else:
            translator.submit_text(texts[0], options)

    try:
        for size in (100, 5_000):
            cut = 0
            texts = [unit * size] * count
            with pytest.raises(TooManySentences):
                asyncio.run(translator.translate(TextRequest(texts, options))) if waits else translator.submit_text(
                    texts[0], options
                )
            assert cut <= 4 * MOST
        assert len(asyncio.run(translator.translate(TextRequest([unit], options))).translations) == 1
    finally:
        translator.stop(5)
