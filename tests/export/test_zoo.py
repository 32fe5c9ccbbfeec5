"""Every row of the zoo is whole, can be trained again, and is served as the reference search would translate."""

import json
import math
from pathlib import Path

import pytest
import torch

from export.artifact_writer import ExportOptions, export_artifact
from export.compare.likelihood import sentence_nll
from export.compare.rows import Row, read_row
from model.config import EOS_ID
from model.data.batching import Pair
from model.data.vocabulary import Vocabulary
from model.reference_search import reference_search
from model.training.bundled import find_recipe
from model.training.checkpoint import VOCABULARY, load_any_model, load_model
from server.artifact import Artifact
from server.backends.load import load_backend
from server.engine.golden import Source, search
from server.engine.request import SearchOptions
from tests.models import SENTENCES

ZOO = Path(__file__).parent.parent.parent / "model/zoo/small"
ROWS = {row.name: row for row in map(read_row, sorted(path.parent for path in ZOO.glob("*/training.json")))}
TRANSLATING = [name for name, row in ROWS.items() if not row.is_language_model]
LANGUAGE_MODELS = [name for name, row in ROWS.items() if row.is_language_model]
SOURCES = SENTENCES[3:5]
BEAM, MAX_LENGTH = 2, 12


def encoded(row: Row, texts: tuple[str, ...]) -> list[list[int]]:
    return Vocabulary(row.folder / VOCABULARY).encode(list(texts))


def test_the_zoo_has_rows_and_says_where_their_text_is_from() -> None:
    assert {"full", "n2", "n8"} <= ROWS.keys()
    assert "CC BY-SA 4.0" in (ZOO / "ATTRIBUTION.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ROWS)
def test_a_row_says_how_to_train_it_again(name: str) -> None:
    row = ROWS[name]
    summary = json.loads((row.folder / "training.json").read_text(encoding="utf-8"))
    assert row.bundled is not None
    assert find_recipe(row.bundled).model == row.config == load_any_model(row.folder).config
    assert summary["command"] == row.command
    base, _, variant = row.bundled.partition("/")
    seed = row.recipe.training.seed
    assert name == ("" if base == "small" else f"{base}-") + variant + ("" if seed == 1 else f"-seed-{seed}")
    assert min(summary["seconds"], summary["target_tokens"], len(summary["data_sha256"])) > 0
    assert (row.folder / "metrics.csv").stat().st_size > 100
    assert sum(path.stat().st_size for path in row.folder.iterdir()) < 8 * 2**20


@pytest.mark.parametrize("name", TRANSLATING)
def test_a_row_is_served_as_the_reference_search_translates(name: str, tmp_path: Path) -> None:
    row = ROWS[name]
    export_artifact(row.folder, tmp_path / name, ExportOptions(name, ("en", "de"), (("onnx", "fp32"),)))
    backend = load_backend(Artifact.load(tmp_path / name), "onnx", "fp32")
    sources = [Source((*ids, EOS_ID)) for ids in encoded(row, SOURCES)]
    results = search(backend, sources, SearchOptions(beam_size=BEAM, max_length=MAX_LENGTH))
    model = load_model(row.folder)
    for source, result in zip(sources, results, strict=True):
        (expected,) = reference_search(model, list(source.ids), beam_size=BEAM, max_length=MAX_LENGTH)
        assert tuple(result.hypotheses[0].ids) == expected.ids
        assert result.hypotheses[0].score == pytest.approx(expected.score, abs=1e-3)


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_a_language_model_finds_german_likelier_than_its_reverse(name: str) -> None:
    row = ROWS[name]
    model = load_any_model(row.folder)
    ids = encoded(row, SENTENCES[8:])
    with torch.inference_mode():
        forward, backward = (
            sum(nll for nll, _ in sentence_nll(model, [Pair(text, text) for text in texts]))
            for texts in (ids, [text[::-1] for text in ids])
        )
    tokens = sum(len(text) + 1 for text in ids)
    assert forward < backward - tokens / 2
    assert forward / tokens < math.log(row.config.vocab_size) - 2
