"""/livez: red when the event loop stops answering, green whatever else is wrong with a request or a model."""

import threading
import time
from pathlib import Path

import httpx
import pytest

from server.engine import worker as worker_module
from server.engine.engine_thread import IDLE_WAIT
from server.runtime.loop_lag import PERIOD_SECONDS, LoopLag
from tests.server.api.conftest import ready, settings_for


def test_an_idle_engine_is_alive(tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "STUCK_AFTER", 3 * IDLE_WAIT)
    with ready(settings_for(tiny_artifact)) as server, server.client() as client:
        until_then = time.monotonic() + 4 * IDLE_WAIT
        while time.monotonic() < until_then:
            assert client.get("/livez").status_code == 200


def test_a_loop_that_is_blocked_answers_no_probe(tiny_artifact: Path) -> None:
    """Nothing but the loop answers /livez: a probe that times out is a red one."""
    is_held, goes_on = threading.Event(), threading.Event()

    def hold() -> None:
        is_held.set()
        goes_on.wait(60)

    with ready(settings_for(tiny_artifact)) as server:
        [loop] = {id(s.get_loop()): s.get_loop() for s in server.uvicorn.servers}.values()
        loop.call_soon_threadsafe(hold)
        assert is_held.wait(60)
        with pytest.raises(httpx.TimeoutException):
            httpx.get(f"{server.url}/livez", timeout=0.5)
        goes_on.set()
        assert httpx.get(f"{server.url}/livez", timeout=60).status_code == 200


def test_the_lag_of_the_event_loop_is_measured(tiny_artifact: Path) -> None:
    held = 0.3
    with ready(settings_for(tiny_artifact)) as server, server.client() as client:
        [loop] = {id(s.get_loop()): s.get_loop() for s in server.uvicorn.servers}.values()
        loop.call_soon_threadsafe(time.sleep, held)
        assert client.get("/livez").status_code == 200
        assert 'ringmt_event_loop_lag_seconds{model=""}' in client.get("/metrics").text
        # The timer was due at most a period after the loop was taken.
        assert server.metric("event_loop_lag_seconds", model="") >= held - 2 * PERIOD_SECONDS


def test_a_lag_is_forgotten_after_two_windows() -> None:
    lag = LoopLag()
    began, delays = lag._window_start, []
    for moment, late in ((1.0, 0.9), (29.0, 0.0), (31.0, 0.0), (59.0, 0.2), (62.0, 0.0), (95.0, 0.0), (130.0, 0.0)):
        lag._due = began + moment - late
        lag._record(began + moment)
        delays.append(round(max(lag._longest, lag._previous_longest), 3))
    assert delays == [0.9, 0.9, 0.9, 0.9, 0.2, 0.0, 0.0]
