"""`ringmt bench arrivals`: the requests of the load, without HTTP."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from export.commands import EXAMPLES, lines
from loadtest.bench.arrivals_bench import PEER_REQUESTS, Sources, arrival_rows, replay
from loadtest.bench.load_bench import LoadPlan
from loadtest.open_loop import arrivals
from tests.models import lively_model, tiny_config, write_artifact


def test_both_translate_the_same_requests(tmp_path: Path) -> None:
    artifact = write_artifact(lively_model(tiny_config(max_length=256)), tmp_path, graphs=(("onnx", "int8"),))
    before = sys.getswitchinterval()
    rows = arrival_rows(tmp_path / "tiny-checkpoint", artifact, list(lines(EXAMPLES)), LoadPlan((4, 8), 1.0, 2))
    assert sys.getswitchinterval() == before
    kinds = ("p50", "p95", "p99", "processor time of a request")
    assert [row.name for row in rows] == [f"{rate} requests/s: {kind}" for rate in (4, 8) for kind in kinds]
    for row in rows:
        assert row.peer is not None
        assert 0 < row.ours < 60_000 > row.peer > 0
        assert row.unit == "ms"


@pytest.mark.parametrize("delay", [0.0, 0.1])
def test_requests_are_given_at_their_times_whatever_earlier_ones_take(delay: float) -> None:
    given: list[Sources] = []
    timers = list[threading.Timer]()

    class Slow:
        def translate(self, sources: Sources, done: Callable[[], None]) -> None:
            given.append(sources)
            timers.append(threading.Timer(delay, done))
            timers[-1].start()

    sources = {"One.": (5, 3), "Two.": (6, 3)}
    expected = arrivals(40, 1.0, 2, list(sources))
    assert 5 < len(expected) < PEER_REQUESTS
    level = replay(Slow(), sources, 40, 1.0, 2)
    assert given == [[sources[text] for text in arrival.texts] for arrival in expected]
    assert level.sent == level.answered == len(expected)
    assert level.p50 >= delay
    assert level.p50 < delay + 0.1, "latencies count from the due time, and nobody waits for an earlier request"
    for timer in timers:
        timer.join()
