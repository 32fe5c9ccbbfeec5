"""The page of examples has the translations of the bundled models, bad translations included."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from server.engine.beam import normalize
from server.settings import BUNDLED_MODELS, EngineSettings
from server.telemetry.metrics import Metrics
from server.translation.planning import TextRequest
from server.translation.scoring import ScoringItem, score
from server.translation.translator import Translator

TIE = 0.02
"""Relative difference of scores up to which two translations are equally good."""
PAGE = (Path(__file__).parent.parent / "server" / "EXAMPLES.md").read_text(encoding="utf-8")


def rows(model: str) -> list[tuple[str, str]]:
    """(source, translation) of the model's table."""
    section = PAGE.split(f"(`{model}`)\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (.*?) \| (.*?) \|", section, flags=re.M)
    return [(source, translation) for source, translation in cells if source != "text" and not source.startswith("---")]


@pytest.mark.parametrize("model", sorted(path.name for path in BUNDLED_MODELS.iterdir() if path.is_dir()))
def test_the_page_has_the_translations_of_the_model(model: str) -> None:
    """Processors add up floats in different orders. If two translations are equally good, the model may give either."""
    translator = Translator.load(BUNDLED_MODELS / model, EngineSettings(num_workers=1), Metrics())
    try:
        sources, shown = zip(*rows(model), strict=True)
        assert len(sources) >= 10
        outcome = asyncio.run(translator.translate(TextRequest(sources, translator.options())))
        translated_texts = [item.text for item in outcome.translations]
        others = [
            (source, mine, page)
            for source, mine, page in zip(sources, translated_texts, shown, strict=True)
            if mine != page
        ]
        assert len(others) <= 2
        for source, translation, page in others:
            better, on_page = normalized(translator, source, (translation, page))
            assert on_page == pytest.approx(better, rel=TIE), f"{source}: {translation}"
    finally:
        translator.stop(timeout=5)


def normalized(translator: Translator, source: str, targets: Sequence[str]) -> list[float]:
    """The scores that translations are ranked by."""
    outcome = asyncio.run(score(translator, [ScoringItem(source, targets)], deadline=None))
    alpha = translator.artifact.manifest.length_penalty
    return [normalize(hypothesis.score, len(hypothesis.log_probabilities), alpha) for hypothesis in outcome.targets[0]]
