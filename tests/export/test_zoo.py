"""Every row of the zoo can be trained again, and those with weights are served as the reference search translates."""

import math
import re
import subprocess
from pathlib import Path

import pytest
import torch

from export.artifact_writer import ExportOptions, export_artifact
from export.compare.likelihood import sentence_nll
from export.compare.page import MARK
from export.compare.rows import Row, row_of
from export.compare.store import Store
from model.config import EOS_ID, ModelConfig
from model.data.batching import Pair
from model.data.vocabulary import Vocabulary
from model.reference_search import reference_search
from model.training.bundled import bundled_name, find_recipe
from model.training.checkpoint import load_any_model, load_model
from model.training.recipe import parse_recipe
from model.training.run_records import RunRecord, find_records, read_records
from server.artifact.artifact import Artifact
from server.backends.load import load_backend
from server.engine.request import SearchOptions
from server.engine.synchronous import Source, translate_now
from tests.models import SENTENCES

ROOT = Path(__file__).parent.parent.parent
ZOO = ROOT / "model/zoo"
RECORDS = {path: record for kind in ("small", "language") for path, record in find_records(ZOO / kind).items()}
ROWS = {path.name: row_of(path, record) for path, record in RECORDS.items()}
WITH_WEIGHTS = {name: row for name, row in ROWS.items() if row.has_weights}
TRANSLATING = [name for name, row in WITH_WEIGHTS.items() if not row.is_language_model]
LANGUAGE_MODELS = [name for name, row in WITH_WEIGHTS.items() if row.is_language_model]
SOURCES = SENTENCES[3:5]
BEAM, MAX_LENGTH = 2, 12


def encoded(row: Row, texts: tuple[str, ...]) -> list[list[int]]:
    return Vocabulary(row.vocabulary).encode(list(texts))


def test_the_zoo_has_rows_of_every_mechanism_and_says_where_their_text_is_from() -> None:
    assert {"full", "n2", "n8"} <= ROWS.keys()
    kinds = {row.config.attention(site)[0].kind for row in WITH_WEIGHTS.values() for site in ("encoder", "decoder")}
    assert kinds == {"plain", "localness", "window"}
    assert any(row.config.encoder_attention.relative for row in WITH_WEIGHTS.values())
    assert LANGUAGE_MODELS
    assert "CC BY-SA 4.0" in (ZOO / "ATTRIBUTION.md").read_text(encoding="utf-8")


def test_a_clone_stays_small() -> None:
    """Weights are large: a row whose mechanism is there already is kept without them. What git does not know, such as
    caches and reports, is no part of a clone."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    known = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode()
    files = [ROOT / name for name in known.split("\0") if name]
    assert len(files) > 500
    assert sum(path.stat().st_size for path in files if path.is_file()) < 80e6


def test_every_row_was_measured_and_stands_on_the_page() -> None:
    page, store = (ZOO / "README.md").read_text(encoding="utf-8"), Store(ZOO / "measured.json.gz")
    assert page.startswith(MARK)
    sets: dict[tuple[str, str], set[frozenset[str]]] = {}
    for row in ROWS.values():
        assert f"| {row.bundled} |" in page
        keys = [key for key in store.measured(row.weights_hash) if key.startswith("nll alone ")]
        sets.setdefault((row.recipe.data.source, row.vocabulary_hash), set()).add(frozenset(keys))
    assert all(len(set_) == 1 for set_ in sets.values()), "rows of one vocabulary are measured on the same text"
    assert all(len(keys) >= 3 for set_ in sets.values() for keys in set_)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_says_how_to_train_it_again(name: str) -> None:
    row = ROWS[name]
    record = RECORDS[row.folder]
    assert row.bundled is not None
    assert find_recipe(row.bundled).model == row.config == ModelConfig.from_dict(record.config or {})
    assert record.training["command"] == row.command
    base, _, variant = row.bundled.partition("/")
    seed = row.recipe.training.seed
    assert name == ("" if base == "small" else f"{base}-") + variant + ("" if seed == 1 else f"-seed-{seed}")
    assert re.fullmatch("[0-9a-f]{64}", record.training["data_sha256"])
    assert record.training["seconds"] > 0
    assert (record.training["target_tokens"], record.training["steps"]) == last_evaluation(record)
    steps = [int(item["step"]) for item in record.curve]
    assert steps == sorted(set(steps))
    assert record.training["sha256"] == {"weights.safetensors": row.weights_hash}
    assert row.folder.exists() == row.has_weights


def last_evaluation(record: RunRecord) -> tuple[int, int]:
    """Tokens and steps at the end of the learning curve."""
    return int(record.curve[-1]["tokens"]), int(record.curve[-1]["step"])


@pytest.mark.parametrize("name", WITH_WEIGHTS)
def test_weights_in_the_zoo_are_small(name: str) -> None:
    assert sum(path.stat().st_size for path in ROWS[name].folder.iterdir()) < 8 * 2**20


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", ["n8", "full"])
def test_the_twins_were_trained_as_their_recipes_say(name: str, seed: int) -> None:
    record = read_records(ZOO / "twin")[name if seed == 1 else f"{name}-seed-{seed}"]
    recipe = parse_recipe(record.training["recipe"])
    assert (bundled_name(recipe), recipe.training.seed) == (f"twin/{name}", seed)
    assert recipe.model == ModelConfig.from_dict(record.config or {})
    assert (recipe.start, recipe.anew) == ("en-de", ("decoder",))
    assert (record.training["target_tokens"], record.training["steps"]) == last_evaluation(record)


@pytest.mark.parametrize("name", TRANSLATING)
def test_a_row_is_served_as_the_reference_search_translates(name: str, tmp_path: Path) -> None:
    row = ROWS[name]
    export_artifact(row.folder, tmp_path / name, ExportOptions(name, ("en", "de"), (("onnx", "fp32"),)))
    backend = load_backend(Artifact.load(tmp_path / name), "onnx", "fp32")
    sources = [Source((*ids, EOS_ID)) for ids in encoded(row, SOURCES)]
    results = translate_now(backend, sources, SearchOptions(beam_size=BEAM, max_length=MAX_LENGTH))
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
            sum(sentence_nll(model, [Pair(text, text) for text in texts])) for texts in (ids, [t[::-1] for t in ids])
        )
    tokens = sum(len(text) + 1 for text in ids)
    assert forward < backward - tokens / 2
    assert forward / tokens < math.log(row.config.vocab_size) - 2
