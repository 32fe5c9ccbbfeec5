"""Which folders are rows, and what is said of the others."""

import dataclasses
import json
from pathlib import Path

import pytest

from export.compare.rows import CompareError, Row, Size, find_rows, read_row
from model.training.checkpoint import SUMMARY, VOCABULARY, WEIGHTS
from model.training.run_records import RunRecord, put_record
from tests.export.compare.checkpoints import row
from tests.models import lively_model, tiny_config


def test_finished_checkpoints_below_a_folder_are_rows(tmp_path: Path) -> None:
    for name in ("n8", "full"):
        row(tmp_path, name)
    (tmp_path / "still-training").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    assert [row.name for row in find_rows([tmp_path])] == ["full", "n8"]
    assert [row.name for row in find_rows([tmp_path / "n8"])] == ["n8"]


def test_rows_are_grouped_by_everything_but_name_and_seed(tmp_path: Path) -> None:
    first, two = row(tmp_path, "a", seed=1), row(tmp_path, "b", seed=2)
    other = row(tmp_path, "c", ngram=None)
    assert first.group() == two.group() != other.group()
    assert first.group("ngram") == other.group("ngram")


def test_incomparable_rows_are_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(CompareError, match=r"no finished run in .*empty: `ringmt train` ends by"):
        find_rows([tmp_path / "empty"])
    row(tmp_path / "one", "n8")
    row(tmp_path / "two", "n8")
    with pytest.raises(CompareError, match="two folders are called 'n8'"):
        find_rows([tmp_path / "one", tmp_path / "two"])
    row(tmp_path / "lm", "lm", source="de", encoder_layers=0)
    assert [row.name for row in find_rows([tmp_path / "one", tmp_path / "lm"])] == ["n8", "lm"]
    row(tmp_path / "three", "french", source="fr")
    with pytest.raises(CompareError, match=r"several language pairs \(n8 en-de, french fr-de\)"):
        find_rows([tmp_path / "one", tmp_path / "three"])
    (tmp_path / "one" / "n8" / "weights.safetensors").unlink()
    with pytest.raises(CompareError, match="n8 is not a finished run: FileNotFoundError"):
        find_rows([tmp_path / "one"])


def test_bundled_rows_stand_as_in_their_file_seeds_together_and_language_models_last(tmp_path: Path) -> None:
    first = row(tmp_path, "x")

    def named(bundled: str | None, name: str, seed: int = 1) -> Row:
        recipe = dataclasses.replace(first.recipe, training=dataclasses.replace(first.recipe.training, seed=seed))
        return dataclasses.replace(first, bundled=bundled, name=name, recipe=recipe)

    lm = row(tmp_path, "a-lm", source="de", encoder_layers=0)
    rows = [lm, named(None, "a"), named("small/full", "full"), named("small/n10", "n10"),
            named("small/n2", "n2-seed-2", 2), named("small/n2", "n2")]  # fmt: skip
    names = [row.name for row in sorted(rows, key=lambda row: row.place)]
    assert names == ["n2", "n2-seed-2", "n10", "full", "a", "a-lm"]
    assert rows[4].command == "ringmt train --recipe small/n2 --data DATA --out RUN --seed 2"


def test_size_counts_parameters_and_the_rings_of_one_hypothesis() -> None:
    config = tiny_config(ngram=8)
    size = Size.of(config)
    assert size.parameters == sum(p.numel() for p in lively_model(config).parameters())
    assert size.cache_bytes == 2 * 2 * 7 * 32 * 4  # keys and values, layers, slots, width, bytes
    assert Size.of(tiny_config(encoder_layers=0)).cache_bytes is None


def test_a_row_without_weights_is_known_by_their_hash_and_says_how_to_get_them(tmp_path: Path) -> None:
    whole = row(tmp_path, "n8")
    summary = json.loads((whole.folder / SUMMARY).read_text(encoding="utf-8"))
    (whole.folder / WEIGHTS).unlink()
    (whole.folder / VOCABULARY).rename(tmp_path / VOCABULARY)
    whole.folder.joinpath(SUMMARY).unlink()
    whole.folder.rmdir()
    put_record(tmp_path, RunRecord("n8", {**summary, "sha256": {WEIGHTS: whole.weights_hash}}, None, None, []))
    bare = read_row(whole.folder)
    row(tmp_path, "with-weights")
    assert find_rows([tmp_path])[0] == bare
    assert [entry.name for entry in find_rows([tmp_path])] == ["n8", "with-weights"]
    assert (bare.weights_hash, bare.vocabulary_hash) == (whole.weights_hash, whole.vocabulary_hash)
    assert not bare.has_weights
    with pytest.raises(CompareError, match=r"kept without its weights.*`ringmt train --recipe .* --out RUN`"):
        bare.load_alone()


def test_budgets_are_equal_for_other_models_and_seeds_only(tmp_path: Path) -> None:
    first, seed, model = row(tmp_path, "a"), row(tmp_path, "b", seed=2), row(tmp_path, "c", ngram=None)
    assert first.budget == seed.budget == model.budget
    longer = dataclasses.replace(first.recipe, training=dataclasses.replace(first.recipe.training, steps=99))
    other_text = dataclasses.replace(first.recipe, data=dataclasses.replace(first.recipe.data, corpora={"x": 1.0}))
    for recipe in (longer, other_text):
        assert dataclasses.replace(first, recipe=recipe).budget != first.budget
