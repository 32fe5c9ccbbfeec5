"""Tests what papers claim on our rows, by paired differences over units of text (sentences or documents)."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from export.compare.estimate import ALPHA, SeedSpread, holm, p_value
from export.compare.measurements import Measured
from export.compare.papers import INFERIOR, OWN, PaperClaim, PaperTable
from export.compare.variants import (
    LOG_PERPLEXITY,
    Contrast,
    Family,
    Metric,
    Variant,
    contrast,
    mean_costs,
    named,
    range_text,
    seed_spread,
    tokens_text,
)

TIE = 0.01
"""Nats per token within which two variants may count as equal."""
HOLDS, AGAINST, NOISE = "holds", "contradicted at this size", "within noise"
NOT_COMPARABLE, NOT_TRIED = "not comparable", "not tried"
ONE_SEED = "not comparable: one seed"


@dataclass(frozen=True)
class Step:
    """One expected difference in log-perplexity: positive; or at most `allowed`, for a non-inferiority claim; or small,
    for a tie. `difference` is None where a row was not trained; `beside` is the effect that a tie is compared with."""

    label: str
    difference: Contrast | None
    is_tie: bool = False
    beside: Contrast | None = None
    allowed: float | None = None

    @property
    def untestable(self) -> str | None:
        """The reason why the step cannot be tested; None where it can."""
        if self.difference is None:
            return NOT_TRIED
        return ONE_SEED if self.difference.seeds < 2 else None

    @property
    def evidence(self) -> float:
        """The distance of the difference from the bound of the claim, in units of the difference: positive where the
        claim holds."""
        assert self.difference is not None
        value = self.difference.estimate.value
        if self.allowed is not None:
            return self.allowed - value
        if not self.is_tie:
            return value
        distance = abs(value)
        return self.tie - distance if distance < self.tie else min(0.0, TIE - distance)

    @cached_property
    def p_value(self) -> float:
        """Of the evidence, two-sided: a claim of at most `allowed` is tested one-sidedly at ALPHA / 2, the end of the
        95% interval."""
        assert self.difference is not None
        result = self.difference
        return p_value(self.evidence, result.estimate, result.seed_error, result.freedom or math.inf)

    @property
    def tie(self) -> float:
        """The difference within which both sides count as equal: TIE, but at most half of the effect `beside`, because
        without an effect all rows would be equal."""
        if self.beside is None:
            return TIE
        effect = abs(self.beside.estimate.value)
        return min(TIE, effect / 2) if effect > self.beside.margin else 0.0


@dataclass(frozen=True)
class Claim:
    """Holds when every step holds, is contradicted when one step is; each step's p-value is corrected for the number of
    steps, so that a claim of true ties is contradicted in at most 5 of 100 comparisons.

    `tokens`: the target tokens of each row's training. `paper`: the author of the claim (None: an own hypothesis).
    `is_of_bleu`: the paper's figures are BLEU, whatever the metric here. `incomparable`: why the rows cannot test it.
    """

    text: str
    steps: tuple[Step, ...]
    source: str = ""
    metric: Metric = LOG_PERPLEXITY
    tokens: str = ""
    paper: str | None = None
    is_of_bleu: bool = False
    incomparable: str = ""

    @cached_property
    def corrected(self) -> tuple[float | None, ...]:
        """Each step's corrected p-value; None where the step cannot be tested."""
        answered = [step for step in self.steps if step.untestable is None]
        result = iter(holm([step.p_value for step in answered]))
        return tuple(next(result) if step.untestable is None else None for step in self.steps)

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Step by step."""
        return tuple(map(self._verdict, self.steps, self.corrected))

    @staticmethod
    def _verdict(step: Step, corrected: float | None) -> str:
        if corrected is None:
            return step.untestable or NOISE
        if corrected >= ALPHA:
            return NOISE
        return HOLDS if step.evidence > 0 else AGAINST

    @property
    def verdict(self) -> str:
        result = set(self.verdicts)
        if self.incomparable and result != {NOT_TRIED}:
            return NOT_COMPARABLE
        for decisive in (AGAINST, ONE_SEED, NOISE, NOT_TRIED):
            if decisive in result:
                return decisive
        return HOLDS

    @property
    def tried(self) -> list[Step]:
        return [step for step in self.steps if step.difference is not None]


def claim_of(claim: PaperClaim, paper: PaperTable, family: Family) -> Claim:
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
    is_of_bleu = family.metric is LOG_PERPLEXITY and any(name.startswith("BLEU") for name in paper.columns)
    author = None if paper.is_own else paper.author
    names = {name for step in claim.steps for side in step for name in side}
    tokens = [member.target_tokens for name, member in family.members.items() if name in names]
    token_range = range_text(min(tokens), max(tokens)) if tokens else ""
    return Claim(claim.text, steps, paper.reference, family.metric, token_range, author, is_of_bleu, claim.incomparable)


CHELBA_AUTHOR = "Chelba et al. 2019"


def short(name: str) -> str:
    """ "small/n2" -> "n2" """
    return name.rpartition("/")[2]


@dataclass(frozen=True)
class Order(Variant):
    """All seeds of one N (None: full attention)."""

    order: int | None = None


@dataclass(frozen=True)
class OrderGroup:
    """Rows that differ only in N and seed, ascending in N, full attention last; they share `attention`, and each read
    `target_tokens` in training."""

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
    """Groups of at least two orders; the spread of seeds is pooled over all rows of the same budget."""
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
    tokens = round(sum(seed.row.target_tokens for seed in seeds) / len(seeds))
    return Order(name, mean_costs([seed.alone for seed in seeds]), len(seeds), tokens, order)


def ngram_claims(group: OrderGroup) -> list[Claim]:
    """Chelba et al. 2019, Tables 1 and 2, whose attention is plain; under another attention the same questions are own
    hypotheses."""

    def between(worse: Order, better: Order) -> Contrast:
        return contrast([worse], [better], group.spread)

    def claim(text: str, *pairs: tuple[Order, Order], allowed: float | None = None) -> Claim:
        steps = (Step(f"{a.name} - {b.name}", between(a, b), allowed=allowed) for a, b in pairs)
        return Claim(text, tuple(steps), source, tokens=tokens_text(group.target_tokens), paper=author)

    author = CHELBA_AUTHOR if group.is_plain else None
    source = f"{CHELBA_AUTHOR}, Tables 1 and 2" if group.is_plain else f"{OWN}, {group.attention} attention"
    orders = group.orders
    by_order: Mapping[int | None, Order] = {order.order: order for order in orders}
    claims = []
    if {8, None} <= by_order.keys():
        text = f"N=8 is worse than full attention by at most {INFERIOR} nats"
        claims.append(claim(text, (by_order[8], orders[-1]), allowed=INFERIOR))
    if orders[0].order == 2:
        claims.append(claim("N=2 is the worst", *((orders[0], other) for other in orders[1:])))
    if len(orders) > 2:
        claims.append(claim("log-perplexity falls as N grows", *itertools.pairwise(orders)))
    if None in by_order and len(orders) > 2:
        claims.append(claim("full attention is better than every N", *((order, orders[-1]) for order in orders[:-1])))
    return claims
