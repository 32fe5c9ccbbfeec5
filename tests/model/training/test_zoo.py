"""Finished runs are kept in fp16 with what trains them again, and the rows that are kept are whole."""

import argparse
import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from model.data.batching import Pair, collate
from model.training.bundled import bundled_name, find_recipe
from model.training.checkpoint import find_vocabulary, load_any_model, save_model
from model.training.recipe import parse_recipe
from model.training.run_records import find_records, read_records, read_run
from model.training.zoo import ZooError, drop_weights, keep_run, zoo_command
from model.translation_model import TranslationModel

KEPT = ["config.json", "metrics.csv", "training.json", "vocabulary.model", "weights.safetensors"]


def run(folder: Path, recipe: str = "tiny", seed: int = 1, **training: Any) -> Path:
    """A finished run of random weights, as training leaves it."""
    bundled = find_recipe(recipe)
    torch.manual_seed(seed)
    model = TranslationModel(bundled.model)
    save_model(dict(model.named_parameters()), bundled.model, folder)
    values = dataclasses.asdict(dataclasses.replace(bundled, name="a name of its own"))
    values["training"] |= {"seed": seed} | training
    summary = {"recipe": values, "steps": 100, "target_tokens": 5000, "seconds": 61, "data_sha256": "ab"}
    (folder / "training.json").write_text(json.dumps(summary), encoding="utf-8")
    (folder / "metrics.csv").write_text("step,tokens\n100,5000\n", encoding="utf-8")
    (folder / "vocabulary.model").write_bytes(b"pieces")
    for extra in ("training-state.pt", "step-0000100.safetensors", "metrics.png"):
        (folder / extra).write_bytes(b"large")
    return folder


