"""Every metric of the server: names, units, labels and buckets in one place.

Durations are in seconds, sizes in bytes; counters end in `_total`. Every metric has the label `model`: "" for a request
without a served model, and for metrics of all models together. Series exist with zero from the start, so that the rate
of a new server is 0 and not absent.
Written by: `server.api` requests_total, _duration, _in_progress, _rejected, ready, model_healthy, model_restarts_total,
event_loop_lag_seconds and files*; `server.translation.translator`
sentences_flagged_total and model_load_seconds; `server.documents` document_*, context_store_* and context_cache_*; the
engine the others. docker/METRICS.md is the table for operators, and under test.
"""

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.process_collector import ProcessCollector

from server.telemetry.labels import FINISH_REASONS, FLAGS, SEARCH_LOOKUPS, STATE_EVICTIONS, STATE_LOOKUPS
from server.telemetry.series import NO_MODEL, MetricSeries

disable_created_metrics()  # type: ignore[no-untyped-call]  # an unused second series for every counter and histogram
NO_KEY = ""
STAGES = ("waiting", "running")
"""The stage in which a sentence was cancelled or its deadline passed."""
JOB_RESULTS = ("done", "failed", "released", "lost")
"""The result of a document job in this process: "released" for other processes, "lost" to another process or
deleted."""
CLOSED_CONNECTIONS = ("idle", "full", "unread", "pipelined", "head")
"""Why a connection was closed: for another connection, because all connections were in use, because its client did not
read its answer, sent too many requests at once, or too large a head."""
PARSER_FAILURES = ("cpu_time", "wall_time", "memory", "crash")
"""Why a parser process failed with a file: it reached a limit, or crashed."""
REJECTIONS = ("overloaded", "quota_exceeded", "too_large", "not_ready", "unauthorized", "forbidden")
KEY_SOURCES = ("file", "store")


def geometric(first: float, last: float, count: int) -> tuple[float, ...]:
    """`count` histogram buckets from `first` to `last` in a geometric sequence (3 digits)."""
    factor = (last / first) ** (1 / (count - 1))
    return tuple(float(f"{first * factor**i:.3g}") for i in range(count))


REQUEST_BUCKETS = geometric(0.001, 60, 17)
DOCUMENT_BUCKETS = geometric(0.01, 3600, 17)
STEP_BUCKETS = geometric(0.00005, 1, 15)
SIZE_BUCKETS = tuple(float(2**i) for i in range(15))
RATIO_BUCKETS = tuple(i / 10 for i in range(1, 11))


