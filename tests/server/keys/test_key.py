"""What a key lets in."""

import pytest

from server.keys.key import Key, LimitReached, Traffic
from server.keys.record import KeyLimits, KeyRecord, Secret


def key(**limits: float) -> tuple[Key, list[float]]:
    """A key with limits, and the clock that it reads."""
    now = [0.0]
    record = KeyRecord("a", frozenset({"translate"}), (Secret("0" * 64),), KeyLimits(**limits))  # type: ignore[arg-type]
    return Key(record, traffic=Traffic(lambda: now[0])), now


def test_concurrency_counts_what_is_in_work() -> None:
    limited, _ = key(concurrency=2)
    limited.enter()
    limited.enter()
    with pytest.raises(LimitReached, match="2 requests in work"):
        limited.enter()
    assert limited.in_work == 2
    limited.release()
    limited.enter()


def test_a_rate_allows_a_burst_and_then_one_at_a_time() -> None:
    limited, now = key(rate=5.0)
    for _ in range(10):
        limited.enter()
    with pytest.raises(LimitReached) as refused:
        limited.enter()
    assert refused.value.seconds == 1
    now[0] += 0.2
    limited.enter()
    with pytest.raises(LimitReached):
        limited.enter()
    now[0] += 1000
    for _ in range(10):
        limited.enter()
    with pytest.raises(LimitReached):
        limited.enter()


def test_a_slow_rate_says_when_to_come_back() -> None:
    limited, _ = key(rate=0.1)
    limited.enter()
    with pytest.raises(LimitReached) as refused:
        limited.enter()
    assert refused.value.seconds == 10


def refused_for(limited: Key) -> float:
    """Send requests until one is refused: the seconds after which it may be sent again."""
    while True:
        try:
            limited.enter()
        except LimitReached as limit:
            return limit.seconds


@pytest.mark.parametrize("rate", [0.01, 0.3, 1.0, 2.5, 40.0])
def test_a_client_that_waits_for_retry_after_is_admitted(rate: float) -> None:
    """And who waits a second less is not, where that is more than a second."""
    limited, now = key(rate=rate)
    for _ in range(3):
        seconds = refused_for(limited)
        if seconds > 1:
            now[0] += seconds - 1
            with pytest.raises(LimitReached):
                limited.enter()
            now[0] += 1
        else:
            now[0] += seconds
        limited.enter()
