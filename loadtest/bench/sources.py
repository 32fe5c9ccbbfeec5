"""Random sentences of word ids, without what the models themselves need: a competitor's process imports no more than
its engine."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from model.config import EOS_ID

SOURCES = "sources.json"


@dataclass(frozen=True)
class Words:
    """The ids of a model's words, from `first` to below `end`, and of EOS."""

    first: int
    end: int
    eos: int = EOS_ID

    def write(self, folder: Path) -> None:
        (folder / SOURCES).write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Words":
        return cls(**json.loads((folder / SOURCES).read_text(encoding="utf-8")))

    def sources(self, count: int, length: int, seed: int = 0) -> list[tuple[int, ...]]:
        """`count` sources of `length` pieces, EOS included."""
        generator = np.random.default_rng(seed)
        return [(*generator.integers(self.first, self.end, length - 1).tolist(), self.eos) for _ in range(count)]


def random_sources(count: int, length: int, vocabulary: int, seed: int = 0) -> list[tuple[int, ...]]:
    """`Words.sources` of a vocabulary like our own."""
    return Words(EOS_ID + 1, vocabulary).sources(count, length, seed)
