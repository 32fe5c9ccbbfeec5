from itertools import pairwise

from prometheus_client.parser import text_string_to_metric_families

from server.telemetry.metrics import REQUEST_BUCKETS, SIZE_BUCKETS, STEP_BUCKETS, Metrics, geometric

NAMES = {
    "requests_total", "request_duration_seconds", "requests_in_progress", "requests_rejected_total",
    "requests_cancelled_total", "deadline_exceeded_total", "sentence_queue_seconds", "sentence_encode_seconds",
    "decode_step_seconds", "time_to_first_token_seconds", "time_per_output_token_seconds", "source_tokens_total",
    "target_tokens_total", "sentences_total", "sentences_flagged_total", "queue_depth", "running_sentences",
    "slots", "decode_batch_rows", "encode_batch_tokens", "decode_steps_total", "padding_tokens_total",
    "ring_cache_bytes", "ring_cache_used_slots", "ring_cache_wraps_total", "source_memory_bytes", "build_info",
    "model_load_seconds", "ready", "context_store_documents", "context_store_expired_total", "context_cache_bytes",
    "context_cache_limit_bytes", "context_cache_lookups_total", "context_cache_evictions_total",
    "document_jobs_total", "document_job_duration_seconds", "scored_tokens_total",
}  # fmt: skip


def samples(metrics: Metrics) -> list[tuple[str, dict[str, str], float]]:
    families = text_string_to_metric_families(metrics.exposition().decode())
    return [(sample.name, sample.labels, sample.value) for family in families for sample in family.samples]


def test_every_series_exists_with_zero() -> None:
    metrics = Metrics()
    metrics.start_model("en-de")
    metrics.start_endpoint("/v1/translate", (200, 429))
    everything = samples(metrics)
    ours = [(name.removeprefix("ringmt_"), labels, value) for name, labels, value in everything if "ringmt_" in name]
    results = {name.removesuffix("_count").removesuffix("_sum") for name, _, _ in ours}
    assert results >= NAMES
    for name, labels, value in ours:
        if name != "build_info" and not name.endswith("_created"):
            assert value == 0, name
            assert "model" in labels, name


def test_process_metrics_are_there() -> None:
    assert any(name == "process_resident_memory_bytes" and value > 0 for name, _, value in samples(Metrics()))


def test_buckets_are_geometric() -> None:
    assert geometric(1, 8, 4) == (1, 2, 4, 8)
    for buckets in (REQUEST_BUCKETS, STEP_BUCKETS, SIZE_BUCKETS):
        factor = (buckets[-1] / buckets[0]) ** (1 / (len(buckets) - 1))
        for low, high in pairwise(buckets):
            assert abs(high / low / factor - 1) < 0.02
    assert (REQUEST_BUCKETS[0], REQUEST_BUCKETS[-1]) == (0.001, 60)
    assert (STEP_BUCKETS[0], STEP_BUCKETS[-1]) == (0.00005, 1)


def test_registries_are_separate() -> None:
    first, other = Metrics(), Metrics()
    first.start_model("a")
    first.sentences_total.labels("eos", "a").inc()
    assert other.registry.get_sample_value("ringmt_sentences_total", {"finish_reason": "eos", "model": "a"}) is None
