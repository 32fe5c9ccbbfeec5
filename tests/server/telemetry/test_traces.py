"""A server process that sends traces to a collector, as OpenTelemetry's variables tell it to."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from server.telemetry.collector import open_tracing
from tests.server.api.conftest import PATIENCE, until
from tests.server.api.documents import Documents
from tests.server.collector import Collector, attributes, collecting
from tests.server.processes import ROOT, Served, serving

SECRET = "Zwiebelkuchen"
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SOON = {"OTEL_BSP_SCHEDULE_DELAY": "50"}
ENDED = 0
"""The status of a server that has answered all."""


@contextlib.contextmanager
def traced(
    artifact: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch, *flags: str, **environment: str
) -> Iterator[Served]:
    """A server that sends its traces to the collector."""
    for name, value in {**SOON, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, **environment}.items():
        monkeypatch.setenv(name, value)
    with serving(artifact, *flags) as served:
        yield served


def ask(served: Served, text: object, **headers: str) -> httpx.Response:
    body = {"text": text, "source": "en", "target": "de", "max_length": 4}
    return httpx.post(f"{served.url}/v1/translate", json=body, headers=headers, timeout=PATIENCE)


def test_a_request_is_traced_with_its_stages(document_artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector, traced(document_artifact, collector, monkeypatch) as served:
        parent = f"00-{TRACE}-{PARENT}-01"
        answer = ask(served, ["We walk home. It rains.", "Yes."], traceparent=parent, **{"X-Request-ID": "from-afar"})
        assert answer.status_code == 200
        request = collector.single("POST /v1/translate")
        assert (request.trace_id.hex(), request.parent_span_id.hex()) == (TRACE, PARENT)
        assert attributes(request) == {
            "http.request.method": "POST",
            "http.route": "/v1/translate",
            "http.response.status_code": 200,
            "ringmt.request_id": "from-afar",
            "ringmt.model": answer.json()["model"],
        }
        stages = collector.children(request)
        assert set(stages) == {"queue", "encode", "decode", "detokenize"}
        assert attributes(stages["decode"]) == {"ringmt.sentences": 3}
        at = request.start_time_unix_nano
        for stage in (stages[name] for name in ("queue", "encode", "decode", "detokenize")):
            assert at <= stage.start_time_unix_nano <= stage.end_time_unix_nano <= request.end_time_unix_nano
            at = stage.start_time_unix_nano
        assert stages["detokenize"].start_time_unix_nano >= stages["decode"].end_time_unix_nano
        [resource] = {str(span.resource) for batch in collector.received for span in batch.resource_spans}
        assert 'string_value: "ringmt"' in resource
        assert collector.paths == {"/v1/traces"}


def test_streams_scores_and_errors_are_requests_too(tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        collecting() as collector,
        traced(tiny_artifact, collector, monkeypatch, OTEL_SERVICE_NAME="translations") as served,
        served.client() as client,
    ):
        pair = {"source": "en", "target": "de"}
        assert "event: answer" in client.post("/v1/translate", json={"text": "Yes.", "stream": True, **pair}).text
        streamed = collector.single("POST /v1/translate")
        assert set(collector.children(streamed)) == {"queue", "encode", "decode", "detokenize"}
        scored = client.post("/v1/score", json={"items": {"source": "Yes.", "target": "Ja."}, **pair})
        assert scored.status_code == 200
        assert set(collector.children(collector.single("POST /v1/score"))) == {"queue", "encode", "decode"}
        assert client.get("/v1/documents/nobody").status_code == 404
        assert attributes(collector.single("GET /v1/documents/{document_id}"))["http.response.status_code"] == 404
        assert client.get("/livez").status_code == client.get("/metrics").status_code == 200
        assert client.get("/nowhere").status_code == 404
        collector.single("GET other")
        assert [span.name for span in collector.spans if "/livez" in span.name or "/metrics" in span.name] == []
        assert 'string_value: "translations"' in str(collector.received[0])


def test_a_document_job_is_traced(document_artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        collecting() as collector,
        traced(document_artifact, collector, monkeypatch) as served,
        served.client() as client,
    ):
        made = Documents(client).post(sentences=["We walk home.", "It rains."], max_length=4)
        work = collector.single("document")
        labels = attributes(work)
        assert (labels["ringmt.document_id"], labels["ringmt.result"]) == (made["id"], "done")
        until(lambda: "detokenize" in collector.children(work), "all of its stages have come")
        assert set(collector.children(work)) == {"context", "queue", "encode", "decode", "detokenize"}
        assert not work.parent_span_id


def test_no_text_is_sent_and_no_library_sends_its_own_spans(
    tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts in bodies, in queries and in paths; of requests that are answered and of those that are not."""
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    with (
        collecting() as collector,
        traced(tiny_artifact, collector, monkeypatch) as served,
        served.client() as client,
    ):
        parameters = {"q": SECRET, "source": "en", "target": "de"}
        assert ask(served, SECRET).status_code == 200
        assert (
            ask(served, SECRET, traceparent=SECRET, tracestate=f"a={SECRET}", baggage=f"a={SECRET}").status_code == 200
        )
        assert client.post("/translate", params=parameters).status_code == 200
        assert client.post("/v1/translate", json={"text": SECRET, SECRET: 1}).status_code == 422
        assert client.get(f"/{SECRET}", params=parameters).status_code == 404
        assert Documents(client).post(sentences=[SECRET], max_length=4)["state"] == "done"
        until(lambda: len(collector.named("POST /v1/translate")) == 3, "all requests have come")
        collector.single("GET other")
        collector.single("document")
        served.process.send_signal(signal.SIGTERM)
        _, log = served.process.communicate(timeout=PATIENCE)
        assert served.process.returncode == ENDED
        sent = b"".join(collector.bodies)
        assert SECRET.encode() not in sent
        assert b"opentelemetry" in sent, "the SDK names itself: the bodies can be read"
        assert SECRET not in log
        batches = [resource for batch in collector.received for resource in batch.resource_spans]
        assert {scope.scope.name for resource in batches for scope in resource.scope_spans} == {"ringmt"}
        assert collector.paths == {"/v1/traces"}


