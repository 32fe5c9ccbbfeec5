"""Averaged runs: the mean of every weight, only where that has a meaning, and how it came about."""

import argparse
import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from model.config import ConfigError
from model.data.lexicon import LEXICON
from model.training.average import average_command
from model.training.checkpoint import load_config
from model.training.document_checkpoint import CONTEXT_WEIGHTS, load_document_model
from tests.model.training.test_zoo_context import run as document_run


def average(out: Path, *runs: Path) -> Path:
    parser = argparse.ArgumentParser()
    average_command.add_arguments(parser)
    average_command.run(parser.parse_args([*map(str, runs), "--out", str(out)]))
    return out


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A sentence model, and two runs with a layer that went on from it."""
    results = []
    for number, name in enumerate(("sentences", "first", "last")):
        folder = document_run(tmp_path / name, "documents/all-encoder-sparse-soft")
        shutil.copyfile(Path(__file__).parents[3] / "model/zoo/small/vocabulary.model", folder / "vocabulary.model")
        for file in ("weights.safetensors", CONTEXT_WEIGHTS):
            weights = {name: tensor.float() + number for name, tensor in load_file(folder / file).items()}
            save_file(weights, folder / file)
        results.append(folder)
    for file in ("context.json", CONTEXT_WEIGHTS, "training.json"):
        (results[0] / file).unlink()
    return results[0], results[1], results[2]


def test_every_weight_is_the_mean_and_a_run_named_twice_counts_twice(
    runs: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    sentences, first, last = runs
    out = average(tmp_path / "out", sentences, first, last, last)
    for file, expected in (("weights.safetensors", 5 / 4), (CONTEXT_WEIGHTS, 5 / 3)):
        plain = load_file(last / file)
        for name, tensor in load_file(out / file).items():
            assert torch.allclose(tensor, plain[name] - 2 + expected, atol=1e-5), name
    load_document_model(out)


def test_the_last_lexicon_of_the_runs_is_kept(runs: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """Without it an artifact has no shortlist, and no sure links to choose the head by that aligns."""
    assert not (average(tmp_path / "none", *runs) / LEXICON).exists()
    for run in runs[:2]:
        (run / LEXICON).write_text(run.name)
    assert (average(tmp_path / "out", *runs) / LEXICON).read_text() == "first"


def test_dropout_may_differ_and_the_least_is_kept(runs: tuple[Path, Path, Path], tmp_path: Path) -> None:
    for run, dropout in zip(runs, (0.2, 0.05, 0.1), strict=True):
        values = json.loads((run / "config.json").read_text(encoding="utf-8"))
        (run / "config.json").write_text(json.dumps(values | {"dropout": dropout}), encoding="utf-8")
    assert load_config(average(tmp_path / "out", *runs)).dropout == 0.05


def test_the_summary_lists_the_averaged_runs_and_no_stale_measurement(
    runs: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    last = runs[2]
    summary = json.loads((last / "training.json").read_text(encoding="utf-8"))
    (last / "training.json").write_text(json.dumps({**summary, "dev_nll": 1.5}), encoding="utf-8")
    result = json.loads((average(tmp_path / "out", *runs) / "training.json").read_text(encoding="utf-8"))
    assert result["recipe"] == summary["recipe"]
    assert "dev_nll" not in result
    assert [member["run"] for member in result["average_of"]] == ["sentences", "first", "last"]
    assert [member.get("steps") for member in result["average_of"]] == [None, 300, 300]
    assert len({member["sha256"] for member in result["average_of"]}) == 3


def test_models_that_are_not_alike_are_refused(runs: tuple[Path, Path, Path], tmp_path: Path) -> None:
    sentences, first, last = runs
    with pytest.raises(ConfigError, match=r"sentences is not finished: `ringmt train` ends by writing training\.json"):
        average(tmp_path / "out", last, sentences)
    with pytest.raises(ConfigError, match="last is one of the runs: give --out a folder of its own"):
        average(last, first, last)
    (first / "vocabulary.model").write_bytes(b"another")
    with pytest.raises(ConfigError, match=r"first has another vocabulary than .*last"):
        average(tmp_path / "out", first, last)
    shutil.copyfile(last / "vocabulary.model", first / "vocabulary.model")
    for file, message in (("context.json", "another context layer"), ("config.json", "another shape")):
        values = json.loads((first / file).read_text(encoding="utf-8"))
        (first / file).write_text(json.dumps(values | {"ffn_dim": 8}), encoding="utf-8")
        with pytest.raises(ConfigError, match=f"first .*{message}"):
            average(tmp_path / "out", first, last)
    assert not (tmp_path / "out").exists()
