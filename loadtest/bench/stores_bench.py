"""The cost of single operations of the document stores, with few and with many stored documents."""

import contextlib
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import TypeVar

from loadtest.bench.report import Row
from server.stores.interface import ContextStore, Cursor, StoreError
from server.stores.limits import DocumentLimits
from server.stores.open_store import open_store
from server.stores.records import Document, Part, Sentence

OPERATIONS = 200
"""Timed calls of an operation in a round."""
EXPIRED = 20
"""Documents that one timed call of `expire` deletes."""
PAGE = 20
SERVED, UNSERVED = "served", "unserved"
LEASE_SECONDS = 600.0
NO_BOUND = 10**12
LIMITS = DocumentLimits(NO_BOUND, NO_BOUND, NO_BOUND, NO_BOUND, NO_BOUND)
START_SECONDS = 10.0

Result = TypeVar("Result")
Times = dict[str, list[float]]
"""Milliseconds of every call, by operation."""


def store_rows(sizes: Sequence[int], rounds: int) -> list[Row]:
    """The median and the 99th percentile of every operation with the largest of `sizes` (ours) and with the smallest
    (peer), for SQLite, and for Redis if `redis-server` is installed."""
    small, large = min(sizes), max(sizes)
    rows = []
    for name, opened in (("SQLite", _sqlite), ("Redis", _redis)):
        if name == "Redis" and shutil.which("redis-server") is None:
            continue
        with opened() as url, opened() as other_url, _open(url) as few, _open(other_url) as many:
            fill(few, small)
            fill(many, large)
            times: tuple[Times, Times] = ({}, {})
            for _ in range(rounds):  # alternating, so that other work on the machine slows both
                for store, own in zip((many, few), times, strict=True):
                    time_operations(store, own)
        for operation, ours in times[0].items():
            for label, statistic in (("median", median), ("p99", percentile_99)):
                of_many, of_few = statistic(ours), statistic(times[1][operation])
                rows.append(Row(f"{name}, {operation}, {label}", of_many, of_few, of_many / of_few, "ms"))
    return rows


def fill(store: ContextStore, count: int) -> None:
    """Documents of one sentence: half are done, a quarter waits for a served model, a quarter for another."""
    for number in range(count):
        model, state = ((SERVED, "done"), (SERVED, "queued"), (SERVED, "done"), (UNSERVED, "queued"))[number % 4]
        store.create(*_document(model, state), LIMITS)


def time_operations(store: ContextStore, times: Times) -> None:
    """Time every operation; the store has as many documents afterwards as before."""

    def timed(name: str, call: Callable[[], Result]) -> Result:
        started = time.perf_counter()
        result = call()
        times.setdefault(name, []).append(1e3 * (time.perf_counter() - started))
        return result

    made = [_document(SERVED, "queued") for _ in range(OPERATIONS)]
    for new in made:
        timed("create", partial(store.create, *new, LIMITS))
    claims = [timed("claim", partial(store.claim, "bench", LEASE_SECONDS, [SERVED])) for _ in range(OPERATIONS)]
    claimed = [document for document in claims if document is not None]
    for document in claimed:
        timed("extend a lease", partial(store.renew, document.id, "bench", LEASE_SECONDS))
    for document in claimed:
        timed("save", partial(_save, store, document))
    for document in claimed:
        timed("delete", partial(store.delete, document.id))
    place: Cursor | None = None
    for _ in range(OPERATIONS):
        page = timed("list 20", partial(store.page, "bench", PAGE, place))
        place = Cursor(page[-1].created, page[-1].id) if page else None
    for model, state, name in ((SERVED, "done", "finished"), (UNSERVED, "queued", "waiting for another model")):
        for _ in range(OPERATIONS // EXPIRED):
            for _ in range(EXPIRED):
                store.create(*_document(model, state, touched=1.0), LIMITS)
            timed(f"expire {EXPIRED} {name}", partial(store.expire, 2.0, [SERVED]))


def percentile_99(values: Sequence[float]) -> float:
    return quantiles(values, n=100, method="inclusive")[98]


def _document(model: str, state: str, touched: float | None = None) -> tuple[Document, list[Sentence]]:
    now = time.time()
    document = Document(
        secrets.token_urlsafe(18), model, "f00d", "en", "de", "offline", state, 1,  # type: ignore[arg-type]
        created=now, touched=now if touched is None else touched, num_places=1, owner="bench", num_pending=1,
    )  # fmt: skip
    return document, [_SENTENCE]


_SENTENCE = Sentence(0, "The girl walks home in the rain.", (Part(tuple(range(3, 12)), span=(0, 32)),))


def _save(store: ContextStore, document: Document) -> None:
    """As a job writes the last sentence of a document."""
    values = {**vars(document), "version": document.version + 1, "state": "done", "num_pending": 0}
    store.update(Document(**values), document.version, [_SENTENCE], LIMITS)


@contextlib.contextmanager
def _open(url: str) -> Iterator[ContextStore]:
    store = open_store(url)
    try:
        yield store
    finally:
        store.close()


@contextlib.contextmanager
def _sqlite() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite:///{Path(folder) / 'documents.db'}"


@contextlib.contextmanager
def _redis() -> Iterator[str]:
    """A Redis server of its own, in memory."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as server:
            try:
                url = f"redis://127.0.0.1:{port}/0"
                _wait(url)
                yield url
            finally:
                server.terminate()


def _wait(url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            open_store(url).close()
            return
        except StoreError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