def keep(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    zoo_command.add_arguments(parser)
    return zoo_command.run(parser.parse_args([str(argument) for argument in arguments]))


def test_a_run_is_kept_in_half_the_bytes_with_the_command_that_trains_it(tmp_path: Path) -> None:
    source = run(tmp_path / "runs/tiny-seed-2", seed=2)
    keep_run(source, tmp_path / "zoo/tiny-seed-2")
    kept = tmp_path / "zoo/tiny-seed-2"
    assert sorted(path.name for path in kept.iterdir()) == KEPT
    assert list((tmp_path / "zoo").iterdir()) == [kept]
    weights = load_file(kept / "weights.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}
    assert (kept / "weights.safetensors").stat().st_size < 0.55 * (source / "weights.safetensors").stat().st_size
    summary = json.loads((kept / "training.json").read_text(encoding="utf-8"))
    assert summary["command"] == "ringmt train --recipe tiny --data DATA --out RUN --seed 2"
    assert summary["recipe"]["name"] == "tiny"
    assert (summary["stored_as"], summary["seconds"], summary["data_sha256"]) == ("fp16", 61, "ab")


def test_fp16_changes_log_probabilities_by_next_to_nothing(tmp_path: Path) -> None:
    source = run(tmp_path / "run")
    keep_run(source, tmp_path / "kept")
    generator = np.random.default_rng(0)
    batch = collate([Pair(*generator.integers(4, 400, (2, 20)).tolist()) for _ in range(8)])
    before, after = (
        torch.log_softmax(model(batch.source, batch.source_keep, batch.target_in), dim=-1)
        for model in (load_any_model(source), load_any_model(tmp_path / "kept"))
        if isinstance(model, TranslationModel)
    )
    assert 0 < (before - after).abs().max() < 0.01


def test_keeping_again_changes_nothing_and_newer_weights_replace_older(tmp_path: Path) -> None:
    source, kept = run(tmp_path / "runs/a"), tmp_path / "zoo/a"
    keep(tmp_path / "runs", tmp_path / "zoo")
    first = {path.name: path.read_bytes() for path in kept.iterdir()}
    (kept / "left-over").write_bytes(b"")
    keep(source, tmp_path / "zoo")
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == first
    save_file({"a": torch.ones(1)}, source / "weights.safetensors")
    keep(tmp_path / "runs", tmp_path / "zoo")
    assert (kept / "weights.safetensors").read_bytes() != first["weights.safetensors"]


def test_runs_that_are_not_finished_are_left_out_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path / "runs/done")
    (run(tmp_path / "runs/going") / "training.json").unlink()
    assert keep(tmp_path / "runs", tmp_path / "zoo") == 0
    assert [path.name for path in (tmp_path / "zoo").iterdir()] == ["done"]
    assert "going: still training, left out" in capsys.readouterr().out
    with pytest.raises(ZooError, match=r"no finished run in .*going"):
        keep(tmp_path / "runs/going", tmp_path / "zoo")


def test_a_run_without_a_bundled_recipe_is_refused(tmp_path: Path) -> None:
    run(tmp_path / "run", adam_rate=1.0)
    with pytest.raises(ZooError, match=r"no bundled recipe trains .*run \('a name of its own'\)"):
        keep_run(tmp_path / "run", tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_recipe_is_recognized_by_its_training() -> None:
    recipe = find_recipe("small/window-all")
    training = dataclasses.replace(recipe.training, seed=7)
    assert bundled_name(dataclasses.replace(recipe, name="x", training=training)) == "small/window-all"
    assert bundled_name(dataclasses.replace(recipe, training=dataclasses.replace(training, steps=1))) is None
    assert bundled_name(find_recipe("small")) == "small/full"
    assert bundled_name(parse_recipe(dataclasses.asdict(find_recipe("language/base")))) == "language/base"


def test_a_vocabulary_that_stands_beside_the_rows_is_not_kept_again(tmp_path: Path) -> None:
    source = run(tmp_path / "run")
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo/vocabulary.model").write_bytes(b"others")
    keep(source, tmp_path / "zoo")
    assert find_vocabulary(tmp_path / "zoo/run") == tmp_path / "zoo/run/vocabulary.model"
    (tmp_path / "zoo/vocabulary.model").write_bytes(b"pieces")
    keep(source, tmp_path / "zoo")
    assert find_vocabulary(tmp_path / "zoo/run") == tmp_path / "zoo/vocabulary.model"
    (tmp_path / "zoo/vocabulary.model").unlink()
    with pytest.raises(FileNotFoundError, match=r"neither in .*run nor beside it"):
        find_vocabulary(tmp_path / "zoo/run")


def test_a_run_is_kept_without_its_weights_but_for_their_hash(tmp_path: Path) -> None:
    source = run(tmp_path / "run")
    keep(source, tmp_path / "zoo")
    kept = tmp_path / "zoo/run"
    weights = hashlib.sha256((kept / "weights.safetensors").read_bytes()).hexdigest()
    whole = read_run(kept)
    keep(source, tmp_path / "zoo", "--without-weights")
    assert [path.name for path in kept.iterdir()] == ["vocabulary.model"]  # of its own: none stands beside the folder
    assert sorted(path.name for path in (tmp_path / "zoo").iterdir()) == ["curves.csv", "run", "runs.jsonl"]
    record = read_run(kept)
    assert record == whole == read_records(tmp_path / "zoo")["run"]
    assert record is not None
    assert record.training["sha256"] == {"weights.safetensors": weights}
    assert record.curve == [{"step": "100", "tokens": "5000"}]
    with pytest.raises(ZooError, match="holds no weights"):
        drop_weights(kept)
    keep(source, tmp_path / "zoo")
    assert read_records(tmp_path / "zoo") == {}
    assert read_run(kept) == whole
    (kept / "weights.safetensors").write_bytes(b"others")
    with pytest.raises(ZooError, match="does not have the hash"):
        drop_weights(kept)


def test_runs_without_weights_share_one_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo/vocabulary.model").write_bytes(b"pieces")
    for seed in (2, 1):
        run(tmp_path / f"runs/tiny-{seed}", seed=seed)
    keep(tmp_path / "runs", tmp_path / "zoo", "--without-weights")
    assert sorted(path.name for path in (tmp_path / "zoo").iterdir()) == [
        "curves.csv",
        "runs.jsonl",
        "vocabulary.model",
    ]
    assert [path.name for path in find_records(tmp_path / "zoo")] == ["tiny-1", "tiny-2"]
