"""Requests and characters that several processes count together are counted as by one process."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.keys.key import CountedTraffic, LimitReached, Traffic
from server.keys.record import KeyLimits
from server.keys.shared_traffic import SharedTraffic, SharedUsage, forget_work, new_traffic
from server.keys.usage import CharacterUsage, Charge, QuotaReached
from server.stores.memory import MemoryStore
from tests.server.keys.shared import rows_of
from tests.server.keys.test_usage import DAY, LIMITS, NOON, Failing, sync

NUM = 3
processes = st.integers(0, NUM - 1)
in_a_folder = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def entered(traffic: CountedTraffic, limits: KeyLimits) -> float | str:
    try:
        traffic.enter(limits, is_work=True)
    except LimitReached as reached:
        return f"{reached} {reached.seconds:g}"
    return 0.0


requests = st.tuples(st.just("enter"), processes, st.sampled_from([KeyLimits(), KeyLimits(concurrency=2, rate=0.5)]))
releases, waits = st.tuples(st.just("release"), processes), st.tuples(st.just("wait"), st.integers(0, 10))
steps = st.lists(st.one_of(requests, releases, waits))


@in_a_folder
@given(steps=steps)
def test_requests_are_counted_as_by_one_process(tmp_path: Path, steps: list[tuple[object, ...]]) -> None:
    now = [0.0]
    rows = rows_of(NUM, tmp_path)
    with rows[0].locked():
        row = rows[0].find("shop")
    assert row is not None
    shared = [SharedTraffic(rows[slot], row, slot, lambda: now[0]) for slot in range(NUM)]
    alone, held = Traffic(lambda: now[0]), [0] * NUM
    for step in steps:
        match step:
            case ("enter", int(slot), KeyLimits() as limits):
                expected = entered(alone, limits)
                assert entered(shared[slot], limits) == expected
                held[slot] += expected == 0.0
            case ("release", int(slot)) if held[slot]:
                shared[slot].release()
                alone.release()
                held[slot] -= 1
            case ("wait", int(halves)):
                now[0] += halves / 2
        assert [traffic.in_work for traffic in shared] == [alone.in_work] * NUM


def test_a_process_that_ends_has_nothing_in_work(tmp_path: Path) -> None:
    rows = rows_of(2, tmp_path)
    make = [new_traffic(rows[slot], slot) for slot in range(2)]
    first, second = make[0]("shop"), make[1]("shop")
    for _ in range(3):
        first.enter(KeyLimits(), True)
    second.enter(KeyLimits(), True)
    assert first.in_work == second.in_work == 4
    forget_work(rows[1], 0)
    assert second.in_work == 1


def test_names_have_rows_of_their_own_until_there_are_no_more(tmp_path: Path) -> None:
    rows = rows_of(2, tmp_path, num_rows=2)
    make = [new_traffic(rows[slot], slot) for slot in range(2)]
    made = {name: [new(name) for new in make] for name in ("a", "b", "c")}
    for number, name in enumerate(made, 1):
        for _ in range(number):
            made[name][0].enter(KeyLimits(), True)
    assert [traffic.in_work for name in "ab" for traffic in made[name]] == [1, 1, 2, 2]
    assert [traffic.in_work for traffic in made["c"]] == [3, 0]  # each process counts by itself


def charged(usage: CharacterUsage, num_chars: int, limits: KeyLimits) -> tuple[Charge | None, str]:
    try:
        return usage.charge("shop", limits, num_chars), ""
    except QuotaReached as reached:
        return None, str(reached)


changes = st.lists(
    st.one_of(
        st.tuples(st.just("charge"), processes, st.integers(0, 60)),
        st.tuples(st.just("refund"), st.integers(0, 5)),
        st.tuples(st.just("sync"), processes, st.sampled_from(["", "", "before", "read"])),
        st.tuples(st.just("wait"), st.sampled_from([1.0, DAY / 2, 3 * DAY])),
    ),
    max_size=40,
)


@in_a_folder
@given(changes=changes)
def test_characters_are_counted_as_by_one_process(tmp_path: Path, changes: list[tuple[object, ...]]) -> None:
    """Whenever each of them reads the store, and even if that fails."""
    now, store = [NOON], Failing(MemoryStore().usage)
    rows = rows_of(NUM, tmp_path)
    clock: Callable[[], float] = lambda: now[0]  # noqa: E731
    shared = [CharacterUsage(clock, SharedUsage(rows[slot], slot, tmp_path / "sync.lock")) for slot in range(NUM)]
    for usage in shared:
        usage.sync(store)
    alone = CharacterUsage(clock)
    charges: list[tuple[CharacterUsage, Charge, Charge]] = []
    for change in changes:
        match change:
            case ("charge", int(slot), int(num_chars)):
                expected, reason = charged(alone, num_chars, LIMITS)
                charge, shown = charged(shared[slot], num_chars, LIMITS)
                assert shown == reason
                if charge is not None and expected is not None:
                    charges.append((shared[slot], charge, expected))
            case ("refund", int(number)) if number < len(charges):
                usage, charge, expected = charges.pop(number)
                usage.refund(charge)
                alone.refund(expected)
            case ("sync", int(slot), str(fails)):
                sync(shared[slot], store, fails)
            case ("wait", float(seconds)):
                now[0] += seconds
        assert [usage.used("shop") for usage in shared] == [alone.used("shop")] * NUM


def test_what_a_killed_process_had_not_stored_counts_no_more_and_what_it_had_counts_once(tmp_path: Path) -> None:
    store, rows = Failing(), rows_of(2, tmp_path)
    lock = tmp_path / "sync.lock"
    first, second = (CharacterUsage(lambda: NOON, SharedUsage(rows[slot], slot, lock)) for slot in range(2))
    for usage in (first, second):
        usage.sync(store)
    first.charge("shop", LIMITS, 10)
    first.sync(store)
    first.charge("shop", LIMITS, 5)
    assert second.used("shop").day == 15
    forget_work(rows[1], 0)
    assert second.used("shop").day == 10
    replaced = CharacterUsage(lambda: NOON, SharedUsage(rows[0], 0, lock))
    replaced.sync(store)
    replaced.charge("shop", LIMITS, 7)
    for _ in range(2):
        assert second.used("shop").day == replaced.used("shop").day == 17
        replaced.sync(store)
        second.sync(store)
    with pytest.raises(QuotaReached):
        second.charge("shop", LIMITS, 84)
