"""Tables about rows with context."""

import math
from collections.abc import Mapping, Sequence

from export.compare.attention_statistics import AttentionCounts
from export.compare.conditions import ALONE, IN_CONTEXT, OFFLINE, WITHOUT
from export.compare.measurements import Measured
from export.compare.tables import NONE, difference_text, estimate_text, table
from export.compare.variants import Variant, contrast, tokens_text
from model.data.items import ContrastiveItem
from model.evaluation.contrastive_accuracy import by_group

TRAINED_WITH = {"document": "its document", "shuffled": "another document", "none": "none"}


def context_summary(rows: Sequence[Measured]) -> str:
    """One line per row: its log-perplexity without context, and the difference in each condition."""
    cells = []
    for measured in rows:
        row, section = measured.row, measured.row.section
        if section is None:
            continue
        kind = f"{section.layer.attention}, {section.layer.side}" if row.has_context else NONE
        counts = totals(measured)
        cells.append(
            [row.name, kind, "the layer" if section.freezes_base else "everything", TRAINED_WITH[section.context],
             tokens_text(row.target_tokens), estimate_text(measured.log_perplexity()),
             *(change(measured, condition) for condition in IN_CONTEXT),
             zero_share(counts.get(OFFLINE))]
        )  # fmt: skip
    head = ["row", "attention, side", "learns", "context in training", "target tokens", ALONE]
    return table([*head, *(f"{name} minus alone" for name in IN_CONTEXT), "sentences without weight"], cells)


def change(measured: Measured, condition: str) -> str:
    if not (measured.alone and condition in measured.costs):
        return NONE
    seen = Variant(condition, measured.costs[condition])
    return difference_text(contrast([seen], [Variant(ALONE, measured.alone)]))


def totals(measured: Measured) -> dict[str, AttentionCounts]:
    """Over all sets."""
    results = {}
    for condition, sets in measured.attention.items():
        results[condition] = AttentionCounts()
        for counts in sets.values():
            results[condition].add(counts)
    return results


def zero_share(counts: AttentionCounts | None) -> str:
    return NONE if counts is None else f"{counts.shares()['zero sentences']:.0%}"


def zero_table(rows: Sequence[Measured]) -> str:
    """Shares of attention weights over all sets."""
    cells = []
    for measured in rows:
        for condition, counts in totals(measured).items():
            shares = counts.shares()
            words = f"{shares['zero words']:.1%}" if counts.words else NONE
            cells.append(
                [measured.row.name, condition, f"{shares['zero sentences']:.1%}", words, f"{shares['used']:.1%}",
                 f"{shares['context']:.1%}"]
            )  # fmt: skip
    return table(["row", "context", "zero sentences", "zero words", "sentences used", "context in the gate"], cells)


def contrastive_table(rows: Sequence[Measured], items: Sequence[ContrastiveItem], name: str) -> str:
    """Accuracy on all items and on every gender, without context, with the context and with another's."""
    everything = by_group(items, [True] * len(items))
    groups = [group for group in everything if not group.startswith("template ")]
    cells = []
    for measured in rows:
        right = measured.right.get(name, {})
        for condition, item in right.items():
            accuracies = by_group(items, item)
            shares = [
                f"{accuracies[g].share:.1%} ({accuracies[g].low:.1%} to {accuracies[g].high:.1%})" for g in groups
            ]
            cells.append([f"{measured.row.name}, {condition}", *shares, gains(right, condition)])
    head = ["row", *(f"{group} ({everything[group].items})" for group in groups), "items gained and lost"]
    return table(head, cells)


def gains(right: Mapping[str, Sequence[bool]], condition: str) -> str:
    if condition == WITHOUT:
        return NONE
    gained, lost, p_value = sign_test(right[WITHOUT], right[condition])
    return f"+{gained} -{lost}, p {p_value:.2f}"


def sign_test(before: Sequence[bool], after: Sequence[bool]) -> tuple[int, int, float]:
    """Items that only `after` gets right, items that only `before` gets right, and the two-sided exact p-value of that
    split under chance (McNemar's test)."""
    gained = sum(b and not a for a, b in zip(before, after, strict=True))
    lost = sum(a and not b for a, b in zip(before, after, strict=True))
    count, least = gained + lost, min(gained, lost)
    tail = sum(math.comb(count, k) for k in range(least + 1)) / 2**count
    return gained, lost, min(1.0, 2 * tail)
