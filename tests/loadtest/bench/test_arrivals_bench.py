"""`ringmt bench arrivals`: the requests of the load, without HTTP."""

import functools
import gc
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from export.commands import EXAMPLES, lines
from loadtest.bench import arrivals_bench
from loadtest.bench.arrivals_bench import Sources, arrival_rows, replay
from loadtest.bench.load_bench import LoadPlan
from loadtest.bench.report import Row
from loadtest.open_loop import arrivals
from server.engine.request import EngineStopped
from tests.models import lively_model, tiny_config, write_artifact


def test_both_translate_the_same_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frozen, measure = list[int](), arrivals_bench.rows_of_rate

    def watched(*of_rate: Any) -> list[Row]:
        frozen.append(gc.get_freeze_count())
        return measure(*of_rate)

    monkeypatch.setattr(arrivals_bench, "rows_of_rate", watched)
    artifact = write_artifact(lively_model(tiny_config(max_length=256)), tmp_path, graphs=(("onnx", "int8"),))
    before = sys.getswitchinterval()
    rows = arrival_rows(tmp_path / "tiny-checkpoint", artifact, list(lines(EXAMPLES)), LoadPlan((4, 8), 1.0, 2))
    assert sys.getswitchinterval() == before
    assert min(frozen) > 1000, "a full collection examines all objects while a request waits"
    assert gc.get_freeze_count() == 0
    kinds = ("p50", "p95", "p99", "processor time of a request")
    assert [row.name for row in rows] == [f"{rate} requests/s: {kind}" for rate in (4, 8) for kind in kinds]
    for row in rows:
        assert row.peer is not None
        assert 0 < row.ours < 60_000 > row.peer > 0
        assert row.unit == "ms"


class Delayed:
    """Ends each request `seconds` after it is given, by a second future; with `error`, if there is one."""

    def __init__(self, seconds: float, error: Exception | None = None) -> None:
        self.given: list[Sources] = []
        self._seconds, self._error = seconds, error

    def translate(self, sources: Sources) -> list[Future[None]]:
        self.given.append(sources)
        first, second = Future[None](), Future[None]()
        first.set_result(None)
        end = functools.partial(second.set_exception, self._error) if self._error else lambda: second.set_result(None)
        threading.Timer(self._seconds, end).start()
        return [first, second]


def test_requests_are_given_at_their_times_whatever_earlier_ones_take() -> None:
    sources: Sources = [(5, 3), (6, 3), (5, 3)]
    expected = arrivals(40, 1.0, 2, ["0", "1", "2"])
    assert len(expected) > 20
    delayed = Delayed(0.1)
    level = replay(delayed, sources, 40, 1.0, 2)
    assert delayed.given == [[sources[int(text)] for text in arrival.texts] for arrival in expected]
    assert level.sent == level.answered == len(expected)
    assert level.p50 >= 0.1, "the last sentence counts"
    assert level.p50 < 0.5, "nobody waits for an earlier request: half of them would take a second"


def test_a_request_that_fails_is_no_fast_one() -> None:
    with pytest.raises(EngineStopped):
        replay(Delayed(0, EngineStopped("it is gone")), [(5, 3)], 40, 0.2, 2)
