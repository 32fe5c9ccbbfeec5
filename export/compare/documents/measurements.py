"""Measure what is missing, then look everything up: only `measure` computes, only `collect` reads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from export.compare.documents.look import Looks, costs_alone, costs_in_context
from export.compare.documents.rows import DocumentRow
from export.compare.documents.speed import decoder_of, words_per_second
from export.compare.documents.text import DocumentSet, read_document_set
from export.compare.measurements import SentenceCosts
from export.compare.store import Store
from model.contrastive.accuracy import judge
from model.contrastive.items import ContrastiveItem, read_items
from model.data.vocabulary import Vocabulary
from model.document_greedy import document_store, greedy_document
from model.greedy import greedy

ALONE, ONLINE, OFFLINE = "alone", "online", "offline"
CONTEXTS = (ONLINE, OFFLINE)
LONGEST = 100
"""Tokens at which a translation is cut: briefly trained models babble."""
SPEED = "speed"


@dataclass(frozen=True)
class Plan:
    """Log-perplexity on the first documents of `sets` (names below `data`) that have `scored` sentences together, BLEU
    and chrF on those that have `translated`, each cut after `most`; every contrastive set's `items`, spread evenly;
    speed in `rounds`."""

    data: Path
    sets: tuple[str, ...]
    scored: int
    translated: int
    most: int
    contrastive: tuple[str, ...]
    items: int
    rounds: int

    def texts(self, row: DocumentRow, sentences: int) -> list[DocumentSet]:
        """Raises CorpusError for a set that is not there."""
        data, vocabulary = row.recipe.data, row.vocabulary
        languages = (data.source, data.target)
        return [
            read_document_set(self.data, name, languages, vocabulary, data.max_pair_length, self.most, sentences)
            for name in self.sets
        ]

    def read_items(self, name: str) -> list[ContrastiveItem]:
        """Raises OSError for a set that is not there, as NAME.jsonl.gz or NAME.jsonl."""
        packed = self.data / f"{name}.jsonl.gz"
        items = read_items(packed if packed.is_file() else packed.with_suffix(""))
        count = min(self.items, len(items))
        return [items[index * len(items) // count] for index in range(count)]

    def items_key(self, name: str) -> str:
        return f"contrastive {name}, {self.items} items"


@dataclass(frozen=True)
class MeasuredRow:
    """What is known of one row, by condition (alone, online, offline) and set; what was not measured is absent."""

    row: DocumentRow
    costs: dict[str, dict[str, SentenceCosts]]
    translations: dict[str, dict[str, list[str]]]
    looks: dict[str, dict[str, Looks]]
    right: dict[str, dict[str, list[bool]]]
    """Contrastive set -> "without context" or "with context" -> every item."""
    speeds: dict[str, float]
    """Words a second: alone, offline."""


def longest(row: DocumentRow) -> int:
    """Tokens at which the row's translations are cut; BOS takes a place, too."""
    return min(LONGEST, row.recipe.model.max_length - 1)


def cost_key(condition: str, text: DocumentSet) -> str:
    return f"nll {condition} {text.key}"


def look_key(condition: str, text: DocumentSet) -> str:
    return f"looks {condition} {text.key}"


def translation_key(condition: str, text: DocumentSet) -> str:
    return f"translation {condition}, greedy, {LONGEST} tokens, {text.key}"


def speed_key(rows: Sequence[DocumentRow], text: DocumentSet, rounds: int) -> str:
    """Speeds of one run belong together."""
    return f"{rounds} rounds, {text.key}, {' '.join(sorted(row.subject[:12] for row in rows))}"


def conditions(row: DocumentRow) -> tuple[str, ...]:
    return (ALONE, *CONTEXTS) if row.has_context else (ALONE,)


def subject(row: DocumentRow, condition: str) -> str:
    return row.alone if condition == ALONE else row.subject


def measure(rows: Sequence[DocumentRow], plan: Plan, store: Store, say: Callable[[str], None]) -> None:
    """Fill the store with what it lacks: what costs little first, of all rows."""
    for row in rows:
        say(f"{row.name}: log-perplexity")
        for text in plan.texts(row, plan.scored):
            measure_costs(row, text, store)
    for row in rows:
        say(f"{row.name}: translations")
        for text in plan.texts(row, plan.translated):
            measure_translations(row, text, store)
    for row in rows:
        say(f"{row.name}: contrastive sets")
        for name in plan.contrastive:
            measure_contrastive(row, plan, name, store)
    if plan.rounds:
        say("speed of all rows, in turn")
        measure_speed(rows, plan, store)


def missing(row: DocumentRow, store: Store, key: Callable[[str], str]) -> list[str]:
    return [condition for condition in conditions(row) if store.get(subject(row, condition), key(condition)) is None]


def measure_costs(row: DocumentRow, text: DocumentSet, store: Store) -> None:
    wanted = missing(row, store, lambda condition: cost_key(condition, text))
    documents = [[sentence.ids for sentence in document] for document in text.documents]
    if ALONE in wanted:
        model = row.load_alone()
        found = [cost for document in documents for cost in costs_alone(model, document)]
        store.put(row.alone, cost_key(ALONE, text), rounded(found))
    contexts = [condition for condition in wanted if condition != ALONE]
    if contexts:
        in_context = row.load()
        costs: dict[str, list[float]] = {condition: [] for condition in contexts}
        looks = {condition: Looks() for condition in contexts}
        for document in documents:
            kept = document_store(in_context, [pair.source for pair in document], longest(row))
            for condition in contexts:
                cost, look = costs_in_context(in_context, document, condition == ONLINE, kept)
                costs[condition] += cost
                looks[condition].add(look)
        for condition in contexts:
            store.put(row.subject, look_key(condition, text), vars(looks[condition]))
            store.put(row.subject, cost_key(condition, text), rounded(costs[condition]))


