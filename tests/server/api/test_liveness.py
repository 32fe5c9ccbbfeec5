"""/livez: red when a worker or the event loop stops answering, green whatever else is wrong with a request."""

import threading
import time
from pathlib import Path

import httpx
import pytest

from server.engine import worker as worker_module
from server.engine.engine import Engine
from tests.server.api.conftest import ready, settings_for, until


def test_an_engine_that_hangs_is_not_alive(tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()
    with ready(settings_for(tiny_artifact, drain_timeout=0.2)) as server, server.client() as client:
        step = Engine.step

        def hanging(engine: Engine) -> None:
            assert goes_on.wait(60)
            step(engine)

        monkeypatch.setattr(worker_module, "STUCK_AFTER", 1.0)
        assert client.get("/livez").status_code == 200
        monkeypatch.setattr(Engine, "step", hanging)
        body = {"text": "We walk home.", "source": "en", "target": "de"}
        sent = threading.Thread(target=lambda: httpx.post(f"{server.url}/v1/translate", json=body, timeout=60))
        sent.start()
        until(lambda: client.get("/livez").status_code == 503, "the server says that it is not alive")
        answer = client.get("/livez").json()["error"]["message"]
        assert "the engine of model 'tiny' does not answer" in answer
        assert client.get("/readyz").status_code == 503
        assert server.metric("ready", model="tiny") == 0
        goes_on.set()
        sent.join(60)
        until(lambda: client.get("/livez").status_code == 200, "it lives again")
        assert server.metric("ready", model="tiny") == 1


def test_an_idle_engine_is_alive(tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "STUCK_AFTER", 3 * worker_module.IDLE_WAIT)
    with ready(settings_for(tiny_artifact)) as server, server.client() as client:
        until_then = time.monotonic() + 4 * worker_module.IDLE_WAIT
        while time.monotonic() < until_then:
            assert client.get("/livez").status_code == 200


def test_a_loop_that_is_blocked_answers_no_probe(tiny_artifact: Path) -> None:
    """Nothing but the loop answers /livez: a probe that times out is a red one."""
    goes_on = threading.Event()
    with ready(settings_for(tiny_artifact)) as server:
        [loop] = {id(s.get_loop()): s.get_loop() for s in server.uvicorn.servers}.values()
        loop.call_soon_threadsafe(goes_on.wait, 60)
        with pytest.raises(httpx.TimeoutException):
            httpx.get(f"{server.url}/livez", timeout=0.5)
        goes_on.set()
        assert httpx.get(f"{server.url}/livez", timeout=60).status_code == 200
