"""Tokens per second of the engine, whole calls with the encoder, every sentence forced to one length."""

import os
from dataclasses import dataclass

from loadtest.bench.measure import CompetitorOptions, Workload, alternate, competitors, median
from loadtest.bench.report import Row

LISTED = ", shortlist"


@dataclass(frozen=True)
class EnginePlan:
    """One shape and precision, each batch size `rounds` times."""

    shape: str
    precision: str
    beam: int
    batches: tuple[int, ...]
    rounds: int
    peer: str | None
    with_full: bool = True


def engine_rows(plan: EnginePlan) -> list[Row]:
    """Ours with N=8 and with full attention, with and without a shortlist, each beside the peer with full attention.

    CTranslate2 is timed with and without a shortlist. It runs one worker per core, its fastest setting for batches; a
    single sentence uses one worker, on both sides. Its shortlist is the union over a batch, and random sentences share
    few words, so that the list is longer than for a text. transformers uses all cores for one batch.
    """
    ours = ours_of(plan)
    peers = peers_of(plan)
    rows = []
    with competitors([*ours.values(), *peers.values()]) as processes:
        for batch in plan.batches:
            speeds = [median(speed) for speed in alternate(processes, Workload(batch, plan.beam), plan.rounds)]
            beside = dict(zip(peers, speeds[len(ours) :], strict=True))
            for label, speed in zip(ours, speeds, strict=False):
                name = f"{plan.shape} {plan.precision} beam {plan.beam} batch {batch}, {label}"
                rows += [Row(name, speed, None, None, "tokens/s")] if not beside else []
                for kind, peer in beside.items():
                    if not kind or label.endswith(LISTED):
                        rows.append(
                            Row(name + (f" (peer{kind})" if kind else ""), speed, peer, speed / peer, "tokens/s")
                        )
    return rows


def ours_of(plan: EnginePlan) -> dict[str, CompetitorOptions]:
    """Label -> options."""
    cores = os.cpu_count() or 1
    orders: dict[str, int | None] = {"N=8": 8}
    if plan.with_full:
        orders["full attention"] = None
    return {
        name + (LISTED if listed else ""): CompetitorOptions(
            "ours", plan.shape, plan.precision, order, workers=cores, shortlist=listed
        )
        for name, order in orders.items()
        for listed in (True, False)
    }


def peers_of(plan: EnginePlan) -> dict[str, CompetitorOptions]:
    """Suffix of a row's name -> options."""
    cores = os.cpu_count() or 1
    if plan.peer is None:
        return {}
    if plan.peer == "transformers":
        if plan.precision != "fp32":
            raise ValueError("transformers is timed at fp32: add --precision fp32")
        return {"": CompetitorOptions(plan.peer, plan.shape, plan.precision, None, threads=cores)}
    return {
        LISTED if listed else "": CompetitorOptions(
            plan.peer, plan.shape, plan.precision, None, workers=cores, shortlist=listed
        )
        for listed in (False, True)
    }
