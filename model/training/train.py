"""The training loop: recipe and data folder in, checkpoint folder out. Interrupted runs go on where they stopped."""

import csv
import json
import math
import random
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor
from tqdm import tqdm

from model.config import PAD_ID, ConfigError, ModelConfig
from model.data.batching import Batch, Pair, batches_by_tokens, collate, epoch_batches
from model.data.corpus import data_hash, read_corpus
from model.data.vocabulary import Vocabulary, train_vocabulary
from model.language_model import LanguageModel
from model.training.checkpoint import (
    SUMMARY,
    VOCABULARY,
    average_weights,
    load_state,
    save_model,
    save_state,
    save_weights,
)
from model.training.loss import projected_cross_entropy
from model.training.optimizer import MasterOptimizer
from model.training.plot import plot_metrics
from model.training.recipe import DataRecipe, Recipe
from model.training.schedule import learning_rate
from model.translation_model import TranslationModel

AnyModel = TranslationModel | LanguageModel
"""What can be trained: anything with an embedding and hidden states of target positions."""


@dataclass(frozen=True)
class TrainingText:
    """Encoded corpora: training pairs by corpus, dev pairs by corpus."""

    train: dict[str, list[Pair]]
    dev: dict[str, list[Pair]]


def prepare_vocabulary(recipe: DataRecipe, data: Path, out: Path) -> Vocabulary:
    """Train the SentencePiece model on both sides of the corpora, unless `out` already holds one."""
    path = out / VOCABULARY
    if not path.is_file():
        sentences: list[str] = []
        for name, passes in recipe.corpora.items():
            pairs = read_corpus(data, name, recipe.source, recipe.target)
            random.Random(name).shuffle(pairs)
            for pair in pairs[: round(len(pairs) * min(passes, 1))]:
                sentences += (pair.source, pair.target)
        random.Random(0).shuffle(sentences)
        train_vocabulary(sentences[: recipe.vocab_sentences], recipe.vocab_size, path, recipe.vocab_kind)
    return Vocabulary(path)


def encode_corpus(recipe: DataRecipe, data: Path, name: str, vocabulary: Vocabulary, limit: int | None) -> list[Pair]:
    pairs = read_corpus(data, name, recipe.source, recipe.target)[:limit]
    source = vocabulary.encode([pair.source for pair in pairs])
    target = vocabulary.encode([pair.target for pair in pairs])
    encoded = [Pair(s, t) for s, t in zip(source, target, strict=True)]
    return [p for p in encoded if 0 < max(len(p.source), len(p.target)) <= recipe.max_pair_length]


def load_text(recipe: DataRecipe, data: Path, vocabulary: Vocabulary) -> TrainingText:
    return TrainingText(
        train={name: encode_corpus(recipe, data, name, vocabulary, None) for name in recipe.corpora},
        dev={name: encode_corpus(recipe, data, name, vocabulary, limit) for name, limit in recipe.dev.items()},
    )


def epoch_pairs(text: TrainingText, passes: dict[str, float], seed: int, epoch: int) -> list[Pair]:
    """One epoch of pairs: whole passes of a corpus, then a fresh random part of it for the fraction that is left."""
    pairs: list[Pair] = []
    for name, corpus in text.train.items():
        whole, part = divmod(passes[name], 1)
        pairs += corpus * int(whole)
        pairs += random.Random(f"{seed}/{epoch}/{name}").sample(corpus, round(len(corpus) * part))
    return pairs


def new_model(config: ModelConfig) -> AnyModel:
    """Random weights, for whatever the configuration describes."""
    return TranslationModel(config) if config.encoder_layers else LanguageModel(config)


def batch_loss(model: AnyModel, batch: Batch, smoothing: float) -> tuple[Tensor, Tensor]:
    """(smoothed loss, nll), each summed over the batch's target tokens."""
    hidden = model.hidden(batch.source, batch.source_keep, batch.target_in)
    wanted = batch.target_out != PAD_ID
    return projected_cross_entropy(hidden[wanted], model.embedding.weight, batch.target_out[wanted], smoothing)


@torch.no_grad()
def dev_nll(model: AnyModel, pairs: list[Pair], device: torch.device) -> float:
    """Mean negative log-likelihood per target token (EOS included), nats."""
    model.eval()
    total, tokens = 0.0, 0
    for group in batches_by_tokens(sorted(pairs, key=lambda pair: len(pair.target)), 4096):
        batch = collate(group).to(device)
        total += float(batch_loss(model, batch, 0.0)[1])
        tokens += batch.num_target_tokens
    model.train()
    return total / tokens