class Metrics(MetricSeries):
    """One registry and every metric in it. Attributes are the names without the prefix `ringmt_`."""

    def __init__(self) -> None:
        super().__init__()
        ProcessCollector(registry=self.registry)
        self._add_requests()
        self._add_sentences()
        self._add_batches()
        self._add_memory()
        self._add_context()
        self._add_documents()
        self._add_files()
        self._add_keys()
        self._add_build()

    def _add_requests(self) -> None:
        by_endpoint = ("endpoint", "code", "model")
        self.requests_total = Counter(
            "ringmt_requests_total", "HTTP requests answered", by_endpoint, registry=self.registry
        )
        self.request_duration_seconds = Histogram(
            "ringmt_request_duration_seconds",
            "From a request's headers to the end of its answer",
            ("endpoint", "model"),
            registry=self.registry,
            buckets=REQUEST_BUCKETS,
        )
        self.requests_in_progress = self._gauge("requests_in_progress", "Translation requests being worked on")
        self.requests_rejected_total = self._counter(
            "requests_rejected_total", "Requests refused before any work", "reason", REJECTIONS
        )
        self.open_connections = self._global(Gauge, "open_connections", "Open connections of clients")
        self.connections_closed_total = self._global(
            Counter,
            "connections_closed_total",
            "Connections closed to keep the server's limits",
            "reason",
            CLOSED_CONNECTIONS,
        )
        self.body_bytes = self._global(Gauge, "body_bytes", "Memory of request bodies that are being read or processed")
        self.requests_cancelled_total = self._counter(
            "requests_cancelled_total", "Sentences cancelled because their request was abandoned", "stage", STAGES
        )
        self.deadline_exceeded_total = self._counter(
            "deadline_exceeded_total", "Sentences cancelled at their deadline", "stage", STAGES
        )

    def _add_sentences(self) -> None:
        self.sentence_queue_seconds = self._histogram(
            "sentence_queue_seconds", "Wait of a sentence for a slot", REQUEST_BUCKETS
        )
        self.sentence_encode_seconds = self._histogram(
            "sentence_encode_seconds", "Encoding of a sentence's batch", REQUEST_BUCKETS
        )
        self.time_to_first_token_seconds = self._histogram(
            "time_to_first_token_seconds", "From a sentence's arrival to its first decoded token", REQUEST_BUCKETS
        )
        self.time_per_output_token_seconds = self._histogram(
            "time_per_output_token_seconds", "Decoding time of a sentence divided by its tokens", STEP_BUCKETS
        )
        self.source_tokens_total = self._counter("source_tokens_total", "Source tokens encoded, EOS included")
        self.target_tokens_total = self._counter("target_tokens_total", "Tokens of the best hypotheses, EOS included")
        self.scored_tokens_total = self._counter(
            "scored_tokens_total", "Tokens of given translations that were scored, EOS included"
        )
        self.sentences_total = self._counter(
            "sentences_total", "Sentences decoded completely", "finish_reason", FINISH_REASONS
        )
        self.sentences_flagged_total = self._counter(
            "sentences_flagged_total", "Sentences whose translation has a flag", "flag", FLAGS
        )

        self.translation_memory_sentences_total = self._counter(
            "translation_memory_sentences_total", "Sentences and texts taken from a translation memory"
        )

    def _add_batches(self) -> None:
        self.queue_depth = self._gauge("queue_depth", "Sentences waiting for a slot")
        self.queue_tokens = self._gauge("queue_tokens", "Source tokens of the sentences that wait for a slot")
        self.running_sentences = self._gauge("running_sentences", "Sentences being decoded")
        self.slots = self._gauge("slots", "Sentences that can be decoded at the same time")
        self.decode_step_seconds = self._histogram("decode_step_seconds", "One step of all running rows", STEP_BUCKETS)
        self.decode_batch_rows = self._histogram("decode_batch_rows", "Rows (slots x beams) of a step", SIZE_BUCKETS)
        self.encode_batch_tokens = self._histogram("encode_batch_tokens", "Source tokens of a batch", SIZE_BUCKETS)
        self.decode_steps_total = self._counter("decode_steps_total", "Decoder steps")
        self.padding_tokens_total = self._counter("padding_tokens_total", "Padding positions in encoder batches")

    def _add_memory(self) -> None:
        self.ring_cache_bytes = self._gauge("ring_cache_bytes", "Memory of the decoder's rings")
        self.ring_cache_used_slots = self._gauge("ring_cache_used_slots", "Slots whose ring is in use")
        self.ring_cache_wraps_total = self._counter("ring_cache_wraps_total", "Times that a ring wrapped around")
        self.source_memory_bytes = self._gauge("source_memory_bytes", "Memory of the encoded sources")
        self.translation_cache_bytes = self._gauge("translation_cache_bytes", "Memory of the cached translations")
        self.translation_cache_limit_bytes = self._gauge(
            "translation_cache_limit_bytes", "Memory limit of the cache of translations"
        )
        self.translation_cache_lookups_total = self._counter(
            "translation_cache_lookups_total",
            "Sentences by result: cached (hit), decoded for another request (shared), decoded (miss)",
            "result",
            SEARCH_LOOKUPS,
        )
        self.translation_cache_evictions_total = self._counter(
            "translation_cache_evictions_total", "Translations evicted from the cache"
        )

    def _add_context(self) -> None:
        self.context_sentences_candidate = self._histogram(
            "context_sentences_candidate", "Sentences of its document that a sentence could attend to", SIZE_BUCKETS
        )
        self.context_sentences_selected = self._histogram(
            "context_sentences_selected", "Sentences of its document with a nonzero attention weight", SIZE_BUCKETS
        )
        self.context_selection_seconds = self._histogram(
            "context_selection_seconds",
            "Encoding a batch of sentences and attending to their documents",
            REQUEST_BUCKETS,
        )
        self.context_gate_ratio = self._histogram(
            "context_gate_ratio", "Weight of a sentence's own state; the rest is its context's", RATIO_BUCKETS
        )

    def _add_documents(self) -> None:
        self.context_store_documents = self._global(Gauge, "context_store_documents", "Stored documents")
        self.context_store_expired_total = self._global(
            Counter, "context_store_expired_total", "Documents deleted because their time to live ended"
        )
        self.context_cache_bytes = self._global(Gauge, "context_cache_bytes", "Memory of the cached sentence states")
        self.context_cache_limit_bytes = self._global(
            Gauge, "context_cache_limit_bytes", "Memory limit of the cache of sentence states"
        )
        self.context_cache_lookups_total = self._global(
            Counter, "context_cache_lookups_total", "Lookups of sentence states in the cache", "result", STATE_LOOKUPS
        )
        self.context_cache_evictions_total = self._global(
            Counter,
            "context_cache_evictions_total",
            "Sentence states evicted from the cache",
            "reason",
            STATE_EVICTIONS,
        )
        self.document_jobs_running = self._global(
            Gauge, "document_jobs_running", "Documents that this process translates at the moment"
        )
        self.document_jobs_total = self._global(
            Counter, "document_jobs_total", "Document jobs that ended", "result", JOB_RESULTS
        )
        self.document_job_duration_seconds = self._global(
            Histogram,
            "document_job_duration_seconds",
            "Duration of a document job, from its claim to its end",
            buckets=DOCUMENT_BUCKETS,
        )
        self.document_sentences = self._global(
            Histogram, "document_sentences", "Sentences of a document when its job begins", buckets=SIZE_BUCKETS
        )

    def _add_files(self) -> None:
        self.files = self._global(Gauge, "files", "Files that are being translated or wait to be fetched")
        self.files_bytes = self._global(Gauge, "files_bytes", "Memory of these files, uploads and translations")
        self.files_running = self._global(Gauge, "files_running", "Files that are being translated at the moment")
        self.parser_failures_total = self._global(
            Counter, "parser_failures_total", "Files that a parser process gave up", "reason", PARSER_FAILURES
        )

    def _add_keys(self) -> None:
        self.characters_accepted_total = self._global(
            Counter, "characters_accepted_total", "Characters of texts that were accepted", "key", (NO_KEY,)
        )
        self.api_key_failures_total = self._global(
            Counter, "api_key_failures_total", "API keys could not be read again", "source", KEY_SOURCES
        )

    def _add_build(self) -> None:
        self.build_info = Gauge("ringmt_build_info", "Always 1", ("version", "python"), registry=self.registry)
        self.build_info.labels(package_version(), platform.python_version()).set(1)
        self.model_load_seconds = self._gauge("model_load_seconds", "Loading and warming up the model")
        self.ready = self._gauge("ready", "1 from the warm-up decode on until the server drains or the model fails")
        self.model_healthy = self._gauge("model_healthy", "0 while the model's engine hangs, has ended or has failed")
        self.model_loaded = self._gauge("model_loaded", "1 while the model is in memory, 0 until a request needs it")
        self.model_restarts_total = self._counter("model_restarts_total", "Times that the model's engine was replaced")
        self.event_loop_lag_seconds = self._global(
            Gauge, "event_loop_lag_seconds", "Longest delay of the event loop in the last 30 to 60 seconds"
        )

    def start_endpoint(self, endpoint: str, codes: Iterable[int], model: str = NO_MODEL) -> None:
        """Create the zero series of an endpoint, one for every status code of its answers."""
        self.request_duration_seconds.labels(endpoint, model)
        for code in codes:
            self.requests_total.labels(endpoint, str(code), model)


def package_version() -> str:
    """The installed version of RingMT, "unknown" when it runs from a folder that was never installed."""
    try:
        return version("ringmt")
    except PackageNotFoundError:
        return "unknown"
