"""A collector that receives traces by OTLP over HTTP."""

import contextlib
import gzip
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.server.api.conftest import until


@dataclass
class Collector:
    """`bodies` of all requests; with `rejects` every response is 503."""

    port: int = 0
    bodies: list[bytes] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    rejects: bool = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def received(self) -> list[ExportTraceServiceRequest]:
        return [ExportTraceServiceRequest.FromString(body) for body in tuple(self.bodies)]

    @property
    def spans(self) -> list[Span]:
        return [
            span
            for request in self.received
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def single(self, name: str) -> Span:
        """The only span of a name, as soon as it is received."""
        until(lambda: bool(self.named(name)), f"the span '{name}' was received")
        [span] = self.named(name)
        return span

    def children(self, parent: Span) -> dict[str, Span]:
        children = [span for span in self.spans if span.parent_span_id == parent.span_id]
        assert all(span.trace_id == parent.trace_id for span in children)
        return {span.name: span for span in children}


def attributes(span: Span) -> dict[str, str | int]:
    return {item.key: item.value.string_value or item.value.int_value for item in span.attributes}


@contextlib.contextmanager
def collecting(rejects: bool = False) -> Iterator[Collector]:
    """A listening collector."""
    collector = Collector(rejects=rejects)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            zipped = self.headers.get("Content-Encoding") == "gzip"
            collector.paths.add(self.path)
            collector.bodies.append(gzip.decompress(body) if zipped else body)
            self.send_response(503 if collector.rejects else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