class Training:
    """State of one run: step, epoch, place in the epoch, model, optimizer, metrics."""

    def __init__(self, recipe: Recipe, data: Path, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self.recipe, self.out = recipe, out
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        vocabulary = prepare_vocabulary(recipe.data, data, out)
        if len(vocabulary) != recipe.model.vocab_size:
            raise ConfigError(
                f"{vocabulary.path} has {len(vocabulary)} pieces, the recipe says {recipe.model.vocab_size}"
            )
        self.text = load_text(recipe.data, data, vocabulary)
        self.data_hash = data_hash(data, list(recipe.data.corpora), (recipe.data.source, recipe.data.target))
        torch.manual_seed(recipe.training.seed)
        self.model = new_model(recipe.model).to(self.device)
        if recipe.training.precision == "bf16":
            self.model.bfloat16()
        self.optimizer = MasterOptimizer(
            self.model, recipe.training.weight_decay, recipe.training.muon_rate is not None
        )
        self.step = self.epoch = self.next_batch = self.tokens = 0
        self.seconds = 0.0
        self.best, self.stale = math.inf, 0
        self.resume()

    def resume(self) -> None:
        state = load_state(self.out)
        if state is None:
            return
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["rng"])
        for name in ("step", "epoch", "next_batch", "tokens", "seconds", "best", "stale"):
            setattr(self, name, state[name])

    def save(self) -> None:
        progress = {n: getattr(self, n) for n in ("step", "epoch", "next_batch", "tokens", "seconds", "best", "stale")}
        save_state({"optimizer": self.optimizer.state_dict(), "rng": torch.get_rng_state(), **progress}, self.out)

    def weights(self) -> dict[str, Tensor]:
        """Weights by name, from the fp32 masters."""
        names = [name for name, parameter in self.model.named_parameters() if parameter.requires_grad]
        return dict(zip(names, self.optimizer.master_weights(), strict=True))

    def update(self, pairs: list[Pair]) -> tuple[float, float]:
        """One optimizer step. Returns the batch's mean nll and the gradient norm."""
        training = self.recipe.training
        batch = collate(pairs).to(self.device)
        tokens = batch.num_target_tokens
        loss, nll = batch_loss(self.model, batch, training.label_smoothing)
        (loss / tokens).backward()  # type: ignore[no-untyped-call]
        self.step += 1
        rate = learning_rate(self.step, 1.0, training.warmup_steps, training.steps, training.decay_fraction)
        rates = (training.adam_rate * rate, (training.muon_rate or 0.0) * rate)
        norm = self.optimizer.step(rates, training.max_gradient_norm)
        self.tokens += tokens
        return float(nll) / tokens, norm

    def evaluate(self, train_nll: float) -> bool:
        """Score dev, append to metrics.csv, save everything. True while training should go on."""
        scores = {name: dev_nll(self.model, pairs, self.device) for name, pairs in self.text.dev.items()}
        mean = sum(scores.values()) / len(scores)
        self.stale = 0 if mean < self.best else self.stale + 1
        self.best = min(self.best, mean)
        self.log(
            {"step": self.step, "tokens": self.tokens, "seconds": round(self.seconds), "train_nll": round(train_nll, 4)}
            | {f"nll {name}": round(score, 4) for name, score in scores.items()}
        )
        save_weights(self.weights(), self.out / f"step-{self.step:07}.safetensors")
        for old in sorted(self.out.glob("step-*.safetensors"))[: -self.recipe.training.keep_last]:
            old.unlink()
        self.save()
        return self.stale < self.recipe.training.patience

    def log(self, row: dict[str, float]) -> None:
        path = self.out / "metrics.csv"
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
        training = self.recipe.training
        bar = tqdm(total=training.steps, initial=self.step, unit="step", desc=self.recipe.name, mininterval=1)
        going, recent = self.step < training.steps, [0.0, 0]
        while going:
            pairs = epoch_pairs(self.text, self.recipe.data.corpora, training.seed, self.epoch)
            batches = epoch_batches(pairs, training.batch_tokens, training.seed, self.epoch)
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
            self.model.load_state_dict(weights)
            scores = [dev_nll(self.model, pairs, self.device) for pairs in self.text.dev.values()]
            scored.append((sum(scores) / len(scores), label))
        nll, label = min(scored)
        save_model(candidates[label], self.recipe.model, self.out)
        plot_metrics(self.out / "metrics.csv", self.out / "metrics.png", self.recipe.name)
        summary = {
            "recipe": asdict(self.recipe),
            "steps": self.step,
            "target_tokens": self.tokens,
            "seconds": round(self.seconds),
            "dev_nll": round(nll, 4),
            "weights": label,
            "data_sha256": self.data_hash,
            "torch": torch.__version__,
            "device": str(self.device),
        }
        (self.out / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


def train(recipe: Recipe, data: Path, out: Path) -> None:
    """Train `recipe` on the corpora below `data` into the folder `out`; goes on from what `out` already holds."""
    Training(recipe, data, out).run()
