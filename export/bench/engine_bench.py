"""Tokens per second of the engine, whole calls with the encoder, every sentence forced to one length."""

import os
from dataclasses import dataclass

from export.bench.measure import CompetitorOptions, Workload, alternate, competitors, median
from export.bench.report import Row

FULL_LENGTH = 64
"""Ring slots of our own full attention: enough for the target length that is timed."""


@dataclass(frozen=True)
class EnginePlan:
    """What is timed: one shape and precision, each batch size, `rounds` times each."""

    shape: str
    precision: str
    beam: int
    batches: tuple[int, ...]
    rounds: int
    with_peer: bool
    with_full: bool = True


def engine_rows(plan: EnginePlan) -> list[Row]:
    """Ours with N=8 and with full attention against CTranslate2 (full attention), two threads of work each.

    CTranslate2 runs one worker per core, its fastest setting for batches; a single sentence keeps one of them busy, on
    both sides.
    """
    cores = os.cpu_count() or 1
    options = [CompetitorOptions("ours", plan.shape, plan.precision, 8, workers=cores)]
    if plan.with_full:
        options.append(CompetitorOptions("ours", plan.shape, plan.precision, None, FULL_LENGTH, workers=cores))
    if plan.with_peer:
        options.append(CompetitorOptions("ctranslate2", plan.shape, plan.precision, None, workers=cores))
    rows = []
    with competitors(options) as processes:
        for batch in plan.batches:
            speeds = [median(speed) for speed in alternate(processes, Workload(batch, plan.beam), plan.rounds)]
            peer = speeds[-1] if plan.with_peer else None
            for label, ours in zip(["N=8", "full attention"], speeds[: 1 + plan.with_full], strict=False):
                name = f"{plan.shape} {plan.precision} beam {plan.beam} batch {batch}, {label}"
                rows.append(Row(name, ours, peer, None if peer is None else ours / peer, "tokens/s"))
    return rows
