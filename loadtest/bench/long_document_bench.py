"""Whether the sentences at the end of a very long document cost what those at its beginning cost, in time and in
memory."""

import asyncio
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loadtest.bench.documents_bench import OPTIONS, TIMEOUT_SECONDS, Contender, contender
from loadtest.bench.report import Row
from server.documents.feeds import Snapshot
from server.documents.service import NewDocument

SHARE = 0.1
"""The beginning and the end of a document, as a share of it."""
KIB = 1024


@dataclass(frozen=True)
class Moment:
    """How far a document is. `processor`: seconds of all threads of this process; `memory`: its bytes."""

    done: int
    processor: float
    seconds: float
    memory: int


def long_document_rows(artifact: Path, texts: Sequence[str]) -> list[Row]:
    """A document of all `texts`: its last tenth (ours) and its first (peer). Memory is that of the process after
    each. Raises ValueError for fewer texts than 20 batches have."""
    return asyncio.run(_rows(artifact, texts))


async def _rows(artifact: Path, texts: Sequence[str]) -> list[Row]:
    async with contender(artifact, True, len(texts)) as service:
        await service.online(texts[:32])  # a warm-up that does not count
        moments = await _translated(service, texts)
    first = [moment for moment in moments if moment.done <= len(texts) * SHARE]
    last = [moment for moment in moments if moment.done >= len(texts) * (1 - SHARE)]
    if len(first) < 2 or len(last) < 2:
        raise ValueError(f"{len(texts)} sentences are too few batches to tell the beginning from the end")

    def row(name: str, end: float, beginning: float, unit: str) -> Row:
        return Row(f"{len(texts)} sentences, {name}", end, beginning, end / beginning, unit)

    return [
        row("processor", _rate(last, "processor"), _rate(first, "processor"), "ms a sentence"),
        row("time", _rate(last, "seconds"), _rate(first, "seconds"), "ms a sentence"),
        row("memory of the process", last[-1].memory / KIB**2, first[-1].memory / KIB**2, "MiB"),
    ]


async def _translated(service: Contender, texts: Sequence[str]) -> list[Moment]:
    """The moments at which batches were stored."""
    moments: list[Moment] = []
    document, _ = await service.service.create(NewDocument(service.translator, "offline", texts, OPTIONS))
    deadline = time.monotonic() + TIMEOUT_SECONDS
    async for update in service.service.events(document.id, deadline):
        if update is not None and isinstance(update.content, Snapshot):
            done = len(texts) - update.content.num_pending
            if not moments or done > moments[-1].done:
                moments.append(Moment(done, time.process_time(), time.monotonic(), _memory()))
    return moments


def _rate(moments: Sequence[Moment], name: str) -> float:
    """Milliseconds a sentence between the first and the last of these moments."""
    spent: float = getattr(moments[-1], name) - getattr(moments[0], name)
    return 1e3 * spent / (moments[-1].done - moments[0].done)


def _memory() -> int:
    """Bytes of this process in memory; where the system does not say, the most until now."""
    statm = Path("/proc/self/statm")
    if statm.is_file():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB
