"""What papers claim, asked of our rows: every answer rests on paired differences, sentence by sentence."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from export.compare.likelihood import Estimate, mean_estimate, per_token
from export.compare.measurements import Measured, SentenceCosts, mean_log_perplexity

Z = 1.96
"""Standard errors that a difference must exceed to be resolved (95%)."""
HOLDS, FAILS, OPEN = "holds", "fails", "not resolved"


@dataclass(frozen=True)
class Step:
    """One expected improvement in log-perplexity: `difference` is what the claim says is positive."""

    label: str
    difference: Estimate

    @property
    def verdict(self) -> str:
        if self.difference.value > Z * self.difference.error:
            return HOLDS
        return FAILS if self.difference.value < -Z * self.difference.error else OPEN


@dataclass(frozen=True)
class Claim:
    """Holds when every step holds, fails when one fails."""

    text: str
    steps: tuple[Step, ...]

    @property
    def verdict(self) -> str:
        verdicts = {step.verdict for step in self.steps}
        if FAILS in verdicts:
            return FAILS
        return HOLDS if verdicts == {HOLDS} else OPEN


@dataclass(frozen=True)
class Order:
    """All seeds of one N (None: full attention): mean costs of every sentence."""

    order: int | None
    costs: dict[str, SentenceCosts]

    @property
    def name(self) -> str:
        return "full" if self.order is None else f"N={self.order}"

    @property
    def log_perplexity(self) -> Estimate:
        return mean_log_perplexity(self.costs)


def ngram_groups(rows: Sequence[Measured]) -> list[list[Order]]:
    """Rows that differ in N (and seed) alone, ascending in N, full attention last; groups of at least two orders."""
    groups: dict[str, dict[int | None, list[Measured]]] = {}
    for measured in rows:
        if measured.costs:
            orders = groups.setdefault(measured.row.group("ngram"), {})
            orders.setdefault(measured.row.order, []).append(measured)
    ascending = [
        sorted((Order(order, mean_costs(seeds)) for order, seeds in orders.items()), key=lambda o: o.order or np.inf)
        for orders in groups.values()
    ]
    return [group for group in ascending if len(group) > 1]


def mean_costs(seeds: Sequence[Measured]) -> dict[str, SentenceCosts]:
    """Every sentence's cost, averaged over rows, on the sets that all of them were measured on."""
    names = [name for name in seeds[0].costs if all(name in seed.costs for seed in seeds)]
    return {
        name: SentenceCosts(np.mean([seed.costs[name].nll for seed in seeds], axis=0), seeds[0].costs[name].tokens)
        for name in names
    }


def paired_difference(worse: Order, better: Order) -> Estimate:
    """Log-perplexity of `worse` minus that of `better`, the mean over the sets that both have."""
    shared = [name for name in worse.costs if name in better.costs]
    return mean_estimate(
        [per_token(worse.costs[name].nll - better.costs[name].nll, worse.costs[name].tokens) for name in shared]
    )


def step(worse: Order, better: Order) -> Step:
    return Step(f"{worse.name} - {better.name}", paired_difference(worse, better))


def ngram_claims(group: Sequence[Order]) -> list[Claim]:
    """Chelba et al. 2019, Tables 1 and 2."""
    falls = Claim("log-perplexity falls as N grows", tuple(step(a, b) for a, b in itertools.pairwise(group)))
    if group[0].order != 2:
        return [falls]
    return [falls, Claim("N=2 is the worst", tuple(step(group[0], other) for other in group[1:]))]
