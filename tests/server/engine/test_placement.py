"""Which engine takes the sentences of short requests."""

import threading

from hypothesis import given
from hypothesis import strategies as st

from server.engine.idle_workers import IdleWorkers
from server.engine.placement import MIN_PART_TOKENS, tokens_to_take

ENGINES = st.lists(st.integers(0, 8), min_size=1, max_size=5)
"""Unfinished sentences of every engine."""
TOKENS = st.integers(1, 256)


@given(tokens=TOKENS, engines=ENGINES, data=st.data())
def test_some_engine_takes_what_waits(tokens: int, engines: list[int], data: st.DataObject) -> None:
    """Whoever sleeps: one that is awake takes something, or one that sleeps does when it is woken."""
    sleeping = [not own and data.draw(st.booleans()) for own in engines]
    taken = [
        tokens_to_take(tokens, own, sum(engines), len(engines), sum(sleeping) - sleeps)
        for own, sleeps in zip(engines, sleeping, strict=True)
    ]
    assert all(0 <= share <= tokens for share in taken)
    assert any(taken)
    assert all(share for share, own in zip(taken, engines, strict=True) if not own)


@given(tokens=TOKENS, engines=ENGINES)
def test_sentences_wait_only_for_those_of_an_engine_with_no_more_than_the_average(
    tokens: int, engines: list[int]
) -> None:
    total = sum(engines)
    for own in engines:
        if own * len(engines) > total > own:
            assert tokens_to_take(tokens, own, total, len(engines), 0) == 0
        if own and total > own:
            assert tokens_to_take(tokens, own, total, len(engines), 1) == 0


@given(tokens=TOKENS, count=st.integers(1, 5))
def test_idle_engines_get_parts_that_are_worth_their_steps(tokens: int, count: int) -> None:
    left, in_flight = tokens, 0
    parts = list[int]()
    while left:
        share = tokens_to_take(left, 0, in_flight, count, count - len(parts) - 1)
        parts.append(min(share, left))
        left -= parts[-1]
        in_flight += 1
    assert len(parts) <= count
    assert len(parts) == 1 or min(parts) >= MIN_PART_TOKENS
    assert max(parts) - min(parts) <= 1 or len(parts) < count


def test_a_worker_counts_as_idle_until_it_runs() -> None:
    """One that was woken takes what waits sooner than others end what they have."""
    lock = threading.Lock()
    workers, runs = IdleWorkers(lock), threading.Event()

    def wait() -> None:
        with lock:
            workers.wait(10)
        runs.set()

    thread = threading.Thread(target=wait)
    thread.start()
    while True:
        with lock:
            if len(workers):
                workers.wake(1)
                assert len(workers) == 1
                workers.wake(1)
                break
    assert runs.wait(10)
    thread.join()
    with lock:
        assert len(workers) == 0
