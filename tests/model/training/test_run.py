"""The training loop on two parameters: which rates, checkpoints, stops and final weights a recipe means."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from model.training.muon import orthogonalized
from model.training.recipe import TrainingRecipe
from model.training.run import TrainingRun

WEIGHTS = "final.safetensors"


class TwoParameters(nn.Module):
    """A matrix, which Muon moves, and a vector, which Adam moves."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(4, 6) + 0.5)
        self.vector = nn.Parameter(torch.zeros(3))


class SmallRun(TrainingRun[float]):
    """Every update has the gradient 1, times its work. The dev score is how far the vector is from `goal`, or the next
    of `scores`."""

    def __init__(self, out: Path, scores: list[float] | None = None, goal: float = 0.0, **training: Any) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self.small, self.scores, self.goal = TwoParameters(), iter(scores or ()), goal
        values: dict[str, Any] = {
            "steps": 12,
            "warmup_steps": 1,
            "decay_fraction": 0.0,
            "evaluate_every": 2,
            "precision": "fp32",
        }
        super().__init__("small", TrainingRecipe(**values | training), self.small, out)

    def epoch_updates(self, epoch: int) -> list[float]:
        return [1.0] * 5

    def backward(self, work: float) -> tuple[float, int]:
        for parameter in self.small.parameters():
            parameter.grad = torch.full_like(parameter, work)
        return 6.0, 3

    def dev_scores(self) -> dict[str, float]:
        distance = float((self.small.vector.detach() - self.goal).abs().mean())
        return {"dev": next(self.scores, distance)}

    def write_checkpoint(self, weights: dict[str, Tensor]) -> None:
        save_file(weights, self.out / WEIGHTS)

    def summary(self) -> dict[str, Any]:
        return {}


def stays(score: float, before: list[float]) -> bool:
    """Whether a score is no better than all before it."""
    return score >= min(before, default=float("inf"))


@settings(deadline=None)
@given(scores=st.lists(st.integers(0, 5), min_size=1, max_size=10), patience=st.integers(1, 4))
def test_training_stops_when_as_many_scores_in_a_row_were_no_better(
    scores: list[int], patience: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = SmallRun(tmp_path_factory.getbasetemp(), [float(score) for score in scores], patience=patience)
    with pytest.MonkeyPatch.context() as patch:  # nothing is written: other tests look at files
        for name in ("save_weights", "save_state"):
            patch.setattr(f"model.training.run.{name}", lambda *args: None)
        patch.setattr(run, "log", lambda row: None)
        for number in range(len(scores)):
            last = range(number + 1)[-patience:]
            ends = len(last) == patience and all(stays(scores[at], [float(s) for s in scores[:at]]) for at in last)
            assert run.evaluate(0.0) != ends
            if ends:
                break


@pytest.mark.parametrize("keep_last", [1, 3, 9])
@pytest.mark.parametrize("prefers", ["last", "average"])
def test_the_weights_that_are_kept_are_the_better_of_last_and_average(
    keep_last: int, prefers: str, tmp_path: Path
) -> None:
    """Adam moves the vector by the rate in every step, so that all of its checkpoints are known."""
    places = [-0.1 * step for step in (2, 4, 6, 8, 10, 12)][-keep_last:]
    goal = places[-1] if prefers == "last" else sum(places) / len(places)
    run = SmallRun(tmp_path, goal=goal, keep_last=keep_last, adam_rate=0.1, patience=99, warmup_steps=1)
    with pytest.MonkeyPatch.context() as patch:  # a rate that stays, so that the places are easy to see
        patch.setattr("model.training.run.learning_rate", lambda *args: 1.0)
        run.run()
    names = [f"step-{step:07}.safetensors" for step in (2, 4, 6, 8, 10, 12)][-keep_last:]
    assert sorted(path.name for path in tmp_path.glob("step-*")) == names
    assert load_file(tmp_path / WEIGHTS)["vector"].tolist() == pytest.approx([goal] * 3, abs=1e-4)
    assert run.small.vector.tolist() == pytest.approx([goal] * 3, abs=1e-4)
    summary = json.loads((tmp_path / "training.json").read_text(encoding="utf-8"))
    if keep_last > 1:
        assert summary["weights"] == ("last" if prefers == "last" else f"average of {len(names)}")
    assert summary["dev_nll"] == pytest.approx(0, abs=1e-3)
    assert (summary["steps"], summary["target_tokens"]) == (12, 36)


@pytest.mark.parametrize(("adam", "muon", "decay"), [(0.01, 0.02, 0.0), (0.02, 0.02, 0.5), (0.01, 0.04, 0.5)])
def test_every_parameter_learns_at_the_rate_of_its_optimizer(
    adam: float, muon: float, decay: float, tmp_path: Path
) -> None:
    """In the middle of the warm-up, at half of the peaks; without a gradient the matrix only decays."""
    run = SmallRun(tmp_path, adam_rate=adam, muon_rate=muon, weight_decay=decay, warmup_steps=2)
    before = run.small.matrix.detach().clone()
    assert run.update(0.0)[0] == 2.0  # nats per token
    torch.testing.assert_close(run.small.matrix.detach(), before * (1 - muon / 2 * decay))
    run = SmallRun(tmp_path, adam_rate=adam, muon_rate=muon, weight_decay=decay, warmup_steps=2)
    run.update(1.0)
    torch.testing.assert_close(run.small.vector.detach(), torch.full((3,), -adam / 2))
    moved = before * (1 - muon / 2 * decay) - run.small.matrix.detach()
    torch.testing.assert_close(moved, muon / 2 * 0.2 * 6**0.5 * orthogonalized(torch.ones(4, 6)), rtol=0.02, atol=0)


def test_the_curve_has_a_row_for_every_evaluation_with_the_mean_of_its_updates(tmp_path: Path) -> None:
    SmallRun(tmp_path, steps=5, evaluate_every=2).run()
    with (tmp_path / "metrics.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["step"], row["tokens"], row["train_nll"]) for row in rows] == [
        ("2", "6", "2.0"), ("4", "12", "2.0"), ("5", "15", "2.0"),
    ]  # fmt: skip
