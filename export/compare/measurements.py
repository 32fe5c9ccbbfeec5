"""Measure what is missing, then look everything up: only `measure` computes, only `collect` reads."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from export.compare.decode import tokens_per_second, translations
from export.compare.likelihood import Array, Estimate, mean_estimate, per_token, sentence_nll
from export.compare.rows import Row
from export.compare.store import Store
from export.compare.text import TextSet, read_set
from model.config import ModelConfig
from model.data.vocabulary import Vocabulary
from model.training.checkpoint import VOCABULARY, load_model
from model.training.train import encode_corpus

SPEED = "speed"


@dataclass(frozen=True)
class Plan:
    """What is measured: log-perplexity on `sets`, BLEU and chrF on `translated` (names below `data`), the first
    `limit` sentences each; speed in `rounds` rounds, none for 0."""

    data: Path
    sets: tuple[str, ...]
    translated: tuple[str, ...]
    limit: int | None
    beam: int
    rounds: int

    def read(self, name: str, row: Row) -> TextSet:
        return read_set(self.data, name, (row.recipe.data.source, row.recipe.data.target), self.limit)


@dataclass(frozen=True)
class SentenceCosts:
    """Negative log-likelihood and tokens of each sentence of one set."""

    nll: Array
    tokens: Array

    @property
    def estimate(self) -> Estimate:
        return per_token(self.nll, self.tokens)


def mean_log_perplexity(costs: Mapping[str, SentenceCosts]) -> Estimate:
    """The mean over sets."""
    return mean_estimate([one.estimate for one in costs.values()])


@dataclass(frozen=True)
class Measured:
    """What is known of one row; sets that were not measured are absent."""

    row: Row
    costs: dict[str, SentenceCosts]
    translations: dict[str, list[str]]
    speed: float | None

    @property
    def log_perplexity(self) -> Estimate | None:
        return mean_log_perplexity(self.costs) if self.costs else None


def cost_key(text: TextSet) -> str:
    return f"nll {text.key}"


def translation_key(text: TextSet, beam: int) -> str:
    return f"translation, beam {beam}, {text.key}"


def config_key(config: ModelConfig) -> str:
    return json.dumps(config.to_dict(), sort_keys=True)


def speed_key(rows: Sequence[Row], plan: Plan) -> str:
    """Speeds of one run belong together: other rows, another measurement."""
    return json.dumps([plan.beam, plan.rounds, sorted({config_key(row.config) for row in rows})])


def measure(rows: Sequence[Row], plan: Plan, store: Store, say: Callable[[str], None]) -> None:
    """Fill the store with what it lacks, row by row."""
    for row in rows:
        say(f"{row.name}: log-perplexity")
        measure_likelihood(row, plan, store)
        say(f"{row.name}: translations")
        measure_translations(row, plan, store)
    if plan.rounds:
        say("speed of all rows, in turn")
        configs = list({config_key(row.config): row.config for row in rows}.values())
        store.measure(
            SPEED,
            speed_key(rows, plan),
            lambda: dict(
                zip(map(config_key, configs), tokens_per_second(configs, plan.beam, plan.rounds), strict=True)
            ),
        )


def measure_likelihood(row: Row, plan: Plan, store: Store) -> None:
    texts = [plan.read(name, row) for name in plan.sets]
    missing = [text for text in texts if not store.get(row.weights_hash, cost_key(text))]
    if missing:
        model, vocabulary = load_model(row.folder), Vocabulary(row.folder / VOCABULARY)
        for text in missing:
            pairs = encode_corpus(row.recipe.data, plan.data, text.name, vocabulary, plan.limit)
            store.put(row.weights_hash, cost_key(text), sentence_nll(model, pairs))


def measure_translations(row: Row, plan: Plan, store: Store) -> None:
    texts = [plan.read(name, row) for name in plan.translated]
    missing = [text for text in texts if not store.get(row.weights_hash, translation_key(text, plan.beam))]
    if missing:
        found = translations(row, [text.sources for text in missing], plan.beam)
        for text, hypotheses in zip(missing, found, strict=True):
            store.put(row.weights_hash, translation_key(text, plan.beam), hypotheses)


def collect(rows: Sequence[Row], plan: Plan, store: Store) -> list[Measured]:
    """What the store knows of the rows."""
    speeds: dict[str, float] = store.get(SPEED, speed_key(rows, plan)) or {}
    return [
        Measured(
            row, known_costs(row, plan, store), known_translations(row, plan, store), speeds.get(config_key(row.config))
        )
        for row in rows
    ]


def known_costs(row: Row, plan: Plan, store: Store) -> dict[str, SentenceCosts]:
    found = {name: store.get(row.weights_hash, cost_key(plan.read(name, row))) for name in plan.sets}
    return {
        name: SentenceCosts(*np.array(values, dtype=np.float64).T)
        for name, values in found.items()
        if values is not None
    }


def known_translations(row: Row, plan: Plan, store: Store) -> dict[str, list[str]]:
    keys = {name: translation_key(plan.read(name, row), plan.beam) for name in plan.translated}
    found = {name: store.get(row.weights_hash, key) for name, key in keys.items()}
    return {name: hypotheses for name, hypotheses in found.items() if hypotheses is not None}
