"""The cache of states with its metrics. They carry no model: one cache and one store serve all models."""

from server.documents.sentence_states import DocumentCache
from server.documents.state_cache import CacheListener
from server.telemetry.metrics import NO_MODEL, Metrics


def metered_cache(budget_bytes: int, metrics: Metrics) -> DocumentCache:
    """A cache of `budget_bytes` bytes that keeps `ringmt_context_cache_*` up to date."""
    used = metrics.context_cache_bytes.labels(NO_MODEL)
    metrics.context_cache_limit_bytes.labels(NO_MODEL).set(budget_bytes)
    listener = CacheListener(
        looked_up=lambda result: metrics.context_cache_lookups_total.labels(result, NO_MODEL).inc(),
        evicted=lambda reason: metrics.context_cache_evictions_total.labels(reason, NO_MODEL).inc(),
        resized=used.set,
    )
    return DocumentCache(budget_bytes, listener)
