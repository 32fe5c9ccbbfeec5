"""Readiness, overload, deadlines, clients that hang up, draining."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from server.settings import EngineSettings
from tests.server.api.conftest import PATIENCE, RunningServer, running, settings_for, until

MANY_SENTENCES = "We walk home in the rain, and where is the station?\n" * 370


def test_not_ready_before_the_model_has_translated(tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from server.engine.worker import EngineWorker

    may_warm_up = threading.Event()
    warm_up = EngineWorker.warm_up

    def late_warm_up(worker: EngineWorker) -> None:
        assert may_warm_up.wait(60)
        warm_up(worker)

    monkeypatch.setattr(EngineWorker, "warm_up", late_warm_up)
    with running(settings_for(tiny_artifact)) as server, server.client() as client:
        try:
            response = client.get("/readyz")
            assert response.status_code == 503
            assert response.json()["error"]["type"] == "not_ready"
            assert "Retry-After" in response.headers
            assert client.get("/livez").status_code == 200
            assert server.translate("Yes.").status_code == 503
        finally:
            may_warm_up.set()
        until(lambda: client.get("/readyz").status_code == 200, "the server is ready")
        assert server.metric("ready", model="tiny") == 1
        assert server.metric("model_load_seconds", model="tiny") > 0


def test_a_broken_artifact_ends_the_server_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    with running(settings_for(tmp_path)) as server:
        until(lambda: server.state.failure is not None, "loading failed")
        assert str(tmp_path / "manifest.json") in str(server.state.why_not_alive)
        until(lambda: not server.thread.is_alive(), "the server ends")


def test_probes_and_lists(server: RunningServer) -> None:
    with server.client() as client:
        assert client.get("/livez").json() == {"status": "ok"}
        assert client.get("/readyz").json() == {"status": "ok"}
        languages = [{"source": "en", "targets": ["de"], "formality": ["de"]}]
        assert client.get("/v1/languages").json() == {"languages": languages}
        [model] = client.get("/v1/models").json()["models"]
        assert (model["name"], model["source"], model["target"]) == ("tiny", "en", "de")
        links = client.get("/").json()
        for name in ("models", "languages", "openapi", "ready", "metrics"):
            assert client.get(links[name]).status_code == 200


def hang_up_while_translating(server: RunningServer) -> None:
    """Send a long request, wait until it runs, close the connection."""
    body = httpx.Request("POST", server.url, json={"text": MANY_SENTENCES, "source": "en", "target": "de"}).content
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        head = "POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        until(lambda: server.sentences > 0, "the request is being worked on")


def test_a_client_that_hangs_up_frees_its_slots(server: RunningServer) -> None:
    labels = {"endpoint": "/v1/translate", "model": "tiny"}
    finished = server.metric("sentences_total", finish_reason="eos", model="tiny")
    before = server.state.metrics.registry.get_sample_value("ringmt_requests_total", {**labels, "code": "499"}) or 0
    hang_up_while_translating(server)
    until(lambda: server.sentences == 0, "every slot is free")
    until(lambda: server.metric("requests_total", **labels, code="499") == before + 1, "the request is counted")
    assert server.metric("sentences_total", finish_reason="eos", model="tiny") - finished < 370


def test_overload_is_refused_at_once(tiny_artifact: Path) -> None:
    engine = EngineSettings(
        slots=1, max_waiting=30, num_workers=1, precision="fp32", max_beam_size=4, translation_cache_bytes=0
    )
    with running(settings_for(tiny_artifact, engine)) as server, ThreadPoolExecutor(12) as pool:
        until(lambda: server.state.why_not_ready is None, "the model is loaded")
        responses = list(pool.map(lambda _: server.translate("We walk home in the rain.\n" * 20), range(12)))
        statuses = {response.status_code for response in responses}
        assert statuses == {200, 429}
        refused = next(response for response in responses if response.status_code == 429)
        assert int(refused.headers["Retry-After"]) >= 1
        assert refused.json()["error"]["type"] == "overloaded"
        assert server.metric("requests_rejected_total", reason="overloaded", model="tiny") >= 1
        assert server.translate("Yes.").status_code == 200


def test_a_deadline_answers_504_and_frees_the_slots(tiny_artifact: Path) -> None:
    with running(settings_for(tiny_artifact, request_timeout=0.05)) as server:
        until(lambda: server.state.why_not_ready is None, "the model is loaded")
        response = server.translate(MANY_SENTENCES)
        assert response.status_code == 504
        assert response.json()["error"]["type"] == "deadline_exceeded"
        until(lambda: server.sentences == 0, "every slot is free")


def test_draining_finishes_what_is_in_flight(tiny_artifact: Path) -> None:
    with ThreadPoolExecutor(1) as pool, running(settings_for(tiny_artifact, drain_timeout=60)) as server:
        until(lambda: server.state.why_not_ready is None, "the model is loaded")
        with server.client() as client:
            assert client.get("/readyz").status_code == 200
            answer = pool.submit(server.translate, MANY_SENTENCES[:5_000])
            until(lambda: server.sentences > 0, "the request is being worked on")
            server.state.drain.begin()
            refused = client.post("/v1/translate", json={"text": "Yes.", "source": "en", "target": "de"})
            assert refused.status_code == 503
            assert "draining" in refused.json()["error"]["message"]
            server.uvicorn.should_exit = True
        assert answer.result(60).status_code == 200
