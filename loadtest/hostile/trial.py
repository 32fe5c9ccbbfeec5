"""One hostile input, sent to a server that other clients use at the same time, and its cost for them."""

import statistics
import time
from dataclasses import dataclass, field

from loadtest.hostile import processes
from loadtest.hostile.attempt import CUT_OFF, Answers, HostileInput
from loadtest.hostile.serving import Server

GRACE_SECONDS = 5.0
"""Seconds a server may be silent after the client disconnected; then it is killed."""
SETTLE_SECONDS = 2.0
"""Seconds a server may work on after the client disconnected."""
POLL_SECONDS = 0.2
BUSY_CORES = 0.5
MOST_KEPT_BYTES = 128 * 2**20
"""A server that has grown by more is replaced, so that all inputs find the same conditions."""
MIB = 2**20


@dataclass(frozen=True)
class Row:
    """The measurements of one input. Sizes in bytes, times in seconds. `slower`: the median time of a short sentence
    meanwhile, divided by its median time on the idle server. `says`: the input's description. `unwell`: why the server
    was replaced, or ""."""

    name: str
    says: str
    ordinary: bool
    size: int
    statuses: dict[str, int]
    note: str
    seconds: float
    growth: int
    kept: int
    children: int
    worst_live: float
    live_answers: int
    dead_answers: int
    slower: float
    worst_sentence: float
    refused_sentences: int
    unwell: str = field(default="")


def run_attempt(case: HostileInput, server: Server, seconds: float, share: float, most_memory: int) -> Row:
    """Send the input with a timeout of `seconds`, and measure."""
    attempt = case.make(share)
    before = processes.memory_of(server.pid)
    children = sum(map(processes.memory_of, processes.descendants(server.pid)))
    watch = processes.MemoryWatch(server.pid, most_memory)
    began = time.monotonic()
    try:
        answers = attempt.send(server.address, seconds)
    except (OSError, KeyError, ValueError) as error:  # the server ended meanwhile
        answers = Answers(note=f"{type(error).__name__}: {error}")
    taken = time.monotonic() - began
    unwell = _why_unwell(server, watch, is_cut_off=CUT_OFF in answers.statuses or CUT_OFF in answers.note)
    ended = time.monotonic()
    peaks = watch.close()
    probes = server.prober.during("live", began, ended)
    sentences = server.prober.during("sentence", began, ended)
    waits = [probe.seconds for probe in sentences if probe.status == 200]
    kept = max(0, processes.memory_of(server.pid) - before)
    # A probe without a response is not in the list: the silence lasts at least until now.
    silence = [ended - max((probe.ended for probe in probes), default=began)] if unwell else []
    return Row(
        name=case.name,
        says=case.description,
        ordinary=case.ordinary,
        size=attempt.size,
        statuses=dict(answers.statuses),
        note=answers.note,
        seconds=taken,
        growth=max(0, peaks.own - before),
        kept=kept,
        children=max(0, peaks.children - children),
        worst_live=max([probe.seconds for probe in probes] + silence, default=0.0),
        live_answers=sum(probe.status == 200 for probe in probes),
        dead_answers=sum(probe.status != 200 for probe in probes),
        slower=statistics.median(waits) / server.idle_sentence if waits else 0.0,
        worst_sentence=max(waits, default=0.0),
        refused_sentences=sum(probe.status != 200 for probe in sentences),
        unwell=unwell or ("memory kept" if processes.memory_of(server.pid) - server.resident > MOST_KEPT_BYTES else ""),
    )


def _why_unwell(server: Server, watch: processes.MemoryWatch, is_cut_off: bool) -> str:
    """Why the server must be replaced after the client got its response or disconnected, or ""."""
    if not server.prober.answered_after(time.monotonic(), GRACE_SECONDS):
        if watch.killed:
            return "killed: too much memory"
        return "silent: killed" if server.is_alive else "the process ended"
    deadline = time.monotonic() + SETTLE_SECONDS
    while is_cut_off and server.load(POLL_SECONDS) > server.idle_load + BUSY_CORES:
        if time.monotonic() > deadline:
            return "works on after its client left"
    return ""
