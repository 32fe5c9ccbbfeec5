"""The open loop: arrivals that do not wait, and how answers are counted."""

import asyncio
import http.server
import json
import math
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from loadtest import open_loop
from loadtest.open_loop import Arrival, Level, arrivals, highest_rate, level_of, main, offer
from server.settings import EngineSettings
from tests.server.api.conftest import ready, settings_for


def test_arrivals_are_poisson_and_the_same_for_the_same_seed() -> None:
    made = arrivals(50, 100, seed=3)
    assert made == arrivals(50, 100, seed=3)
    assert made != arrivals(50, 100, seed=4)
    assert abs(len(made) - 5000) < 5 * math.sqrt(5000)
    waits = [later.at - earlier.at for earlier, later in pairwise(made)]
    mean = sum(waits) / len(waits)
    spread = math.sqrt(sum((wait - mean) ** 2 for wait in waits) / len(waits))
    assert 0.9 < spread / mean < 1.1, "as wide as its mean: exponential"


def test_responses_are_counted_by_status() -> None:
    level = level_of(5, [200] * 98 + [429, 0], [i / 100 for i in range(98)], seconds=10)
    assert (level.sent, level.answered, level.refused, level.failed) == (100, 98, 1, 1)
    assert level.throughput == 9.8
    assert level.p50 == pytest.approx(0.485)
    assert math.isnan(level_of(5, [0], [], 1).p95)


def test_the_rate_that_is_held_is_the_last_before_one_is_missed() -> None:
    def level(rate: float, p95: float, refused: int = 0) -> Level:
        return Level(rate, 10, 10, refused, 0, rate, p95, p95, p95)

    assert highest_rate([level(1, 0.1), level(2, 0.4), level(4, 0.6), level(8, 0.1)], 0.5) == 2
    assert highest_rate([level(1, 0.1), level(2, 0.1, refused=1)], 0.5) == 1
    assert highest_rate([level(1, float("nan"))], 0.5) == 0


class Answering(http.server.BaseHTTPRequestHandler):
    """200 to everybody, at once."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Not on the screen."""


def test_a_latency_begins_when_the_request_was_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """However late this sender is: here by an hour with one request, and by none with two others."""
    hour = 3600.0
    monkeypatch.setattr(open_loop, "arrivals", lambda *args: [Arrival(at, ("Yes.",)) for at in (-hour, 0.0, 0.2)])
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            level = asyncio.run(offer(f"http://127.0.0.1:{server.server_port}", 1, 1, seed=1))
        finally:
            server.shutdown()
            thread.join()
    assert level.answered == 3
    assert level.p99 > 0.9 * hour
    assert level.p50 < hour / 2


def test_overload_is_refused_at_once_and_nothing_fails(tiny_artifact: Path) -> None:
    engine = EngineSettings(
        slots=1,
        max_waiting=8,
        num_workers=1,
        precision="fp32",
        shortlist="off",
        max_beam_size=4,
        translation_cache_bytes=0,
    )
    with ready(settings_for(tiny_artifact, engine)) as server:
        level = asyncio.run(offer(server.url, rate=150, seconds=1.0, seed=1))
        assert level.refused > 0
        assert level.answered > 0
        assert level.failed == 0
        assert level.sent == level.answered + level.refused


def test_the_command_reports_the_highest_rate(tiny_artifact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ready(settings_for(tiny_artifact)) as server:
        assert main([server.url, "--rates", "2", "--seconds", "1", "--objective", "60"]) == 0
        output = capsys.readouterr()
        assert json.loads(output.out)["failed"] == 0
        assert "held: 2 requests/s" in output.err
        assert main([server.url, "--rates", "2", "--seconds", "1", "--objective", "0.00001"]) == 1
