"""What papers claim, asked of our rows: every answer rests on paired differences, sentence by sentence."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from export.compare.contenders import Contender, contrast, mean_costs, named
from export.compare.likelihood import Estimate
from export.compare.measurements import Measured
from export.compare.papers import PaperClaim

Z = 1.96
"""Standard errors that a difference must exceed to be resolved (95%)."""
TIE = 0.02
"""Nats per token within which two variants count as equal."""
HOLDS, FAILS, OPEN, MISSING = "holds", "fails", "not resolved", "not trained"


@dataclass(frozen=True)
class Step:
    """One expected difference in log-perplexity: it should be positive, or for a tie next to nothing. `seed_error` is
    what other seeds would add to its standard error; `difference` is None where a row was not trained."""

    label: str
    difference: Estimate | None
    seed_error: float = 0.0
    is_tie: bool = False

    @property
    def verdict(self) -> str:
        if self.difference is None:
            return MISSING
        value, margin = self.difference.value, Z * math.hypot(self.difference.error, self.seed_error)
        if self.is_tie:
            within, beyond = abs(value) + margin < TIE, abs(value) - margin > TIE
        else:
            within, beyond = value > margin, value < -margin
        return HOLDS if within else FAILS if beyond else OPEN


@dataclass(frozen=True)
class Claim:
    """Holds when every step holds, fails when one fails."""

    text: str
    steps: tuple[Step, ...]
    source: str = ""

    @property
    def verdict(self) -> str:
        verdicts = {step.verdict for step in self.steps}
        if FAILS in verdicts:
            return FAILS
        return verdicts.pop() if len(verdicts) == 1 else OPEN


def asked(claim: PaperClaim, source: str, family: Mapping[str, Contender], deviation: float | None) -> Claim:
    """A paper's claim with the differences between our rows."""
    steps = []
    for worse, better in claim.steps:
        label = f"{' + '.join(map(short, worse))} - {' - '.join(map(short, better))}"
        members = [named(family, side) for side in (worse, better)]
        if members[0] is None or members[1] is None:
            steps.append(Step(label, None))
        else:
            error = seed_error([*members[0], *members[1]], deviation)
            steps.append(Step(label, contrast(members[0], members[1]), error, claim.is_tie))
    return Claim(claim.text, tuple(steps), source)


def short(name: str) -> str:
    """ "small/n2" -> "n2" """
    return name.rpartition("/")[2]


def seed_error(members: Sequence[Contender], deviation: float | None) -> float:
    """What seeds add to the standard error of a difference between these."""
    return (deviation or 0.0) * math.sqrt(sum(1 / member.seeds for member in members))


@dataclass(frozen=True)
class Order(Contender):
    """All seeds of one N (None: full attention)."""

    order: int | None = None


@dataclass(frozen=True)
class OrderGroup:
    """Rows that differ in N and seed alone, ascending in N, full attention last; `attention` is what they share,
    `target_tokens` what each read."""

    attention: str
    target_tokens: int
    orders: tuple[Order, ...]

    @property
    def name(self) -> str:
        return f"{self.attention} attention, {self.target_tokens / 1e6:.1f} M target tokens"

    @property
    def is_plain(self) -> bool:
        return self.attention == "plain"


def ngram_groups(rows: Sequence[Measured]) -> list[OrderGroup]:
    """Groups of at least two orders."""
    groups: dict[str, dict[int | None, list[Measured]]] = {}
    for measured in rows:
        if measured.costs:
            orders = groups.setdefault(measured.row.group("ngram"), {})
            orders.setdefault(measured.row.order, []).append(measured)
    return [order_group(orders) for orders in groups.values() if len(orders) > 1]


def order_group(orders: Mapping[int | None, Sequence[Measured]]) -> OrderGroup:
    row = next(iter(orders.values()))[0].row
    members = sorted((order_of(order, seeds) for order, seeds in orders.items()), key=lambda o: o.order or np.inf)
    return OrderGroup(row.config.variant.rpartition(" ")[0], row.target_tokens, tuple(members))


def order_of(order: int | None, seeds: Sequence[Measured]) -> Order:
    return Order("full" if order is None else f"N={order}", mean_costs(seeds), len(seeds), order)


def ngram_claims(group: OrderGroup, deviation: float | None) -> list[Claim]:
    """Chelba et al. 2019, Tables 1 and 2."""

    def step(worse: Order, better: Order) -> Step:
        error = seed_error([worse, better], deviation)
        return Step(f"{worse.name} - {better.name}", contrast([worse], [better]), error)

    orders, source = group.orders, f"Chelba et al. 2019, Tables 1 and 2; {group.name}"
    claims = [
        Claim("log-perplexity falls as N grows", tuple(step(a, b) for a, b in itertools.pairwise(orders)), source)
    ]
    if orders[-1].order is None and len(orders) > 2:
        to_full = tuple(step(order, orders[-1]) for order in orders[:-1])
        claims.append(Claim("full attention is better than every N", to_full, source))
    if orders[0].order == 2:
        from_two = tuple(step(orders[0], other) for other in orders[1:])
        claims.insert(0, Claim("N=2 is the worst", from_two, source))
    return claims
