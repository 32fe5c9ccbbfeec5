"""The training loop of all models: steps, evaluations, checkpoints. An interrupted run resumes where it stopped."""

import csv
import math
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn
from tqdm import tqdm

from model.training.checkpoint import (
    METRICS,
    SUMMARY,
    average_weights,
    load_state,
    save_state,
    save_weights,
    write_json,
)
from model.training.optimizer import MasterOptimizer, has_fast_bf16
from model.training.plot import plot_metrics
from model.training.recipe import TrainingRecipe
from model.training.schedule import learning_rate

Update = TypeVar("Update")
"""The data of one update."""

PROGRESS = ("step", "epoch", "next_batch", "tokens", "seconds", "best", "stale")


class TrainingRun(ABC, Generic[Update]):
    """State of one run: step, epoch, place in the epoch, model, optimizer, metrics.

    A subclass has the model and the text: `epoch_updates`, `backward`, `dev_scores`, `write_checkpoint`, `summary`.
    """

    def __init__(self, name: str, training: TrainingRecipe, model: nn.Module, out: Path) -> None:
        self.name, self.training, self.model, self.out = name, training, model, out
        self.device = next(model.parameters()).device
        if training.precision == "bf16" and has_fast_bf16(self.device):
            model.bfloat16()
        self.optimizer = MasterOptimizer(model, training.weight_decay, training.muon_rate is not None, self.rate_scale)
        self.step = self.epoch = self.next_batch = self.tokens = 0
        self.seconds = 0.0
        self.best, self.stale = math.inf, 0

    @abstractmethod
    def epoch_updates(self, epoch: int) -> list[Update]:
        """The updates of one epoch, in order; decided by seed and epoch alone."""

    @abstractmethod
    def backward(self, update_data: Update) -> tuple[float, int]:
        """Leave the gradient of the mean loss per target token in the model. Returns the summed nll and the tokens."""

    @abstractmethod
    def dev_scores(self) -> dict[str, float]:
        """Dev set -> mean nll per target token. Leaves the model ready for training."""

    @abstractmethod
    def write_checkpoint(self, weights: dict[str, Tensor]) -> None:
        """Write the final checkpoint into `out`."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """The fields of training.json about recipe and data; the model holds its final weights."""

    def rate_scale(self, parameter: str) -> float:
        """The factor of the recipe's rates for the parameter of this name."""
        return 1.0

    def objective(self, scores: dict[str, float]) -> float:
        """The score by which training stops early and the final weights are chosen; lower is better."""
        return sum(scores.values()) / len(scores)

    def resume(self) -> dict[str, Any] | None:
        """Resume from the training state in `out`; None where there is none."""
        state = load_state(self.out)
        if state is not None:
            self.optimizer.load_state_dict(state["optimizer"])
            torch.set_rng_state(state["rng"])
            for name in PROGRESS:
                setattr(self, name, state[name])
        return state

    def state(self) -> dict[str, Any]:
        """Everything that `resume` needs."""
        progress = {name: getattr(self, name) for name in PROGRESS}
        return {"optimizer": self.optimizer.state_dict(), "rng": torch.get_rng_state(), **progress}

    def weights(self) -> dict[str, Tensor]:
        """Trained weights by name, from the fp32 masters."""
        names = [name for name, parameter in self.model.named_parameters() if parameter.requires_grad]
        return dict(zip(names, self.optimizer.master_weights(), strict=True))

    def update(self, update_data: Update) -> tuple[float, float]:
        """One optimizer step. Returns the batch's mean nll and the gradient norm."""
        training = self.training
        nll, tokens = self.backward(update_data)
        self.step += 1
        rate = learning_rate(self.step, 1.0, training.warmup_steps, training.steps, training.decay_fraction)
        rates = (training.adam_rate * rate, (training.muon_rate or 0.0) * rate)
        norm = self.optimizer.step(rates, training.max_gradient_norm)
        self.tokens += tokens
        return nll / tokens, norm

    def evaluate(self, train_nll: float) -> bool:
        """Score dev, append to metrics.csv, save everything. True while training should go on."""
        scores = self.dev_scores()
        mean = self.objective(scores)
        self.stale = 0 if mean < self.best else self.stale + 1
        self.best = min(self.best, mean)
        self.log(
            {"step": self.step, "tokens": self.tokens, "seconds": round(self.seconds), "train_nll": round(train_nll, 4)}
            | {f"nll {name}": round(score, 4) for name, score in scores.items()}
        )
        save_weights(self.weights(), self.out / f"step-{self.step:07}.safetensors")
        for old in sorted(self.out.glob("step-*.safetensors"))[: -self.training.keep_last]:
            old.unlink()
        save_state(self.state(), self.out)
        return self.stale < self.training.patience

    def log(self, row: dict[str, float]) -> None:
        path = self.out / METRICS
        kept = []
        if path.is_file():  # rows after the checkpoint that a killed run left behind are written again
            with path.open(newline="", encoding="utf-8") as file:
                kept = [old for old in csv.DictReader(file) if int(old["step"]) < row["step"]]
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, row)
            writer.writeheader()
            writer.writerows([*kept, row])

    def run(self) -> None:
        """Train until the recipe's last step or early stop, then write the final checkpoint."""
        training = self.training
        bar = tqdm(total=training.steps, initial=self.step, unit="step", desc=self.name, mininterval=1)
        going, recent = self.step < training.steps, [0.0, 0]
        while going:
            batches = self.epoch_updates(self.epoch)
            while going and self.next_batch < len(batches):
                start = time.monotonic()
                nll, norm = self.update(batches[self.next_batch])
                self.next_batch += 1
                self.seconds += time.monotonic() - start
                recent = [recent[0] + nll, recent[1] + 1]
                bar.update()
                bar.set_postfix(nll=f"{nll:.2f}", norm=f"{norm:.2f}", tokens=f"{self.tokens / 1e6:.1f}M", refresh=False)
                if self.step % training.evaluate_every == 0 or self.step >= training.steps:
                    going = self.evaluate(recent[0] / recent[1]) and self.step < training.steps
                    recent = [0.0, 0]
            if going:
                self.epoch, self.next_batch = self.epoch + 1, 0
        bar.close()
        self.finish()

    def finish(self) -> None:
        """Keep the last weights or the average of the last checkpoints, whichever scores better on dev."""
        paths = sorted(self.out.glob("step-*.safetensors"))
        candidates = {"last": average_weights(paths[-1:]), f"average of {len(paths)}": average_weights(paths)}
        scored = []
        for label, weights in candidates.items():
            self.load_trained(weights)
            scored.append((self.objective(self.dev_scores()), label))
        nll, label = min(scored)
        self.load_trained(candidates[label])
        self.write_checkpoint(candidates[label])
        plot_metrics(self.out / METRICS, self.out / "metrics.png", self.name)
        summary = {
            **self.summary(),
            "steps": self.step,
            "target_tokens": self.tokens,
            "seconds": round(self.seconds),
            "dev_nll": round(nll, 4),
            "weights": label,
            "torch": torch.__version__,
            "device": str(self.device),
            "computed_in": str(next(self.model.parameters()).dtype).removeprefix("torch."),
        }
        write_json(self.out / SUMMARY, summary)

    def load_trained(self, weights: dict[str, Tensor]) -> None:
        """Put trained weights into the model; what is not trained stays."""
        unexpected = self.model.load_state_dict(weights, strict=False).unexpected_keys
        if unexpected:
            raise ValueError(f"{self.out} holds the checkpoints of another model (unknown weight {unexpected[0]})")