def test_an_unsampled_trace_is_not_sent(tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector, traced(tiny_artifact, collector, monkeypatch) as served:
        assert ask(served, "Yes.", traceparent=f"00-{TRACE}-{PARENT}-00").status_code == 200
        assert ask(served, "Yes.", traceparent=f"00-{TRACE[::-1]}-{PARENT}-01").status_code == 200
        request = collector.single("POST /v1/translate")
        assert request.trace_id.hex() == TRACE[::-1]
        assert {span.trace_id for span in collector.spans} == {request.trace_id}


@pytest.mark.parametrize("is_listening", [True, False])
def test_a_collector_that_rejects_spans_has_no_effect_on_requests(
    tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch, is_listening: bool
) -> None:
    with collecting(rejects=True) as collector:
        rejecting = Collector(port=collector.port if is_listening else 9)
        with traced(tiny_artifact, rejecting, monkeypatch) as served:
            assert [ask(served, "Yes.").status_code for _ in range(20)] == [200] * 20
            served.process.send_signal(signal.SIGTERM)
            _, log = served.process.communicate(timeout=PATIENCE)
            assert served.process.returncode == ENDED
            assert "all that was in flight was answered" in log


def test_the_last_spans_are_sent_when_the_server_stops(tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        collecting() as collector,
        traced(tiny_artifact, collector, monkeypatch, OTEL_BSP_SCHEDULE_DELAY="3600000") as served,
    ):
        assert ask(served, "Yes.").status_code == 200
        assert collector.spans == []
        served.process.send_signal(signal.SIGTERM)
        served.process.communicate(timeout=PATIENCE)
        assert len(collector.named("POST /v1/translate")) == 1


OFF: list[dict[str, str]] = [
    {},
    {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
    {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "True"},
    {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"},
    {"OTEL_SERVICE_NAME": "ringmt"},
]


@pytest.mark.parametrize("environ", OFF)
def test_without_a_collector_there_are_no_traces(environ: dict[str, str]) -> None:
    assert open_tracing(environ) is None


def test_without_a_collector_nothing_is_even_imported() -> None:
    """In one process, since the imports take seconds: what one environment imports, the check after it finds."""
    code = (
        "import sys, server.cli.serve\n"
        "from server.telemetry.collector import open_tracing\n"
        "unwanted = {'opentelemetry.sdk', 'opentelemetry.exporter', 'requests', 'server.telemetry.otlp'}\n"
        f"for environ in {OFF!r}:\n"
        "    assert open_tracing(environ) is None\n"
        "    assert not unwanted & set(sys.modules), environ\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_an_unsupported_protocol_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("WARNING", logger="ringmt")  # whatever a server of this process has set
    named = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    assert open_tracing({**named, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}) is None
    assert "otlp over http/protobuf only, not otlp over grpc" in caplog.text
    assert open_tracing({**named, "OTEL_TRACES_EXPORTER": "zipkin"}) is None
    assert "not zipkin over http/protobuf" in caplog.text


def test_missing_packages_are_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("WARNING", logger="ringmt")
    monkeypatch.delitem(sys.modules, "server.telemetry.otlp", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    assert open_tracing({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}) is None
    assert "pip install 'ringmt[otel]'" in caplog.text
