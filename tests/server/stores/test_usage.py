"""Counted characters in stores."""

import contextlib
import itertools
import subprocess
import sys
from collections import Counter as Counting
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.stores.interface import ContextStore
from server.stores.open_store import open_store
from server.stores.usage import Counter
from tests.children import child

ROOT = Path(__file__).parents[3]
DAY, MONTH = "2026-11-26", "2026-11"
PROCESSES, BATCHES = 2, 100
WRITER = """
import sys
from server.stores.open_store import open_store
from server.stores.usage import Counter
url, writer, batches = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = open_store(url)
print("ready", flush=True)
sys.stdin.read()
for batch in range(batches):
    for _ in range(2):  # as after an answer that was lost
        store.usage.add(writer, batch, {Counter("shop", "2026-11-26"): 1, Counter(writer, "2026-11"): batch})
"""


def test_several_processes_lose_no_increment(store_url: str) -> None:
    if store_url == "memory://":
        pytest.skip("of one process")
    command = [sys.executable, "-c", WRITER, store_url]
    with contextlib.ExitStack() as stack:
        writers = [
            stack.enter_context(
                child([*command, f"w{number}", str(BATCHES)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            )
            for number in range(PROCESSES)
        ]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.close()  # now they all begin
        assert [writer.wait(60) for writer in writers] == [0] * PROCESSES
    store = open_store(store_url)
    counts = store.usage.read((DAY, MONTH))
    store.close()
    own = {Counter(f"w{number}", MONTH): sum(range(BATCHES)) for number in range(PROCESSES)}
    assert counts == {Counter("shop", DAY): PROCESSES * BATCHES, **own}


RUNS = itertools.count()
counters = st.builds(Counter, st.sampled_from(["", "shop", "a:b"]), st.sampled_from([DAY, MONTH, "2026-12"]))
batches = st.lists(
    st.tuples(
        st.sampled_from(["x", "y"]), st.integers(0, 6), st.dictionaries(counters, st.integers(-9, 30), max_size=4)
    ),
    max_size=12,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=batches)
def test_counters_are_sums_of_batches_that_are_new_and_never_negative(
    store: ContextStore, written: list[tuple[str, int, dict[Counter, int]]]
) -> None:
    expected: Counting[Counter] = Counting()
    last: dict[str, int] = {}
    versions = {store.usage.version()}
    store.usage.forget("3000-01-01", "3000-01")
    run = next(RUNS)
    for writer, batch, counts in written:
        store.usage.add(f"{run}{writer}", batch, counts)
        if batch > last.get(writer, -1):
            last[writer] = batch
            assert store.usage.version() not in versions
            for counter, number in counts.items():
                expected[counter] = max(0, expected[counter] + number)
        versions.add(store.usage.version())
    assert store.usage.read((DAY, MONTH, "2026-12")) == {counter: n for counter, n in expected.items() if n}


def test_old_periods_are_forgotten_and_others_stay(store: ContextStore) -> None:
    kept = {Counter("a", "2026-11-02"): 1, Counter("a", "2026-10"): 2, Counter("b", "2026-11"): 3}
    old = {Counter("a", "2026-11-01"): 1, Counter("b", "2026-09"): 2}
    store.usage.add("w", 1, kept | old)
    periods = tuple({counter.period for counter in kept | old})
    assert store.usage.read(periods) == kept | old
    store.usage.forget("2026-11-02", "2026-10")
    assert store.usage.read(periods) == kept
    store.usage.add("w", 1, kept)
    assert store.usage.read(periods) == kept, "a writer that lives is remembered"
