"""Sends traces to an OpenTelemetry collector, by OTLP over HTTP. Imported only if a collector is configured.

The environment variables are OpenTelemetry's: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER and
the rest. The provider is not made global: libraries would send their spans through it, with whole URLs.
"""

import logging
import threading
import time
from collections.abc import Mapping

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from server.telemetry.metrics import package_version
from server.telemetry.tracing import Attributes

CLOSE_SECONDS = 2.0
"""Seconds that a stopping server waits for the collector to receive the last spans."""

logger = logging.getLogger("ringmt")


class OtlpTracing:
    """A Tracing whose spans are sent by a thread, some seconds after they end. Spans that the collector rejects are
    dropped."""

    def __init__(self) -> None:
        """Reads the OTEL_ variables. Raises ValueError for one that cannot be used."""
        self._provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("ringmt", package_version())
        self._propagator = TraceContextTextMapPropagator()

    def request(self, headers: Mapping[str, str], started: float) -> "OtlpTrace":
        parent = self._propagator.extract(headers, Context())
        return OtlpTrace(self._tracer, trace.SpanKind.SERVER, parent, started)

    def work(self, started: float) -> "OtlpTrace":
        return OtlpTrace(self._tracer, trace.SpanKind.INTERNAL, Context(), started)

    def close(self) -> None:
        shutdown = threading.Thread(target=self._provider.shutdown, name="last-spans", daemon=True)
        shutdown.start()
        shutdown.join(CLOSE_SECONDS)
        if shutdown.is_alive():
            logger.warning("the collector of traces did not take the last spans within %g seconds", CLOSE_SECONDS)


class OtlpTrace:
    """A span, and a child of it for every stage."""

    def __init__(self, tracer: trace.Tracer, kind: trace.SpanKind, parent: Context, started: float) -> None:
        self._tracer = tracer
        self._epoch = time.time_ns() - time.monotonic_ns()
        """Nanoseconds from 1970 to time.monotonic() 0, so that setting the clock does not change spans."""
        self._span = tracer.start_span("unnamed", parent, kind, start_time=self._to_nanoseconds(started))
        self._context = trace.set_span_in_context(self._span, Context())

    def stage(self, name: str, started: float, ended: float, attributes: Attributes) -> None:
        if self._span.is_recording():
            span = self._tracer.start_span(
                name, self._context, attributes=attributes, start_time=self._to_nanoseconds(started)
            )
            span.end(self._to_nanoseconds(ended))

    def end(self, name: str, attributes: Attributes, failed: bool = False) -> None:
        self._span.update_name(name)
        self._span.set_attributes(attributes)
        if failed:
            self._span.set_status(trace.StatusCode.ERROR)
        self._span.end(self._to_nanoseconds(time.monotonic()))

    def _to_nanoseconds(self, moment: float) -> int:
        """Nanoseconds since 1970."""
        return self._epoch + int(moment * 1e9)


def _resource() -> Resource:
    """The resource of OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES; the default name of the service is `ringmt`."""
    resource = Resource.create({SERVICE_VERSION: package_version()})
    unnamed = str(resource.attributes[SERVICE_NAME]).startswith("unknown_service")
    return resource.merge(Resource({SERVICE_NAME: "ringmt"})) if unnamed else resource
