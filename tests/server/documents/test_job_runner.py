"""Jobs and their leases. No model: the work itself is a stand-in that ends when the test says so."""

import asyncio
import logging
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from server.documents import job_runner as runner_module
from server.documents.job_runner import MAX_RUNNING, JobRunner
from server.documents.leases import MAX_ATTEMPTS, Lease, LeaseLost, end
from server.documents.sentence_states import StateReader
from server.documents.state_cache import StateCache
from server.engine.request import EngineStopped
from server.runtime.ref_count import RefCount
from server.scheduling import caller
from server.stores.interface import StoreError
from server.stores.memory import MemoryStore
from server.stores.open_store import open_store
from server.stores.records import Document
from server.telemetry.metrics import Metrics
from server.translation.translator import Translator
from tests.server.documents.some import FIRST, SERVED, keep

PATIENCE = 60.0


async def load_on_demand() -> None:
    """It is loaded."""


SERVING = SimpleNamespace(
    name=FIRST.model, fingerprint=FIRST.fingerprint, users=RefCount(), is_available=True,
    check_available=lambda: None, load_on_demand=load_on_demand,
    artifact=SimpleNamespace(manifest=SimpleNamespace(languages=None)),
)  # fmt: skip
TRANSLATORS = {FIRST.model: cast(Translator, SERVING)}
"""Of the models that are claimed; nothing is translated here."""
ROOT = Path(__file__).parents[3]


class Work:
    """In place of translate_pending."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.tenants: list[str] = []
        self.may_end = asyncio.Event()

    async def __call__(self, lease: Lease, *_: object, **__: object) -> None:
        self.begun.append(lease.document_id)
        self.tenants.append(caller.current.get().tenant)
        await self.may_end.wait()
        await asyncio.to_thread(end, lease, "done")


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.002)


def run(
    scenario: Callable[[MemoryStore, JobRunner, Work], Awaitable[None]],
    store: MemoryStore,
    metrics: Metrics,
    monkeypatch: pytest.MonkeyPatch,
    lease_seconds: float = 100,
) -> None:
    async def started() -> None:
        work = Work()
        monkeypatch.setattr(runner_module, "translate_pending", work)
        runner = JobRunner(store, StateReader(StateCache(0)), TRANSLATORS, lease_seconds, metrics)
        runner.start()
        try:
            await scenario(store, runner, work)
        finally:
            await runner.stop()

    asyncio.run(started())


def ended(metrics: Metrics, result: str) -> float | None:
    return metrics.registry.get_sample_value("ringmt_document_jobs_total", {"result": result, "model": ""})


def test_the_oldest_come_first_and_only_so_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    store, metrics = MemoryStore(), Metrics()
    for index in range(MAX_RUNNING + 2):
        keep(store, f"d{index}", created=float(index))

    async def scenario(store: MemoryStore, runner: JobRunner, work: Work) -> None:
        await until(lambda: len(work.begun) == MAX_RUNNING)
        assert work.begun == [f"d{index}" for index in range(MAX_RUNNING)]
        work.may_end.set()
        await until(lambda: ended(metrics, "done") == MAX_RUNNING + 2)

    run(scenario, store, metrics, monkeypatch)


def test_a_lease_is_renewed_twice_before_it_would_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the runner's own sleeps, which take no time here: one that fails is followed by another in time."""
    slept: list[float] = []
    metrics = Metrics()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await real_sleep(0.001)

    real_sleep = asyncio.sleep
    store, lease_seconds = MemoryStore(), 90.0
    keep(store)

    async def scenario(store: MemoryStore, runner: JobRunner, work: Work) -> None:
        await until(lambda: len(work.begun) == 1 and len(slept) > 3)
        work.may_end.set()
        await until(lambda: ended(metrics, "done") == 1)

    monkeypatch.setattr(runner_module, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))
    run(scenario, store, metrics, monkeypatch, lease_seconds)
    assert 0 < max(slept) < lease_seconds / 2


def test_the_engine_is_told_whose_documents_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    for index, owner in enumerate(("shop", "", "desk")):
        keep(store, f"d{index}", created=float(index), owner=owner)

    async def scenario(store: MemoryStore, runner: JobRunner, work: Work) -> None:
        await until(lambda: len(work.begun) == 3)
        assert work.tenants == ["shop", "", "desk"]
        work.may_end.set()

    run(scenario, store, Metrics(), monkeypatch)


def test_what_is_stopped_is_queued_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store, metrics = MemoryStore(), Metrics()
    keep(store)

    async def scenario(store: MemoryStore, runner: JobRunner, work: Work) -> None:
        await until(lambda: bool(work.begun))
        await runner.stop()
        assert store.document("first").state == "queued"

    run(scenario, store, metrics, monkeypatch)
    assert ended(metrics, "released") == 1


