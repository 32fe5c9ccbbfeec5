"""The collector of traces, as OpenTelemetry's environment variables name it."""

import logging
from collections.abc import Mapping

from server.telemetry.tracing import Tracing

PROTOCOL = "http/protobuf"
MISSING = "traces need packages that are not installed: pip install 'ringmt[otel]'"

logger = logging.getLogger("ringmt")


def open_tracing(environ: Mapping[str, str]) -> Tracing | None:
    """Tracing to the collector; None where no collector is named. Also None where the variables ask for what cannot be
    done here: then the log says so, and the server runs without traces."""
    endpoint = _of_traces(environ, "ENDPOINT")
    exporter = environ.get("OTEL_TRACES_EXPORTER") or "otlp"
    if not endpoint or exporter == "none" or environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    protocol = _of_traces(environ, "PROTOCOL") or PROTOCOL
    if exporter != "otlp" or protocol != PROTOCOL:
        logger.warning("no traces are sent: there is otlp over %s only, not %s over %s", PROTOCOL, exporter, protocol)
        return None
    try:
        from server.telemetry.otlp import OtlpTracing  # a tenth of a second, and not always installed

        return OtlpTracing()
    except ImportError as error:
        logger.warning("no traces are sent: %s (%s)", MISSING, error)
    except ValueError as error:
        logger.warning("no traces are sent: %s", error)
    return None


def _of_traces(environ: Mapping[str, str], name: str) -> str:
    """A variable for traces, else the one for all signals, else ""."""
    return environ.get(f"OTEL_EXPORTER_OTLP_TRACES_{name}") or environ.get(f"OTEL_EXPORTER_OTLP_{name}") or ""
