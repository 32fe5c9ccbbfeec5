"""Opens tracing to the collector of OpenTelemetry's environment variables."""

import logging
from collections.abc import Mapping

from server.telemetry.tracing import Tracing

PROTOCOL = "http/protobuf"
MISSING = "traces need packages that are not installed: pip install 'ringmt[otel]'"

logger = logging.getLogger("ringmt")


def open_tracing(environ: Mapping[str, str]) -> Tracing | None:
    """Tracing to the collector; None if the variables name no collector. Also None, with a warning in the log, if they
    name an unsupported exporter or protocol, or packages are missing."""
    endpoint = _trace_variable(environ, "ENDPOINT")
    exporter = environ.get("OTEL_TRACES_EXPORTER") or "otlp"
    if not endpoint or exporter == "none" or environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    protocol = _trace_variable(environ, "PROTOCOL") or PROTOCOL
    if exporter != "otlp" or protocol != PROTOCOL:
        logger.warning("no traces are sent: there is otlp over %s only, not %s over %s", PROTOCOL, exporter, protocol)
        return None
    try:
        from server.telemetry.otlp import OtlpTracing  # takes 0.1 s, and is not always installed

        return OtlpTracing()
    except ImportError as error:
        logger.warning("no traces are sent: %s (%s)", MISSING, error)
    except ValueError as error:
        logger.warning("no traces are sent: %s", error)
    return None


def _trace_variable(environ: Mapping[str, str], name: str) -> str:
    """The value of the variable for traces, else of the variable for all signals, else ""."""
    return environ.get(f"OTEL_EXPORTER_OTLP_TRACES_{name}") or environ.get(f"OTEL_EXPORTER_OTLP_{name}") or ""
