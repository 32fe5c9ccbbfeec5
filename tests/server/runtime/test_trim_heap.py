"""Full garbage collections run and free memory is returned at idle times, and not while work is in flight."""

import gc
import json
import subprocess
import sys
import weakref

import pytest

from server.runtime.trim_heap import DUE_AFTER, OVERDUE_AFTER, TRIM_AFTER, IdleCleanup, collect


class Cycle:
    """An object that refers to itself: only a collection frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def collections_before(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of middle-generation collections that the collector reports."""
    count = [0]
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, count[0]))
    gc.collect()
    return count


@pytest.mark.parametrize(
    ("count", "is_idle", "is_freed"),
    [
        (DUE_AFTER, True, True),
        (DUE_AFTER, False, False),
        (DUE_AFTER - 1, True, False),
        (OVERDUE_AFTER - 1, False, False),
        (OVERDUE_AFTER, False, True),
    ],
)
def test_cycles_are_freed_when_a_collection_is_due(
    collections_before: list[int], count: int, is_idle: bool, is_freed: bool
) -> None:
    cycle = Cycle()
    reference = weakref.ref(cycle)
    del cycle
    collections_before[0] = count
    IdleCleanup(lambda: is_idle).collect_if_due()
    assert (reference() is None) == is_freed


def test_frozen_objects_are_not_visited_by_later_collections() -> None:
    collect()
    try:
        assert gc.get_freeze_count() > 10_000
        assert len(gc.get_objects()) < gc.get_freeze_count() / 10
    finally:
        gc.unfreeze()


def test_frozen_cycles_are_freed_by_the_next_collection() -> None:
    cycle = Cycle()
    reference = weakref.ref(cycle)
    collect()
    del cycle
    gc.collect()
    assert reference() is not None
    collect()
    gc.unfreeze()
    assert reference() is None


PROGRAM = """
import gc, json, threading
from server.runtime.trim_heap import IdleCleanup
collections = {"full": 0, "younger": 0}

def count(phase, info):
    if phase == "start":
        collections["full" if info["generation"] == 2 else "younger"] += 1

gc.callbacks.append(count)
IdleCleanup(lambda: False).start()
kept = [[number] for number in range(1_000_000)]
print(json.dumps(collections))
"""


def test_no_full_collection_runs_during_work() -> None:
    """A million live objects, as of a large request, would be visited several times by default."""
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    collections = json.loads(result.stdout)
    assert collections["younger"] > 100
    assert collections["full"] == 0
    default = PROGRAM.replace("IdleCleanup(lambda: False).start()", "")
    result = subprocess.run([sys.executable, "-c", default], capture_output=True, text=True, check=True)
    assert json.loads(result.stdout)["full"] > 0


class Memory:
    """Resident bytes, as the system would report them."""

    def __init__(self) -> None:
        self.now, self.live, self.trims = 0, 0, 0

    def __call__(self) -> int:
        return self.now

    def trim(self) -> None:
        self.trims += 1
        self.now = self.live


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    memory = Memory()
    monkeypatch.setattr("server.runtime.trim_heap.trim_heap", memory.trim)
    return memory


def test_free_memory_is_returned_when_the_server_is_idle(memory: Memory) -> None:
    is_idle = False
    cleanup = IdleCleanup(lambda: is_idle, memory)
    memory.now = 3 * TRIM_AFTER
    cleanup.trim_if_grown()
    assert memory.trims == 0
    is_idle = True
    cleanup.trim_if_grown()
    assert (memory.trims, memory.now) == (1, 0)


def test_live_memory_is_not_trimmed_again_and_again(memory: Memory) -> None:
    cleanup = IdleCleanup(lambda: True, memory)
    memory.now = memory.live = 3 * TRIM_AFTER
    for _ in range(5):
        cleanup.trim_if_grown()
    assert memory.trims == 1
    memory.now += TRIM_AFTER - 1
    cleanup.trim_if_grown()
    assert memory.trims == 1
    memory.now += 1
    cleanup.trim_if_grown()
    assert memory.trims == 2


def test_growth_counts_from_the_least_memory_since_the_last_trim(memory: Memory) -> None:
    memory.now = memory.live = 10 * TRIM_AFTER
    cleanup = IdleCleanup(lambda: True, memory)
    memory.now = 2 * TRIM_AFTER  # a model was unloaded
    cleanup.trim_if_grown()
    memory.now = 3 * TRIM_AFTER
    cleanup.trim_if_grown()
    assert memory.trims == 1
