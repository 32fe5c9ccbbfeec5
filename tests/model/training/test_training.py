"""From a recipe to a checkpoint, on a small sample."""

import argparse
import dataclasses
import json
import math
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from model.data.batching import Pair
from model.data.corpus import read_corpus
from model.data.vocabulary import Vocabulary
from model.training.checkpoint import VOCABULARY, average_weights, load_model, save_weights
from model.training.commands import train_command
from model.training.document_recipe import load_any_recipe
from model.training.recipe import RECIPES
from model.training.train import Training, encode_corpus, prepare_vocabulary, train
from tests.children import PATIENCE, child
from tests.model.runs import SAMPLE, metrics, tiny


def test_training_learns_and_leaves_a_checkpoint(trained: Path) -> None:
    rows = metrics(trained)
    assert [row["step"] for row in rows] == ["10", "20"]
    uniform = math.log(480)
    assert float(rows[1]["nll tatoeba-dev"]) < min(uniform, float(rows[0]["nll tatoeba-dev"]))
    model = load_model(trained)
    assert model.config == load_any_recipe(RECIPES / "tiny.yaml").model
    assert (trained / "metrics.png").read_bytes().startswith(b"\x89PNG")
    assert '"data_sha256"' in (trained / "training.json").read_text(encoding="utf-8")


class Stopped(Training):
    """A run that ends at its first evaluation."""

    def evaluate(self, train_nll: float) -> bool:
        super().evaluate(train_nll)
        return False


def test_a_run_that_was_stopped_goes_on_with_the_same_curve(trained: Path, tmp_path: Path) -> None:
    Stopped(tiny(20), SAMPLE, tmp_path).run()
    assert len(metrics(tmp_path)) == 1
    train(tiny(20), SAMPLE, tmp_path)
    assert metrics(tmp_path) == metrics(trained)
    ours, theirs = load_file(tmp_path / "weights.safetensors"), load_file(trained / "weights.safetensors")
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_a_killed_process_goes_on_too(trained: Path, tmp_path: Path) -> None:
    """SIGKILL at an arbitrary moment after the first checkpoint."""
    given = ["--recipe", "tiny", "--data", str(SAMPLE), "--out", str(tmp_path), "--threads", "1"]
    command = [sys.executable, "-m", "server.cli", "train", *given, "--steps", "100000"]
    with (tmp_path / "log").open("w+b") as log, child(command, stderr=log) as process:
        give_up = time.monotonic() + PATIENCE
        while not (tmp_path / "training-state.pt").exists():
            assert process.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < give_up, "it writes no checkpoint"
            time.sleep(0.01)  # the processor is the other process's
    before = metrics(tmp_path)
    steps = 10 * (len(before) + 1)
    parser = argparse.ArgumentParser()
    train_command.add_arguments(parser)
    assert train_command.run(parser.parse_args([*given, "--steps", str(steps)])) == 0
    after = metrics(tmp_path)
    assert after[: len(before)] == before
    assert after[-1]["step"] == str(steps)


def test_training_stops_early_when_dev_gets_no_better(tmp_path: Path) -> None:
    train(tiny(100, evaluate_every=2, patience=2, adam_rate=0.0, muon_rate=None), SAMPLE, tmp_path)
    assert [row["step"] for row in metrics(tmp_path)] == ["2", "4", "6"]


def test_another_seed_is_another_run_of_the_same_recipe(trained: Path, tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    train_command.add_arguments(parser)
    given = ["--recipe", "tiny", "--data", str(SAMPLE), "--out", str(tmp_path), "--steps", "2", "--seed", "3"]
    train_command.run(parser.parse_args([*given, "--threads", "1"]))
    recipe = json.loads((tmp_path / "training.json").read_text(encoding="utf-8"))["recipe"]
    assert (recipe["training"]["seed"], recipe["training"]["steps"]) == (3, 2)
    first, other = (load_file(folder / "weights.safetensors") for folder in (trained, tmp_path))
    assert first.keys() == other.keys()
    assert not torch.equal(first["embedding.weight"], other["embedding.weight"])


def test_averaging_is_the_mean(tmp_path: Path) -> None:
    for index in range(3):
        save_weights({"a": torch.full((2,), float(index))}, tmp_path / f"{index}.safetensors")
    assert average_weights(sorted(tmp_path.glob("*.safetensors")))["a"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("longest", [10, 16, 24])
def test_pairs_with_a_side_too_long_are_left_out_and_no_others(longest: int, trained: Path) -> None:
    vocabulary, recipe = Vocabulary(trained / VOCABULARY), dataclasses.replace(tiny().data, max_pair_length=longest)
    pairs = read_corpus(SAMPLE, "tatoeba", "en", "de")[:80]
    encoded = [Pair(*vocabulary.encode([pair.source, pair.target])) for pair in pairs]
    expected = [pair for pair in encoded if len(pair.source) <= longest and len(pair.target) <= longest]
    assert 0 < len(expected) < len(encoded)
    assert any(len(pair.source) <= longest < len(pair.target) for pair in encoded)
    assert encode_corpus(recipe, SAMPLE, "tatoeba", vocabulary, 80) == expected


def test_a_vocabulary_is_learned_of_a_part_from_all_over_the_corpus(tmp_path: Path) -> None:
    """A quarter of it: as much of its end as of its beginning."""
    (tmp_path / "x.en").write_text("abab\n" * 200 + "xyxy\n" * 200, encoding="utf-8")
    (tmp_path / "x.de").write_text("cdcd\n" * 200 + "vwvw\n" * 200, encoding="utf-8")
    data = dataclasses.replace(tiny().data, corpora={"x": 0.2}, vocab_size=272)
    pieces = Vocabulary(prepare_vocabulary(data, tmp_path, tmp_path, None).path)
    known = {piece for ids in pieces.encode(["abab xyxy cdcd vwvw"]) for piece in pieces.pieces(ids)}
    assert not any(piece.startswith("<0x") for piece in known), "spelled by bytes: never seen"


def test_an_update_has_the_gradient_of_the_mean_over_its_tokens(tmp_path: Path) -> None:
    """Twice the same pairs have the same gradient, and its sum is that of their loss."""
    run = Training(tiny(precision="fp32"), SAMPLE, tmp_path)
    run.translator.eval()  # no dropout
    pairs = run.epoch_updates(0)[0][:3]
    results = []
    for work in (pairs, pairs * 2):
        run.translator.zero_grad()
        nll, tokens = run.backward(work)
        assert tokens == sum(len(pair.target) + 1 for pair in work)
        gradients = [parameter.grad.clone() for parameter in run.translator.parameters() if parameter.grad is not None]
        results.append((nll / tokens, gradients))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-5)
    for first, other in zip(results[0][1], results[1][1], strict=True):
        torch.testing.assert_close(first, other, rtol=1e-3, atol=1e-6)
