"""Tests what papers claim on our rows, by paired differences over units of text (sentences or documents)."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from export.compare.contenders import (
    LOG_PERPLEXITY,
    Contender,
    Contrast,
    Family,
    Yardstick,
    contrast,
    mean_costs,
    named,
    seed_spread,
)
from export.compare.estimate import SeedSpread
from export.compare.measurements import Measured
from export.compare.papers import PaperClaim

TIE = 0.01
"""Nats per token within which two variants may count as equal."""
HOLDS, FAILS, OPEN, MISSING = "holds", "fails", "not resolved", "not trained"
ONE_SEED = "one seed: not resolved"


@dataclass(frozen=True)
class Step:
    """One expected difference in log-perplexity: it should be positive, or for a tie next to nothing. `difference` is
    None where a row was not trained; `beside` is the effect that a tie must be small against."""

    label: str
    difference: Contrast | None
    is_tie: bool = False
    beside: Contrast | None = None

    @property
    def verdict(self) -> str:
        if self.difference is None:
            return MISSING
        if self.difference.seeds < 2:
            return ONE_SEED
        value, margin = self.difference.estimate.value, self.difference.margin
        if self.is_tie:
            within, beyond = abs(value) + margin < self.tie, abs(value) - margin > TIE
        else:
            within, beyond = value > margin, value < -margin
        return HOLDS if within else FAILS if beyond else OPEN

    @property
    def tie(self) -> float:
        """The difference within which both count as equal: TIE, but at most half of the effect beside it, because
        without an effect everything would be equal."""
        if self.beside is None:
            return TIE
        effect = abs(self.beside.estimate.value)
        return min(TIE, effect / 2) if effect > self.beside.margin else 0.0


@dataclass(frozen=True)
class Claim:
    """Holds when every step holds, fails when one fails."""

    text: str
    steps: tuple[Step, ...]
    source: str = ""
    yardstick: Yardstick = LOG_PERPLEXITY

    @property
    def verdict(self) -> str:
        verdicts = {step.verdict for step in self.steps}
        for decisive in (FAILS, ONE_SEED):
            if decisive in verdicts:
                return decisive
        return verdicts.pop() if len(verdicts) == 1 else OPEN


def asked(claim: PaperClaim, source: str, family: Family) -> Claim:
    """A paper's claim with the differences between our rows."""

    def between(worse: Sequence[str], better: Sequence[str]) -> Contrast | None:
        members = [named(family.members, side) for side in (worse, better)]
        if members[0] is None or members[1] is None:
            return None
        return contrast(members[0], members[1], family.spread)

    steps = tuple(
        Step(
            f"{' + '.join(map(short, worse))} - {' - '.join(map(short, better))}",
            between(worse, better),
            claim.beside is not None,
            between(*claim.beside) if claim.beside else None,
        )
        for worse, better in claim.steps
    )
    return Claim(claim.text, steps, source, family.yardstick)


def short(name: str) -> str:
    """ "small/n2" -> "n2" """
    return name.rpartition("/")[2]


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
    spread: SeedSpread | None

    @property
    def name(self) -> str:
        return f"{self.attention} attention, {self.target_tokens / 1e6:.1f} M target tokens"

    @property
    def is_plain(self) -> bool:
        return self.attention == "plain"


def ngram_groups(rows: Sequence[Measured]) -> list[OrderGroup]:
    """Groups of at least two orders; seeds differ as they do in all rows of the same budget."""
    groups: dict[str, list[Measured]] = {}
    for measured in rows:
        if measured.alone and measured.row.section is None:
            groups.setdefault(measured.row.group("ngram"), []).append(measured)
    return [order_group(members, rows) for members in groups.values() if len({m.row.order for m in members}) > 1]


def order_group(members: Sequence[Measured], rows: Sequence[Measured]) -> OrderGroup:
    row = members[0].row
    orders: dict[int | None, list[Measured]] = {}
    for measured in members:
        orders.setdefault(measured.row.order, []).append(measured)
    ascending = sorted((order_of(order, seeds) for order, seeds in orders.items()), key=lambda o: o.order or np.inf)
    spread = seed_spread([measured for measured in rows if measured.row.budget == row.budget])
    return OrderGroup(row.config.variant.rpartition(" ")[0], row.target_tokens, tuple(ascending), spread)


def order_of(order: int | None, seeds: Sequence[Measured]) -> Order:
    name = "full" if order is None else f"N={order}"
    return Order(name, mean_costs([seed.alone for seed in seeds]), len(seeds), order)


def ngram_claims(group: OrderGroup) -> list[Claim]:
    """Chelba et al. 2019, Tables 1 and 2."""

    def between(worse: Order, better: Order) -> Contrast:
        return contrast([worse], [better], group.spread)

    def step(worse: Order, better: Order) -> Step:
        return Step(f"{worse.name} - {better.name}", between(worse, better))

    orders, source = group.orders, f"Chelba et al. 2019, Tables 1 and 2; {group.name}"
    by_order: Mapping[int | None, Order] = {order.order: order for order in orders}
    claims = [
        Claim("log-perplexity falls as N grows", tuple(step(a, b) for a, b in itertools.pairwise(orders)), source)
    ]
    if None in by_order and len(orders) > 2:
        to_full = tuple(step(order, orders[-1]) for order in orders[:-1])
        claims.append(Claim("full attention is better than every N", to_full, source))
    if {8, None} <= by_order.keys():
        effect = between(orders[0], orders[-1]) if orders[0].order == 2 else None
        tie = Step("N=8 - full", between(by_order[8], orders[-1]), True, effect)
        claims.append(Claim(f"N=8 is within {TIE} nats of full attention", (tie,), source))
    if orders[0].order == 2:
        from_two = tuple(step(orders[0], other) for other in orders[1:])
        claims.insert(0, Claim("N=2 is the worst", from_two, source))
    return claims
