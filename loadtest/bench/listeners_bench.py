"""What a change of a document costs the server when few and when many clients listen to the document's events."""

import asyncio
import dataclasses
import time
from collections.abc import Sequence
from statistics import median

from loadtest.bench.report import Row
from server.api.admission.server_sent_events import event
from server.api.native.document_schemas import DocumentProgress
from server.documents.feeds import Feeds, Snapshot
from server.documents.progress import ProgressBroker
from server.stores.interface import FIRST_CHANGE, ChangePlace, Changes
from server.stores.memory import MemoryStore
from server.stores.records import Document, Part, Sentence

CHANGES = 50
"""Timed changes, each of one sentence."""
SENTENCES = 100
DOCUMENT = "listened"
TIMEOUT_SECONDS = 600.0


class _CountingStore(MemoryStore):
    reads = 0

    def changes(self, document_id: str, after: ChangePlace, limit: int) -> Changes:
        self.reads += 1
        return super().changes(document_id, after, limit)


def listener_rows(counts: Sequence[int]) -> list[Row]:
    """Of the largest of `counts` (ours) and the smallest (peer) numbers of listeners: milliseconds of processor a
    change, from the write until every listener has its event, and how often the store is read."""
    few, many = min(counts), max(counts)
    (spent, reads), (least_spent, least_reads) = (asyncio.run(_measured(count)) for count in (many, few))
    return [
        Row(f"a change, {many:,} listeners or {few:,}", spent, least_spent, spent / least_spent, "ms of processor"),
        Row(f"the same for one listener of {many:,}", spent / many, None, None, "ms of processor"),
        Row("the store is read for a change", reads, least_reads, reads / least_reads, "times"),
    ]


async def _measured(num_listeners: int) -> tuple[float, float]:
    store, progress = _CountingStore(), ProgressBroker()
    document = Document(
        DOCUMENT, "model", "f00d", "en", "de", "offline", "running", SENTENCES, num_places=SENTENCES, num_pending=0
    )
    sentences = [Sentence(index, "It rains.", (Part((5, 6, 2)),), translation="-") for index in range(SENTENCES)]
    store.create(document, sentences)
    feeds = Feeds(store, progress, lambda name: True)
    received, complete = dict[int, int](), asyncio.Event()

    async def listen() -> None:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        async for update in feeds.updates(DOCUMENT, FIRST_CHANGE, deadline, TIMEOUT_SECONDS):
            if update is not None and isinstance(update.content, Snapshot):
                if True not in update.written:
                    update.written[True] = event("document", DocumentProgress.of(update.content))
                version = update.content.document.version
                received[version] = received.get(version, 0) + 1
                if received[version] == num_listeners:
                    complete.set()

    listeners = [asyncio.create_task(listen()) for _ in range(num_listeners)]
    await complete.wait()
    times, reads = list[float](), store.reads
    for number in range(CHANGES):
        complete.clear()
        started = time.process_time()
        changed = dataclasses.replace(sentences[number % SENTENCES], translation=f"Es regnet {number}.")
        document = dataclasses.replace(document, version=document.version + 1)
        store.update(document, document.version - 1, [changed])
        progress.publish(DOCUMENT, None)
        await complete.wait()
        times.append(1e3 * (time.process_time() - started))
    for task in listeners:
        task.cancel()
    await asyncio.gather(*listeners, return_exceptions=True)
    return median(times), (store.reads - reads) / CHANGES
