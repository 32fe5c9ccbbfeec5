"""Measures what the store lacks (`measure`), and reads what it has (`collect`)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from export.compare.attention_statistics import AttentionCounts, costs_in_context
from export.compare.conditions import ALONE, ANOTHERS, IN_CONTEXT, SHUFFLED, WITHOUT, distances, stored_document
from export.compare.estimate import Costs, Estimate, mean_estimate
from export.compare.likelihood import sentence_nll
from export.compare.precisions import score_precisions
from export.compare.rows import CompareError, Row
from export.compare.store import Store
from export.compare.text import TextChoice, TextSet, read_set
from export.compare.translate import longest, translations_alone, translations_in_context
from export.compare.windows import SENTENCES, Json, example_pair, mean_window_sizes, window_masks
from model.config import SITES
from model.data.items import ContrastiveItem, read_items
from model.data.vocabulary import Vocabulary
from model.document_greedy import document_store
from model.evaluation.contrastive_accuracy import evaluate_in_context, evaluate_items, with_shuffled_context
from model.translation_model import TranslationModel

By = dict[str, dict[str, Any]]
"""Condition -> set -> measurement."""


@dataclass(frozen=True)
class MeasurementPlan:
    """Planned measurements: log-perplexity on `sets`, BLEU and chrF on `translated` (names below `data`), on the first
    documents with `limit` and `translate_limit` sentences of each set, documents cut after `most` sentences (None: no
    limit); accuracy on `items` of each `contrastive` set, spread evenly; with `int8` the cost of int8 on `sets`, for
    rows with weights."""

    data: Path
    sets: tuple[str, ...]
    translated: tuple[str, ...]
    limit: int | None = None
    translate_limit: int | None = None
    most: int | None = None
    beam: int = 4
    contrastive: tuple[str, ...] = ()
    items: int = 300
    int8: bool = False

    def scored(self, row: Row) -> list[TextSet]:
        """The sets for log-perplexity, in the row's languages. Raises CorpusError for a missing set."""
        return [self.read(row, name, self.limit) for name in self.sets]

    def to_translate(self, row: Row) -> list[TextSet]:
        """The sets for BLEU; none for a language model. Raises CorpusError for a missing set."""
        return [] if row.is_language_model else [self.read(row, name, self.translate_limit) for name in self.translated]

    def read(self, row: Row, name: str, limit: int | None) -> TextSet:
        """Raises CompareError for a set without documents, if the row has context."""
        data = row.recipe.data
        choice = TextChoice(data.max_pair_length, self.most, limit)
        text = read_set(self.data, name, (data.source, data.target), row.vocabulary, choice)
        if row.has_context and not text.is_divided:
            raise CompareError(
                f"set '{name}' is not divided into documents (an empty line in both files ends one), and {row.name} "
                f"needs documents"
            )
        return text

    def read_items(self, name: str) -> list[ContrastiveItem]:
        """Reads NAME.jsonl.gz or NAME.jsonl. Raises OSError if both are missing."""
        packed = self.data / f"{name}.jsonl.gz"
        items = read_items(packed if packed.is_file() else packed.with_suffix(""))
        count = min(self.items, len(items))
        return [items[index * len(items) // count] for index in range(count)]

    def cost_key(self, condition: str, text: TextSet) -> str:
        return f"nll {condition} {text.key}"

    def attention_key(self, condition: str, text: TextSet) -> str:
        return f"looks {condition} {text.key}"

    def translation_key(self, condition: str, text: TextSet) -> str:
        return f"translation {condition}, beam {self.beam if condition == ALONE else 1}, {text.key}"

    def window_key(self, texts: Sequence[TextSet]) -> str:
        return f"windows, {SENTENCES} sentences a set, {', '.join(text.key for text in texts)}"

    def precisions_key(self, texts: Sequence[TextSet]) -> str:
        return f"precisions, beam {self.beam}, {', '.join(text.key for text in texts)}"

    def items_key(self, name: str) -> str:
        return f"contrastive {name}, {self.items} items"


@dataclass(frozen=True)
class Measured:
    """The measurements of one row, by condition and set."""

    row: Row
    costs: dict[str, dict[str, Costs]]
    translations: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    attention: dict[str, dict[str, AttentionCounts]] = field(default_factory=dict)
    right: dict[str, dict[str, list[bool]]] = field(default_factory=dict)
    """Contrastive set -> WITHOUT, WITH or ANOTHERS -> every item."""
    window_sizes: Json = field(default_factory=list)
    window_masks: Json = field(default_factory=list)
    """See windows.py for these two."""
    precisions: Mapping[str, Any] = field(default_factory=dict)
    """See precisions.py."""

    @property
    def alone(self) -> dict[str, Costs]:
        return self.costs.get(ALONE, {})

    def log_perplexity(self, condition: str = ALONE) -> Estimate | None:
        """The mean over sets."""
        return mean_log_perplexity(self.costs.get(condition, {}))


def mean_log_perplexity(costs: Mapping[str, Costs]) -> Estimate | None:
    return mean_estimate([set_costs.estimate for set_costs in costs.values()]) if costs else None


def measure(rows: Sequence[Row], plan: MeasurementPlan, store: Store, say: Callable[[str], None]) -> None:
    """Measure what the store lacks, the fast measurements of all rows first. Raises CompareError for a row without
    weights whose measurements are incomplete."""
    steps = {"log-perplexity": measure_costs, "windows": measure_windows, "translations": measure_translations}
    if plan.contrastive:
        steps["contrastive sets"] = measure_contrastive
    if plan.int8:
        steps["int8"] = measure_precisions
    for what, step in steps.items():
        for row in rows:
            say(f"{row.name}: {what}")
            step(row, plan, store)


Key = Callable[[str, TextSet], str]


def missing(row: Row, texts: Sequence[TextSet], store: Store, key: Key) -> list[tuple[str, TextSet]]:
    """Condition and set of missing measurements. SHUFFLED needs a set of two documents."""
    return [
        (condition, text)
        for text in texts
        for condition in row.conditions
        if store.get(row.subject(condition), key(condition, text)) is None
        and not (condition == SHUFFLED and len(text.documents) < 2)
    ]


def measure_costs(row: Row, plan: MeasurementPlan, store: Store) -> None:
    for condition, text in missing(row, plan.scored(row), store, plan.cost_key):
        if condition == ALONE:
            result = sentence_nll(row.load_alone(), [pair for document in text.pairs for pair in document])
        else:
            result, attention = costs_of_set(row, condition, text)
            store.put(row.weights_hash, plan.attention_key(condition, text), vars(attention))
        store.put(row.subject(condition), plan.cost_key(condition, text), [round(value, 4) for value in result])


def costs_of_set(row: Row, condition: str, text: TextSet) -> tuple[list[float], AttentionCounts]:
    """The negative log-likelihood of every sentence in context, and counts of attention weights."""
    model = row.load_in_context()
    stores = [document_store(model, [pair.source for pair in document], longest(row)) for document in text.pairs]
    result, attention = [], AttentionCounts()
    for index, document in enumerate(text.pairs):
        stored = stored_document(condition, index, len(stores))
        distance = distances(condition, len(document), len(text.documents[stored]))
        costs, counts = costs_in_context(model, document, stores[stored], distance)
        result += costs
        attention.add(counts)
    return result, attention


def measure_translations(row: Row, plan: MeasurementPlan, store: Store) -> None:
    wanted = missing(row, plan.to_translate(row), store, plan.translation_key)
    alone = [text for condition, text in wanted if condition == ALONE]
    if alone:
        for text, lines in zip(alone, translations_alone(row, alone, plan.beam), strict=True):
            store.put(row.alone_hash, plan.translation_key(ALONE, text), lines)
    for condition, text in wanted:
        if condition != ALONE:
            lines = translations_in_context(row, text, condition)
            store.put(row.weights_hash, plan.translation_key(condition, text), lines)


def measure_windows(row: Row, plan: MeasurementPlan, store: Store) -> None:
    """Widths and masks of windows, for rows that have windows."""
    texts = plan.scored(row)
    kinds = {row.config.attention(site)[0].kind for site in SITES}
    if texts and kinds != {"plain"} and store.get(row.alone_hash, plan.window_key(texts)) is None:
        model, vocabulary = row.load_alone(), Vocabulary(row.vocabulary)
        sets = [[sentence.ids for sentence in text.sentences] for text in texts]
        sizes = mean_window_sizes(model, [pair for pairs in sets for pair in pairs[:SENTENCES]])
        masks = window_masks(model, example_pair(sets[0]), vocabulary)
        store.put(row.alone_hash, plan.window_key(texts), {"sizes": sizes, "masks": masks})


def measure_contrastive(row: Row, plan: MeasurementPlan, store: Store) -> None:
    for name in plan.contrastive:
        known = store.get(row.weights_hash, plan.items_key(name)) or {}
        if row.is_language_model or (ANOTHERS if row.has_context else WITHOUT) in known:
            continue
        vocabulary, items = Vocabulary(row.vocabulary), plan.read_items(name)
        if row.has_context:
            model = row.load_in_context()
            right = evaluate_items(model, vocabulary, items)
            right[ANOTHERS] = evaluate_in_context(model, vocabulary, with_shuffled_context(items))
        else:
            alone = row.load_alone()
            assert isinstance(alone, TranslationModel)
            right = evaluate_items(alone, vocabulary, items)
        results = {condition: list(map(int, every)) for condition, every in right.items()}
        store.put(row.weights_hash, plan.items_key(name), results)


def measure_precisions(row: Row, plan: MeasurementPlan, store: Store) -> None:
    key = plan.precisions_key(texts := plan.scored(row))
    is_served = row.section is None and not row.is_language_model
    if is_served and row.has_weights and store.get(row.alone_hash, key) is None:
        store.put(row.alone_hash, key, score_precisions(row, texts, plan.beam))


def collect(rows: Sequence[Row], plan: MeasurementPlan, store: Store) -> list[Measured]:
    """The stored measurements of the rows."""
    return [collect_row(row, plan, store) for row in rows]


def collect_row(row: Row, plan: MeasurementPlan, store: Store) -> Measured:
    scored, to_translate = plan.scored(row), plan.to_translate(row)
    nll = known(row, scored, store, plan.cost_key)
    attention = known(row, scored, store, plan.attention_key)
    windows = store.get(row.alone_hash, plan.window_key(scored)) or {"sizes": [], "masks": []}
    right = {name: store.get(row.weights_hash, plan.items_key(name)) for name in plan.contrastive}
    texts = {text.name: text for text in scored}
    return Measured(
        row,
        {c: {name: by_document(item, texts[name]) for name, item in sets.items()} for c, sets in nll.items()},
        known(row, to_translate, store, plan.translation_key),
        {
            c: {name: AttentionCounts(**item) for name, item in sets.items()}
            for c, sets in attention.items()
            if c in IN_CONTEXT
        },
        {name: {c: list(map(bool, every)) for c, every in item.items()} for name, item in right.items() if item},
        windows["sizes"],
        windows["masks"],
        store.get(row.alone_hash, plan.precisions_key(scored)) or {},
    )


def known(row: Row, texts: Sequence[TextSet], store: Store, key: Key) -> By:
    results: By = {}
    for condition in row.conditions:
        for text in texts:
            value = store.get(row.subject(condition), key(condition, text))
            if value is not None:
                results.setdefault(condition, {})[text.name] = value
    return results


def by_document(nll: Sequence[float], text: TextSet) -> Costs:
    """Costs and tokens of whole documents."""
    totals, tokens, place = [], [], 0
    for document in text.documents:
        totals.append(sum(nll[place : place + len(document)]))
        tokens.append(sum(len(sentence.ids.target) + 1 for sentence in document))
        place += len(document)
    return Costs(np.array(totals), np.array(tokens, dtype=np.float64))
