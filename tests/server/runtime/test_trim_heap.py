"""Full garbage collections: not while work is in flight, and not never."""

import gc
import json
import subprocess
import sys
import weakref

import pytest

from server.runtime.trim_heap import DUE_AFTER, OVERDUE_AFTER, FullCollections, collect


class Knot:
    """Refers to itself: only a collection frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many collections of the middle generation there were, as the collector tells it."""
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
def test_what_cycles_hold_is_freed_when_it_is_due(rounds: list[int], count: int, is_idle: bool, is_freed: bool) -> None:
    knot = Knot()
    kept = weakref.ref(knot)
    del knot
    rounds[0] = count
    FullCollections(lambda: is_idle).collect_if_due()
    assert (kept() is None) == is_freed


def test_what_is_left_is_looked_at_by_no_later_collection() -> None:
    collect()
    try:
        assert gc.get_freeze_count() > 10_000
        assert len(gc.get_objects()) < gc.get_freeze_count() / 10
    finally:
        gc.unfreeze()


def test_frozen_cycles_are_freed_by_the_next() -> None:
    knot = Knot()
    kept = weakref.ref(knot)
    collect()
    del knot
    gc.collect()
    assert kept() is not None
    collect()
    gc.unfreeze()
    assert kept() is None


PROGRAM = """
import gc, json, threading
from server.runtime.trim_heap import FullCollections
collections = {"full": 0, "younger": 0}

def count(phase, info):
    if phase == "start":
        collections["full" if info["generation"] == 2 else "younger"] += 1

gc.callbacks.append(count)
FullCollections(lambda: False).start()
kept = [[number] for number in range(1_000_000)]
print(json.dumps(collections))
"""


def test_none_is_in_the_midst_of_work() -> None:
    """A million objects that stay, as of a large request, would be looked at some times by default."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    collections = json.loads(done.stdout)
    assert collections["younger"] > 100
    assert collections["full"] == 0
    default = PROGRAM.replace("FullCollections(lambda: False).start()", "")
    done = subprocess.run([sys.executable, "-c", default], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["full"] > 0
