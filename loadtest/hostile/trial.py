"""One input, sent to a server that others ask meanwhile: what it cost them."""

import statistics
import time
from dataclasses import dataclass, field

from loadtest.hostile import processes
from loadtest.hostile.attempt import CUT_OFF, Answers, HostileInput
from loadtest.hostile.serving import Server

GRACE_SECONDS = 5.0
"""How long a server may stay silent after the client hung up, before it is taken for lost."""
SETTLE_SECONDS = 2.0
"""How long it may go on working."""
POLL_SECONDS = 0.2
BUSY_CORES = 0.5
MOST_KEPT_BYTES = 128 * 2**20
"""A server that has grown by more is started anew, so that the next input finds what this one found."""
MIB = 2**20


@dataclass(frozen=True)
class Row:
    """What one input led to. Sizes in bytes, times in seconds; `slower`: the median time of a short sentence sent
    meanwhile over that on an idle server. `unwell`: why the server was started anew, "" where it goes on."""

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
    """Send it and hang up after `seconds`."""
    attempt = case.make(share)
    before = processes.memory_of(server.pid)
    children = sum(map(processes.memory_of, processes.descendants(server.pid)))
    watch = processes.MemoryWatch(server.pid, most_memory)
    began = time.monotonic()
    try:
        answers = attempt.send(server.address, seconds)
    except (OSError, KeyError, ValueError) as error:  # the server went away in the middle
        answers = Answers(note=f"{type(error).__name__}: {error}")
    taken = time.monotonic() - began
    unwell = _why_unwell(server, watch, has_left=CUT_OFF in answers.statuses or CUT_OFF in answers.note)
    ended = time.monotonic()
    peaks = watch.close()
    signs = server.prober.during("live", began, ended)
    sentences = server.prober.during("sentence", began, ended)
    waits = [one.seconds for one in sentences if one.status == 200]
    kept = max(0, processes.memory_of(server.pid) - before)
    # What never came back has no sign of its own: the silence lasts at least until now.
    silence = [ended - max((one.ended for one in signs), default=began)] if unwell else []
    return Row(
        name=case.name,
        says=case.says,
        ordinary=case.ordinary,
        size=attempt.size,
        statuses=dict(answers.statuses),
        note=answers.note,
        seconds=taken,
        growth=max(0, peaks.own - before),
        kept=kept,
        children=max(0, peaks.children - children),
        worst_live=max([one.seconds for one in signs] + silence, default=0.0),
        live_answers=sum(one.status == 200 for one in signs),
        dead_answers=sum(one.status != 200 for one in signs),
        slower=statistics.median(waits) / server.idle_sentence if waits else 0.0,
        worst_sentence=max(waits, default=0.0),
        refused_sentences=sum(one.status != 200 for one in sentences),
        unwell=unwell or ("memory kept" if processes.memory_of(server.pid) - server.resident > MOST_KEPT_BYTES else ""),
    )


def _why_unwell(server: Server, watch: processes.MemoryWatch, has_left: bool) -> str:
    """What is wrong with the server after the client got its answer, or left. Where it left, work ends."""
    if not server.prober.answered_after(time.monotonic(), GRACE_SECONDS):
        if watch.killed:
            return "killed: too much memory"
        return "silent: killed" if server.is_alive else "the process ended"
    give_up = time.monotonic() + SETTLE_SECONDS
    while has_left and server.load(POLL_SECONDS) > server.idle_load + BUSY_CORES:
        if time.monotonic() > give_up:
            return "works on after its client left"
    return ""
