"""Variants of a model under one condition: the mean costs of their seeds on the same text, and their differences."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from export.compare.conditions import ALONE, OFFLINE, WITH, WITHOUT
from export.compare.estimate import Costs, Estimate, SeedSpread, margin, mean_estimate, per_token, pooled_spread
from export.compare.measurements import Measured


@dataclass(frozen=True)
class Metric:
    """A metric of which less is better. `of` gives a row's costs by condition and set; seeds are compared under the
    condition `alone`, or `in_context` for rows with context."""

    name: str
    unit: str
    of: Callable[[Measured], Mapping[str, dict[str, Costs]]]
    alone: str
    in_context: str

    @property
    def short_unit(self) -> str:
        """ "nats" """
        return self.unit.partition(" per ")[0]


def wrong_items(measured: Measured) -> dict[str, dict[str, Costs]]:
    """Condition -> contrastive set -> 1 for every item that is wrong."""
    results: dict[str, dict[str, Costs]] = {}
    for name, by_condition in measured.right.items():
        for condition, right in by_condition.items():
            wrong = 1.0 - np.asarray(right, np.float64)
            results.setdefault(condition, {})[name] = Costs(wrong, np.ones(len(wrong)))
    return results


LOG_PERPLEXITY = Metric("log-perplexity", "nats per token", lambda measured: measured.costs, ALONE, OFFLINE)
WRONG_ITEMS = Metric("share of wrong items", "of items", wrong_items, WITHOUT, WITH)


@dataclass(frozen=True)
class Variant:
    """All seeds of one variant: mean costs of every unit of text."""

    name: str
    costs: dict[str, Costs]
    seeds: int = 1
    target_tokens: int = 0
    """Target tokens of its training, averaged over seeds."""

    @property
    def log_perplexity(self) -> Estimate:
        return mean_estimate([set_costs.estimate for set_costs in self.costs.values()])


@dataclass(frozen=True)
class Family:
    """Variants by name, trained with the same vocabulary, text, steps and rates. `spread`: the deviation of
    log-perplexity from seed to seed, pooled over the variants that have several."""

    members: Mapping[str, Variant]
    spread: SeedSpread | None
    target_tokens: tuple[int, int]
    """The least and the most target tokens of a row's training."""
    metric: Metric = LOG_PERPLEXITY

    @property
    def token_range(self) -> str:
        return range_text(*self.target_tokens)


def range_text(least: int, most: int) -> str:
    """ "10.3 M", or from the least to the most: "0.40 to 0.61 M" """
    first, last = tokens_text(least), tokens_text(most)
    return last if first == last else f"{first.removesuffix(' M')} to {last}"


def tokens_text(target_tokens: int) -> str:
    return f"{target_tokens / 1e6:.1f} M" if target_tokens >= 1e6 else f"{target_tokens / 1e6:.2f} M"


@dataclass(frozen=True)
class Contrast:
    """A difference in a metric with its error. `seeds`: the number of seeds of the side with
    fewer."""

    estimate: Estimate
    seeds: int
    seed_error: float
    freedom: int

    @property
    def margin(self) -> float:
        """Half of the 95% interval, over text and seeds."""
        return margin(self.estimate, self.seed_error, self.freedom or math.inf)


def variant_name(measured: Measured, condition: str) -> str:
    """ "small/n8"; of a row of the documents "documents/encoder-flat-word, offline"."""
    name = measured.row.bundled or measured.row.name
    return name if measured.row.section is None else f"{name}, {condition}"


def families(rows: Sequence[Measured], metric: Metric = LOG_PERPLEXITY) -> list[Family]:
    """Rows of the bundled recipes, seeds together; one family for every budget."""
    results: dict[str, list[Measured]] = {}
    for measured in rows:
        if measured.row.bundled and metric.of(measured):
            results.setdefault(measured.row.budget, []).append(measured)
    return [family(members, metric) for members in results.values()]


def family(rows: Sequence[Measured], metric: Metric = LOG_PERPLEXITY) -> Family:
    variants: dict[str, list[dict[str, Costs]]] = {}
    for measured in rows:
        for condition, costs in metric.of(measured).items():
            variants.setdefault(variant_name(measured, condition), []).append(costs)
    read: dict[str, list[int]] = {}
    for measured in rows:
        for condition in metric.of(measured):
            read.setdefault(variant_name(measured, condition), []).append(measured.row.target_tokens)
    members = {
        name: Variant(name, mean_costs(seeds), len(seeds), round(sum(read[name]) / len(read[name])))
        for name, seeds in variants.items()
    }
    tokens = [measured.row.target_tokens for measured in rows]
    return Family(members, seed_spread(rows, metric), (min(tokens), max(tokens)), metric)


def mean_costs(seeds: Sequence[Mapping[str, Costs]]) -> dict[str, Costs]:
    """Every unit's cost, averaged over seeds, on the sets that all of them were measured on."""
    names = [name for name in seeds[0] if all(name in seed for seed in seeds)]
    return {name: Costs(np.mean([seed[name].nll for seed in seeds], axis=0), seeds[0][name].tokens) for name in names}


def by_seed(rows: Sequence[Measured]) -> list[list[Measured]]:
    """Groups of rows that differ only in their seed."""
    groups: dict[str, list[Measured]] = {}
    for measured in rows:
        groups.setdefault(json.dumps([measured.row.group(), measured.row.budget]), []).append(measured)
    return list(groups.values())


def seed_groups(rows: Sequence[Measured]) -> list[list[Measured]]:
    """Groups of several rows that differ only in their seed."""
    return [group for group in by_seed(rows) if len(group) > 1]


def seed_spread(rows: Sequence[Measured], metric: Metric = LOG_PERPLEXITY) -> SeedSpread | None:
    """The spread from seed to seed, pooled over variants with several seeds; seeds share
    a frozen sentence model, so rows with context are measured in context."""
    groups = []
    for group in seed_groups(rows):
        conditions = [metric.in_context if measured.row.has_context else metric.alone for measured in group]
        results = [metric.of(measured).get(condition) for measured, condition in zip(group, conditions, strict=True)]
        groups.append(
            [mean_estimate([set_costs.estimate for set_costs in costs.values()]).value for costs in results if costs]
        )
    return pooled_spread(groups)


def contrast(worse: Sequence[Variant], better: Sequence[Variant], spread: SeedSpread | None = None) -> Contrast:
    """Costs of `worse` less those of `better`, summed, unit by unit; the mean over the sets that all have.

    Every member adds the variance of the spread divided by its seeds: seeds are different models, whatever the text."""
    members = [*worse, *better]
    signs = [1.0] * len(worse) + [-1.0] * len(better)
    shared = [name for name in members[0].costs if all(name in member.costs for member in members)]
    estimate = mean_estimate(
        [
            per_token(
                np.sum([s * m.costs[name].nll for s, m in zip(signs, members, strict=True)], axis=0),
                members[0].costs[name].tokens,
            )
            for name in shared
        ]
    )
    least = min(member.seeds for member in members)
    if spread is None:
        return Contrast(estimate, 1, 0.0, 0)
    seed_error = spread.deviation * math.sqrt(sum(1 / member.seeds for member in members))
    return Contrast(estimate, least, seed_error, spread.freedom)


def named(family: Mapping[str, Variant], names: Sequence[str]) -> list[Variant] | None:
    """All of these, or None where one was not trained."""
    return [family[name] for name in names] if all(name in family for name in names) else None
