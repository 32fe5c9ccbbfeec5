"""The page of examples says what the bundled models say, the bad translations included."""

import asyncio
import re
from pathlib import Path

import pytest

from server.metrics import Metrics
from server.settings import BUNDLED_MODELS, EngineSettings
from server.translator import Translator

PAGE = (Path(__file__).parent.parent / "server" / "EXAMPLES.md").read_text(encoding="utf-8")


def rows(model: str) -> list[tuple[str, str]]:
    """(source, translation) of the model's table."""
    section = PAGE.split(f"(`{model}`)\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (.*?) \| (.*?) \|", section, flags=re.M)
    return [(source, said) for source, said in cells if source != "text" and not source.startswith("---")]


@pytest.mark.parametrize("model", sorted(path.name for path in BUNDLED_MODELS.iterdir() if path.is_dir()))
def test_the_page_shows_what_the_model_says(model: str) -> None:
    translator = Translator.load(BUNDLED_MODELS / model, EngineSettings(num_workers=1), Metrics())
    try:
        sources = [source for source, _ in rows(model)]
        assert len(sources) >= 10
        outcome = asyncio.run(translator.translate(sources, translator.options()))
    finally:
        translator.stop(timeout=5)
    assert [(s, one.text) for s, one in zip(sources, outcome.translations, strict=True)] == rows(model)
