"""Small finished checkpoints, as training would leave them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from export.compare.conditions import ALONE
from export.compare.estimate import Costs
from export.compare.measurements import Measured
from export.compare.rows import Row, read_row
from model.data.vocabulary import train_vocabulary
from model.language_model import LanguageModel
from model.training.checkpoint import VOCABULARY, WEIGHTS, save_model
from tests.models import SENTENCES, lively_model, tiny_config, write_checkpoint

SAMPLE = Path(__file__).parent.parent.parent / "sample"


def summary(name: str, seed: int = 1, source: str = "en", **model: Any) -> dict[str, Any]:
    """What training writes of a tiny model."""
    return {
        "recipe": {
            "name": name,
            "model": tiny_config(**model).to_dict(),
            "data": {
                "source": source, "target": "de", "corpora": {"tatoeba": 1}, "dev": {"tatoeba-dev": 60},
                "vocab_size": 320, "max_pair_length": 60,
            },
            "training": {"steps": 10, "seed": seed},
        },
        "steps": 10,
        "target_tokens": 1_500_000,
        "seconds": 600,
    }  # fmt: skip


def finished(folder: Path, seed: int = 1, **model: Any) -> Path:
    """A checkpoint that can be measured."""
    write_checkpoint(lively_model(tiny_config(**model), seed), folder)
    (folder / "training.json").write_text(json.dumps(summary(folder.name, seed, **model)), encoding="utf-8")
    return folder


def language_model(folder: Path) -> Path:
    """A language model that can be measured."""
    torch.manual_seed(0)
    model = LanguageModel(tiny_config(encoder_layers=0, ngram=None))
    save_model(dict(model.named_parameters()), model.config, folder)
    train_vocabulary(SENTENCES * 4, model.config.vocab_size, folder / VOCABULARY)
    text = json.dumps(summary(folder.name, source="de", encoder_layers=0, ngram=None))
    (folder / "training.json").write_text(text, encoding="utf-8")
    return folder


def row(folder: Path, name: str, seed: int = 1, source: str = "en", **model: Any) -> Row:
    """A row whose weights are never read."""
    (folder / name).mkdir(parents=True)
    (folder / name / WEIGHTS).write_bytes(f"{name} {seed}".encode())
    (folder / name / VOCABULARY).write_bytes(b"vocabulary")
    (folder / name / "training.json").write_text(json.dumps(summary(name, seed, source, **model)), encoding="utf-8")
    return read_row(folder / name)


def measured(row: Row, offset: float, noise: float = 0.1, seed: int = 0) -> Measured:
    """Two hundred sentences of very different costs, `offset` nats per token more than elsewhere, with some noise."""
    shared, own = np.random.default_rng(0), np.random.default_rng([seed, round(1e3 * offset)])
    tokens = shared.integers(1, 30, 200).astype(np.float64)
    per_token = shared.gamma(2, 1.5, 200) + offset + noise * own.normal(size=200)
    return Measured(row, {ALONE: {"dev": Costs(per_token * tokens, tokens)}})