@pytest.mark.parametrize("thief", ["another process", "nobody: it was deleted"])
def test_work_ends_when_the_document_is_another_s(thief: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store, metrics = MemoryStore(), Metrics()
    keep(store)

    async def scenario(store: MemoryStore, runner: JobRunner, work: Work) -> None:
        await until(lambda: bool(work.begun))
        if thief == "another process":
            assert store.renew("first", str(store._records["first"].worker), 0)
            assert store.claim(thief, 100, SERVED) is not None
        else:
            store.delete("first")
        await until(lambda: ended(metrics, "lost") == 1)

    run(scenario, store, metrics, monkeypatch, lease_seconds=0.3)
    if thief == "another process":
        assert store.document("first").state == "running"
        assert store.renew("first", thief, 100)


def test_a_store_that_fails_is_asked_again(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "ringmt")

    class Moody(MemoryStore):
        calls = 0

        def claim(self, worker: str, lease_seconds: float, models: Collection[str]) -> None:
            self.calls += 1
            if self.calls < 3:
                raise StoreError("gone") if self.calls == 1 else RuntimeError("odd")

    async def scenario(store: MemoryStore, runner: JobRunner, work: Work) -> None:
        assert isinstance(store, Moody)
        while store.calls < 3:
            runner.wake()
            await asyncio.sleep(0.002)

    run(scenario, Moody(), Metrics(), monkeypatch)
    assert "gone" in caplog.text
    assert "odd" in caplog.text


def test_who_waits_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()

    async def scenario(store: MemoryStore, runner: JobRunner, work: Work) -> None:
        waiting = asyncio.ensure_future(runner.ended("first", PATIENCE))
        await asyncio.sleep(0)
        keep(store)
        runner.wake()
        work.may_end.set()
        await asyncio.wait_for(waiting, PATIENCE / 2)
        assert store.document("first").state == "done"
        await runner.ended("first", 0.0)  # nothing to wait for: it returns all the same

    run(scenario, store, Metrics(), monkeypatch)


def test_suspects_are_worked_on_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents that were worked on when a process died, one after the other and after those that were running."""
    store, metrics = MemoryStore(), Metrics()
    for index, attempts in enumerate((0, 1, 2, 0)):
        keep(store, f"d{index}", created=float(index), attempts=attempts)

    async def scenario(store: MemoryStore, runner: JobRunner, work: Work) -> None:
        await until(lambda: work.begun == ["d0"] and store.document("d1").state == "running")
        assert store.document("d2").state == "queued"
        work.may_end.set()
        await until(lambda: ended(metrics, "done") == 4)
        assert work.begun == ["d0", "d1", "d2", "d3"]

    run(scenario, store, metrics, monkeypatch)


DEADLY = """
import asyncio, os, signal, sys
from types import SimpleNamespace
from server.documents import job_runner
from server.stores.open_store import open_store
from server.documents.state_cache import StateCache
from server.documents.sentence_states import StateReader
from server.telemetry.metrics import Metrics
from server.runtime.ref_count import RefCount

async def load_on_demand():
    pass

served = SimpleNamespace(
    name="tiny", fingerprint="f00d", users=RefCount(), is_available=True, check_available=lambda: None,
    load_on_demand=load_on_demand,
    artifact=SimpleNamespace(manifest=SimpleNamespace(languages=None)),
)

async def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    job_runner.translate_pending = die
    job_runner.JobRunner(open_store(sys.argv[1]), StateReader(StateCache(0)), {"tiny": served}, 0.1, Metrics()).start()
    await asyncio.Event().wait()

asyncio.run(main())
"""


def test_a_document_that_kills_its_process_has_failed_at_last(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/documents.db"
    store = open_store(url)
    keep(store, num_sentences=1)
    for _ in range(MAX_ATTEMPTS):
        assert store.document("first").state in ("queued", "running")
        died = subprocess.run([sys.executable, "-c", DEADLY, url], cwd=ROOT, timeout=PATIENCE, check=False)
        assert died.returncode == -signal.SIGKILL
    metrics = Metrics()

    async def live() -> None:
        runner = JobRunner(store, StateReader(StateCache(0)), TRANSLATORS, 0.1, metrics)
        runner.start()
        await until(lambda: ended(metrics, "failed") == 1)
        await runner.stop()

    asyncio.run(live())
    result = store.document("first")
    assert result.state == "failed"
    assert "ended 3 times" in str(result.error)
    assert "correct a sentence" in str(result.error)
    store.close()


def test_only_documents_of_models_that_are_served_are_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    keep(store, "theirs", created=0.0, model="another")
    keep(store, "ours", created=1.0)

    async def scenario(store: MemoryStore, runner: JobRunner, work: Work) -> None:
        work.may_end.set()
        await until(lambda: store.document("ours").state == "done")
        assert work.begun == ["ours"]
        assert store.document("theirs").state == "queued"

    run(scenario, store, Metrics(), monkeypatch)


class Failing(MemoryStore):
    """Cannot be reached while `is_gone`."""

    is_gone = False

    def _find(self, document_id: str) -> Any:
        if self.is_gone:
            raise StoreError("gone")
        return super()._find(document_id)

    def claim(self, worker: str, lease_seconds: float, models: Collection[str]) -> Document | None:
        if self.is_gone:
            raise StoreError("gone")
        return super().claim(worker, lease_seconds, models)


@pytest.mark.parametrize("how", ["the store fails", "the lease ran out", "the store fails when it is given back"])
def test_an_outage_of_the_store_is_no_death(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is gone while a document is worked on, the document does not fail."""
    store, metrics = Failing(), Metrics()
    keep(store, num_sentences=1)

    async def outage(lease: Lease, *_: object, **__: object) -> None:
        if how == "the lease ran out":
            raise LeaseLost("another process has it")
        store.is_gone = True
        raise EngineStopped if how == "the store fails when it is given back" else StoreError("gone")

    async def scenario() -> None:
        runner = JobRunner(store, StateReader(StateCache(0)), TRANSLATORS, 0.1, metrics)
        monkeypatch.setattr(runner_module, "translate_pending", outage)
        runner.start()

        def has_ended(times: int) -> bool:
            runner.wake()  # as soon as the lease is over
            return num_ended(metrics) >= times

        try:
            for number in range(1, 2 * MAX_ATTEMPTS + 2):
                await until(lambda number=number: has_ended(number))  # type: ignore[misc]
                store.is_gone = False
        finally:
            await runner.stop()
            store.is_gone = False

    asyncio.run(scenario())
    assert store.document("first").attempts <= 1
    assert store.document("first").state in ("queued", "running")


def num_ended(metrics: Metrics) -> float:
    return sum(ended(metrics, result) or 0 for result in ("lost", "released", "failed", "done"))
