"""Characters that keys use, on several servers and one store that fails now and then."""

import sys
import threading
from collections import Counter as Counting
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.keys.record import KeyLimits
from server.keys.usage import CharacterUsage, Charge, Periods, QuotaReached
from server.stores.interface import StoreError
from server.stores.memory import MemoryStore
from server.stores.usage import Counter, UsageStore

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()
DAY = 86400
LIMITS = KeyLimits(chars_per_day=100, chars_per_month=250)


@dataclass
class Failing:
    """A store that fails before or after its next write, or when it is read."""

    store: UsageStore = field(default_factory=lambda: MemoryStore().usage)
    fails: str = ""

    def add(self, writer: str, batch: int, counts: Mapping[Counter, int]) -> None:
        self._fail("before")
        self.store.add(writer, batch, counts)
        self._fail("after")

    def version(self) -> str:
        return self.store.version()

    def read(self, periods: tuple[str, ...]) -> dict[Counter, int]:
        self._fail("read")
        return self.store.read(periods)

    def forget(self, before_day: str, before_month: str) -> None:
        self.store.forget(before_day, before_month)

    def _fail(self, where: str) -> None:
        if self.fails == where:
            raise StoreError("it fails")


def sync(usage: CharacterUsage, store: Failing, fails: str = "") -> None:
    store.fails = fails
    try:
        usage.sync(store)
    except StoreError:
        assert fails
    store.fails = ""


replica, owner = st.integers(0, 1), st.sampled_from(["shop", "desk"])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("charge"), replica, owner, st.integers(0, 60)),
        st.tuples(st.just("refund"), st.integers(0, 2)),
        st.tuples(st.just("sync"), replica, st.sampled_from(["", "before", "after", "read"])),
        st.tuples(st.just("wait"), st.sampled_from([1, 6 * 3600, DAY])),
    ),
    max_size=40,
)


@settings(max_examples=80, deadline=None)
@given(done=steps)
def test_the_store_has_the_characters_that_were_accepted_and_not_taken_back(done: list[tuple[object, ...]]) -> None:
    now, store = [NOON], Failing()
    servers = [CharacterUsage(lambda: now[0]) for _ in range(2)]
    charges: list[tuple[CharacterUsage, Charge]] = []
    expected: Counting[Counter] = Counting()
    for step in done:
        match step:
            case ("charge", int(at), str(name), int(number)):
                try:
                    charge = servers[at].charge(name, LIMITS, number)
                except QuotaReached:
                    used = servers[at].used(name)
                    assert used.day + number > 100 or used.month + number > 250
                    continue
                charges.append((servers[at], charge))
                expected.update(dict.fromkeys(charge.counters, number))
            case ("refund", int(at)) if at < len(charges):
                server, charge = charges[at]
                if not charge.is_refunded:
                    expected.subtract(dict.fromkeys(charge.counters, charge.num_chars))
                server.refund(charge)
            case ("sync", int(at), str(fails)):
                sync(servers[at], store, fails)
            case ("wait", int(seconds)):
                now[0] += seconds
        counts = store.read(tuple({counter.period for counter in expected}))
        assert all(number > 0 for number in counts.values())
    for server in servers * 3:  # what failed, what came after it, and what others did meanwhile
        sync(server, store)
    left = {counter: number for counter, number in expected.items() if number}
    assert store.read(tuple({counter.period for counter in expected})) == left
    for server in servers:
        for name in ("shop", "desk"):
            assert server.used(name) == tuple(expected[Counter(name, period)] for period in Periods.at(now[0]))


@settings(max_examples=40, deadline=None)
@given(numbers=st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=20))
def test_one_server_uses_a_quota_up_and_never_more(numbers: list[tuple[int, bool]]) -> None:
    store, usage, accepted = Failing(), CharacterUsage(lambda: NOON), 0
    for number, syncs in numbers:
        try:
            usage.charge("shop", LIMITS, number)
            accepted += number
        except QuotaReached:
            assert accepted + number > 100
        if syncs:
            sync(usage, store)
    assert accepted <= 100
    assert usage.used("shop") == (accepted, accepted)


def test_two_servers_exceed_a_quota_by_what_they_have_not_told_each_other() -> None:
    store, servers = Failing(), [CharacterUsage(lambda: NOON) for _ in range(2)]
    for server in servers:
        server.charge("shop", LIMITS, 100)
    for server in servers * 2:
        sync(server, store)
    for server in servers:
        assert server.used("shop").day == 200
        with pytest.raises(QuotaReached, match=r"100 characters a day .* has used 200; this request has 1"):
            server.charge("shop", LIMITS, 1)


def test_a_quota_is_that_of_a_day_or_a_month() -> None:
    now = [NOON]
    usage = CharacterUsage(lambda: now[0])
    for day in range(3):  # the last of November, then December
        usage.charge("shop", LIMITS, 90)
        with pytest.raises(QuotaReached, match="a day") as refused:
            usage.charge("shop", LIMITS, 20)
        assert refused.value.seconds == DAY // 2
        now[0] += DAY
        assert usage.used("shop") == (0, 90 * day)
    usage.charge("shop", LIMITS, 70)
    with pytest.raises(QuotaReached, match="250 characters a month") as refused:
        usage.charge("shop", LIMITS, 1)
    assert refused.value.seconds == 28 * DAY + DAY // 2
    usage.charge("desk", KeyLimits(), 10**9)
    usage.charge("shop", LIMITS, 0)


def test_threads_lose_nothing_while_another_syncs() -> None:
    store, usage, stopping = Failing(), CharacterUsage(lambda: NOON), threading.Event()

    def charge() -> None:
        for _ in range(2000):
            usage.refund(usage.charge("shop", KeyLimits(), 2))
            usage.charge("shop", KeyLimits(), 1)

    def sync_on() -> None:
        while not stopping.is_set():
            sync(usage, store)

    syncing, charging = threading.Thread(target=sync_on), [threading.Thread(target=charge) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in (syncing, *charging):
            thread.start()
        for thread in charging:
            thread.join()
        stopping.set()
        syncing.join()
    finally:
        sys.setswitchinterval(interval)
    sync(usage, store)
    assert store.read(("2026-11-30",)) == {Counter("shop", "2026-11-30"): 4000}


def test_old_counters_are_forgotten_once_a_day() -> None:
    now, store = [NOON], Failing()
    usage = CharacterUsage(lambda: now[0])
    old = {Counter("shop", "2026-09-28"): 1, Counter("shop", "2024-09"): 1}
    kept = {Counter("shop", "2026-09-29"): 1, Counter("shop", "2024-10"): 1}
    store.store.add("other", 1, old | kept)
    sync(usage, store)
    assert store.read(tuple(counter.period for counter in old | kept)) == kept
