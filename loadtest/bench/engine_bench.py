"""Tokens per second of the engine, whole calls with the encoder, every sentence forced to one length."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadtest.bench.fxtranslate_peer import target_length
from loadtest.bench.measure import CompetitorOptions, CompetitorProcess, Workload, alternate, competitors, median
from loadtest.bench.report import Row
from loadtest.bench.shapes import IMPORTED, SHAPES

LISTED = ", shortlist"


@dataclass(frozen=True)
class EnginePlan:
    """One shape and precision, each beam and batch size `rounds` times. `models`: a folder for the models, which are
    found there by the next run. `of_processor`: tokens per second of processor time, for a machine that others use.
    `intra_threads`: the setting of the server."""

    shape: str
    precision: str
    beams: tuple[int, ...]
    batches: tuple[int, ...]
    rounds: int
    peer: str | None
    with_full: bool = True
    models: Path | None = None
    of_processor: bool = False
    intra_threads: str = "auto"

    @property
    def unit(self) -> str:
        return "tokens/s of processor time" if self.of_processor else "tokens/s"

    @property
    def has_ring(self) -> bool:
        return SHAPES[self.shape].has_ring

    def workload(self, batch: int, beam: int) -> Workload:
        """fxtranslate's own limit ends its translations: those of models without a ring all have this length."""
        work = Workload(batch, beam)
        return work if self.has_ring else Workload(batch, beam, target_length=target_length(work.source_length))


def engine_rows(plan: EnginePlan) -> list[Row]:
    """Ours with N=8 and with full attention, with and without a shortlist, each beside the peer with full attention;
    then the memory of each. Shapes that others train are shown as an import has them.

    CTranslate2 and fxtranslate are timed with and without a shortlist. They run one worker per core, their fastest
    setting for batches; a single sentence uses one worker, on both sides. CTranslate2's shortlist is the union over a
    batch, and random sentences share few words, so that the list is longer than for a text. transformers uses all cores
    for one batch.
    """
    ours = ours_of(plan)
    peers = peers_of(plan)
    rows = []
    with competitors([*ours.values(), *peers.values()], plan.models) as processes:
        for beam in plan.beams:
            for batch in plan.batches:
                turns = alternate(processes, plan.workload(batch, beam), plan.rounds, plan.of_processor)
                speeds = list(map(median, turns))
                title = f"{plan.shape} {plan.precision} beam {beam} batch {batch}"
                ours_now = dict(zip(ours, speeds, strict=False))
                rows += rows_beside(title, ours_now, peer_figures(peers, speeds), plan.unit)
        rows += memory_rows(f"{plan.shape} {plan.precision}", [*ours, *(f"peer{kind}" for kind in peers)], processes)
    return rows


def peer_figures(peers: Mapping[str, object], speeds: Sequence[float]) -> dict[str, float]:
    """Suffix of a row's name -> the peer's speed; the peers stand last."""
    return dict(zip(peers, speeds[len(speeds) - len(peers) :], strict=True))


def rows_beside(title: str, ours: Mapping[str, float], beside: Mapping[str, float], unit: str) -> list[Row]:
    """Each of ours beside the peer; those with a shortlist also beside the peer with one."""
    rows = []
    for label, speed in ours.items():
        name = f"{title}, {label}"
        rows += [Row(name, speed, None, None, unit)] if not beside else []
        for kind, peer in beside.items():
            if not kind or label.endswith(LISTED):
                rows.append(Row(name + (f" (peer{kind})" if kind else ""), speed, peer, speed / peer, unit))
    return rows


def memory_rows(title: str, labels: Sequence[str], processes: Sequence[CompetitorProcess]) -> list[Row]:
    """By how much each process has grown, its modules not counted."""
    return [
        Row(f"{title}, {label}: memory", process.bytes() / 2**20, None, None, "MiB")
        for label, process in zip(labels, processes, strict=True)
    ]


def ours_of(plan: EnginePlan) -> dict[str, CompetitorOptions]:
    """Label -> options."""
    cores = os.cpu_count() or 1
    orders: dict[str, int | None] = {} if plan.shape in IMPORTED else {"N=8": 8}
    if plan.with_full or not orders:
        orders["full attention" if plan.has_ring else "no ring"] = None
    return {
        name + (LISTED if listed else ""): CompetitorOptions(
            "ours",
            plan.shape,
            plan.precision,
            order,
            workers=cores,
            shortlist=listed,
            intra_threads=plan.intra_threads,
        )
        for name, order in orders.items()
        for listed in (True, False)
    }


def peers_of(plan: EnginePlan) -> dict[str, CompetitorOptions]:
    """Suffix of a row's name -> options."""
    cores = os.cpu_count() or 1
    if plan.peer is None:
        return {}
    if (plan.peer == "fxtranslate") == plan.has_ring:
        raise ValueError("fxtranslate is the peer of the shapes firefox-..., and they have no other")
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