def rounded(values: list[float]) -> list[float]:
    return [round(value, 4) for value in values]


def measure_translations(row: DocumentRow, text: DocumentSet, store: Store) -> None:
    wanted = missing(row, store, lambda condition: translation_key(condition, text))
    vocabulary = Vocabulary(row.vocabulary)
    documents = [[sentence.ids.source for sentence in document] for document in text.documents]
    if ALONE in wanted:
        found = greedy(row.load_alone(), [source for document in documents for source in document], longest(row))
        store.put(row.alone, translation_key(ALONE, text), vocabulary.decode(found))
    contexts = [condition for condition in wanted if condition != ALONE]
    if contexts:
        model = row.load()
        translated: dict[str, list[list[int]]] = {condition: [] for condition in contexts}
        for document in documents:
            kept = document_store(model, document, longest(row))
            for condition in contexts:
                translated[condition] += greedy_document(model, document, condition == ONLINE, longest(row), kept)
        for condition in contexts:
            store.put(row.subject, translation_key(condition, text), vocabulary.decode(translated[condition]))


def measure_contrastive(row: DocumentRow, plan: Plan, name: str, store: Store) -> None:
    key = plan.items_key(name)
    if store.get(row.subject, key) is None:
        model = row.load() if row.has_context else row.load_alone()
        vocabulary = Vocabulary(row.vocabulary)
        right = judge(model, vocabulary, plan.read_items(name))
        store.put(row.subject, key, {condition: list(map(int, found)) for condition, found in right.items()})


def measure_speed(rows: Sequence[DocumentRow], plan: Plan, store: Store) -> None:
    """Of rows with the frozen sentence model and of that model."""
    timed = [row for row in rows if row.has_context and row.section.freezes_base and not row.is_control]
    if not timed:
        return
    text = plan.texts(timed[0], plan.translated)[-1]
    documents = [[sentence.ids.source for sentence in document] for document in text.documents]
    vocabulary = Vocabulary(timed[0].vocabulary)

    def run() -> dict[str, float]:
        decoders = {row.name: decoder_of(row.load(), documents, longest(row)) for row in timed}
        decoders[ALONE] = decoder_of(timed[0].load_alone(), documents, longest(timed[0]))
        return words_per_second(
            decoders, lambda ids: sum(len(line.split()) for line in vocabulary.decode(ids)), plan.rounds
        )

    store.measure(SPEED, speed_key(timed, text, plan.rounds), run)


def collect(rows: Sequence[DocumentRow], plan: Plan, store: Store) -> list[MeasuredRow]:
    """What the store knows of the rows."""
    timed = [row for row in rows if row.has_context and row.section.freezes_base and not row.is_control]
    speeds: dict[str, float] = {}
    if timed and plan.rounds:
        text = plan.texts(timed[0], plan.translated)[-1]
        speeds = store.get(SPEED, speed_key(timed, text, plan.rounds)) or {}
    return [collect_row(row, plan, store, speeds) for row in rows]


def collect_row(row: DocumentRow, plan: Plan, store: Store, speeds: dict[str, float]) -> MeasuredRow:
    costs: dict[str, dict[str, SentenceCosts]] = {}
    translations: dict[str, dict[str, list[str]]] = {}
    looks: dict[str, dict[str, Looks]] = {}
    for condition in conditions(row):
        of = subject(row, condition)
        for text in plan.texts(row, plan.scored):
            nll, look = store.get(of, cost_key(condition, text)), store.get(of, look_key(condition, text))
            if nll is not None:
                costs.setdefault(condition, {})[text.name] = by_document(nll, text)
            if look is not None:
                looks.setdefault(condition, {})[text.name] = Looks(**look)
        for text in plan.texts(row, plan.translated):
            lines = store.get(of, translation_key(condition, text))
            if lines is not None:
                translations.setdefault(condition, {})[text.name] = lines
    right = {name: store.get(row.subject, plan.items_key(name)) for name in plan.contrastive}
    return MeasuredRow(
        row,
        costs,
        translations,
        looks,
        {name: {c: list(map(bool, r)) for c, r in found.items()} for name, found in right.items() if found},
        {
            condition: speeds[name]
            for condition, name in ((ALONE, ALONE), (OFFLINE, row.name))
            if name in speeds and row.name in speeds
        },
    )


def by_document(nll: Sequence[float], text: DocumentSet) -> SentenceCosts:
    """Costs and tokens of whole documents: sentences of one document are not independent of each other."""
    totals, tokens, place = [], [], 0
    for document in text.documents:
        totals.append(sum(nll[place : place + len(document)]))
        tokens.append(sum(len(sentence.ids.target) + 1 for sentence in document))
        place += len(document)
    return SentenceCosts(np.array(totals), np.array(tokens, dtype=np.float64))
