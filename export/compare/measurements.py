"""Measure what is missing, then look everything up: only `measure` computes, only `collect` reads."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from export.compare.decode import tokens_per_second, translations
from export.compare.likelihood import Array, Estimate, mean_estimate, per_token, sentence_nll
from export.compare.rows import Row
from export.compare.store import Store
from export.compare.text import TextSet, read_set
from export.compare.windows import SENTENCES, Json, mean_window_sizes, shown_pair, window_masks
from model.config import SITES, ModelConfig
from model.data.vocabulary import Vocabulary
from model.training.checkpoint import VOCABULARY, load_any_model
from model.training.train import encode_corpus

SPEED = "speed"


@dataclass(frozen=True)
class Plan:
    """What is measured: log-perplexity on `sets`, BLEU and chrF on `translated` (names below `data`), the first
    `limit` and `translate_limit` sentences of each; speed in `rounds` rounds, none for 0."""

    data: Path
    sets: tuple[str, ...]
    translated: tuple[str, ...]
    limit: int | None
    translate_limit: int | None
    beam: int
    rounds: int

    def scored(self, row: Row) -> list[TextSet]:
        """The sets for log-perplexity, in the row's languages. Raises CorpusError for one that is not there."""
        languages = (row.recipe.data.source, row.recipe.data.target)
        return [read_set(self.data, name, languages, self.limit) for name in self.sets]

    def to_translate(self, row: Row) -> list[TextSet]:
        """The sets for BLEU; none for a language model. Raises CorpusError for one that is not there."""
        if row.is_language_model:
            return []
        languages = (row.recipe.data.source, row.recipe.data.target)
        return [read_set(self.data, name, languages, self.translate_limit) for name in self.translated]


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
    """What is known of one row; sets that were not measured are absent. See windows.py for the last two."""

    row: Row
    costs: dict[str, SentenceCosts]
    translations: dict[str, list[str]]
    speed: float | None
    window_sizes: Json = field(default_factory=list)
    window_masks: Json = field(default_factory=list)

    @property
    def log_perplexity(self) -> Estimate | None:
        return mean_log_perplexity(self.costs) if self.costs else None


def cost_key(text: TextSet) -> str:
    return f"nll {text.key}"


def translation_key(text: TextSet, beam: int) -> str:
    return f"translation, beam {beam}, {text.key}"


def window_key(texts: Sequence[TextSet]) -> str:
    return f"windows, {SENTENCES} sentences a set, {', '.join(text.key for text in texts)}"


def config_key(config: ModelConfig) -> str:
    return json.dumps(config.to_dict(), sort_keys=True)


def speed_key(rows: Sequence[Row], plan: Plan) -> str:
    """Speeds of one run belong together: other rows, another measurement."""
    return json.dumps([plan.beam, plan.rounds, sorted({config_key(row.config) for row in translating(rows)})])


def translating(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if not row.is_language_model]


def measure(rows: Sequence[Row], plan: Plan, store: Store, say: Callable[[str], None]) -> None:
    """Fill the store with what it lacks, row by row."""
    for row in rows:
        say(f"{row.name}: log-perplexity")
        measure_likelihood(row, plan, store)
        say(f"{row.name}: translations")
        measure_translations(row, plan, store)
        measure_windows(row, plan, store)
    if plan.rounds:
        say("speed of all rows, in turn")
        configs = list({config_key(row.config): row.config for row in translating(rows)}.values())
        store.measure(
            SPEED,
            speed_key(rows, plan),
            lambda: dict(
                zip(map(config_key, configs), tokens_per_second(configs, plan.beam, plan.rounds), strict=True)
            ),
        )


def measure_likelihood(row: Row, plan: Plan, store: Store) -> None:
    missing = [text for text in plan.scored(row) if not store.get(row.weights_hash, cost_key(text))]
    if missing:
        model, vocabulary = load_any_model(row.folder), Vocabulary(row.folder / VOCABULARY)
        for text in missing:
            pairs = encode_corpus(row.recipe.data, plan.data, text.name, vocabulary, plan.limit)
            store.put(row.weights_hash, cost_key(text), sentence_nll(model, pairs))


def measure_translations(row: Row, plan: Plan, store: Store) -> None:
    missing = [t for t in plan.to_translate(row) if not store.get(row.weights_hash, translation_key(t, plan.beam))]
    if missing:
        found = translations(row, [text.sources for text in missing], plan.beam)
        for text, hypotheses in zip(missing, found, strict=True):
            store.put(row.weights_hash, translation_key(text, plan.beam), hypotheses)


def measure_windows(row: Row, plan: Plan, store: Store) -> None:
    """What windows learned, of rows that have some."""
    texts = plan.scored(row)
    kinds = {row.config.attention(site)[0].kind for site in SITES}
    if texts and kinds != {"plain"} and store.get(row.weights_hash, window_key(texts)) is None:
        model, vocabulary = load_any_model(row.folder), Vocabulary(row.folder / VOCABULARY)
        sets = [encode_corpus(row.recipe.data, plan.data, text.name, vocabulary, plan.limit) for text in texts]
        sizes = mean_window_sizes(model, [pair for pairs in sets for pair in pairs[:SENTENCES]])
        masks = window_masks(model, shown_pair(sets[0]), vocabulary)
        store.put(row.weights_hash, window_key(texts), {"sizes": sizes, "masks": masks})


def collect(rows: Sequence[Row], plan: Plan, store: Store) -> list[Measured]:
    """What the store knows of the rows."""
    speeds: dict[str, float] = store.get(SPEED, speed_key(rows, plan)) or {}
    found = []
    for row in rows:
        windows = store.get(row.weights_hash, window_key(plan.scored(row))) or {"sizes": [], "masks": []}
        speed = speeds.get(config_key(row.config))
        costs, hypotheses = known_costs(row, plan, store), known_translations(row, plan, store)
        found.append(Measured(row, costs, hypotheses, speed, windows["sizes"], windows["masks"]))
    return found


def known_costs(row: Row, plan: Plan, store: Store) -> dict[str, SentenceCosts]:
    found = {text.name: store.get(row.weights_hash, cost_key(text)) for text in plan.scored(row)}
    return {
        name: SentenceCosts(*np.array(values, dtype=np.float64).T)
        for name, values in found.items()
        if values is not None
    }


def known_translations(row: Row, plan: Plan, store: Store) -> dict[str, list[str]]:
    found = {
        text.name: store.get(row.weights_hash, translation_key(text, plan.beam)) for text in plan.to_translate(row)
    }
    return {name: hypotheses for name, hypotheses in found.items() if hypotheses is not None}
