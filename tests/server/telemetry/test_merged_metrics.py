"""Metrics of several processes as one."""

from prometheus_client.parser import text_string_to_metric_families

from server.telemetry.merged_metrics import counts_of, decode, encode, exposition, merged, snapshot
from server.telemetry.metrics import Metrics
from server.telemetry.series import NO_MODEL

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(text: bytes) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def metrics(requests: int, ready: int, healthy: int, documents: int) -> Metrics:
    made = Metrics()
    made.start_model("a")
    made.requests_total.labels("/x", "200", "a").inc(requests)
    for number in range(requests):
        made.sentence_queue_seconds.labels("a").observe(number)
    made.slots.labels("a").set(4)
    made.ready.labels("a").set(ready)
    made.model_healthy.labels("a").set(healthy)
    made.context_store_documents.labels(NO_MODEL).set(documents)
    return made


def test_one_process_is_shown_as_it_is() -> None:
    alone = metrics(3, 1, 1, 5)
    one = decode(encode(merged([snapshot(alone.registry)])))
    # What is read of the process itself changes from one look to the next.
    shown, expected = samples(exposition(one)), samples(alone.exposition())
    assert shown.keys() == expected.keys()
    assert {key: value for key, value in shown.items() if not key[0].startswith("process_")} == {
        key: value for key, value in expected.items() if not key[0].startswith("process_")
    }
    heads = [line for line in exposition(one).decode().splitlines() if line.startswith("#")]
    assert heads == [line for line in alone.exposition().decode().splitlines() if line.startswith("#")]


def test_each_kind_is_put_together_in_its_own_way() -> None:
    own, other, ended = (metrics(*values) for values in ((1, 1, 1, 7), (2, 1, 0, 9), (4, 1, 1, 8)))
    snapshots = [snapshot(own.registry), snapshot(other.registry), counts_of(snapshot(ended.registry))]
    shown = samples(exposition(merged(snapshots)))
    model = (("model", "a"),)
    for name, value in {
        "ringmt_slots": 4 + 4,  # of a process that has ended nothing but counts
        "ringmt_ready": 1,
        "ringmt_model_healthy": 0,
        "ringmt_sentence_queue_seconds_count": 1 + 2 + 4,
        "ringmt_sentence_queue_seconds_sum": 0 + 1 + 6,
    }.items():
        assert shown[name, model] == value, name
    assert shown["ringmt_requests_total", (("code", "200"), ("endpoint", "/x"), ("model", "a"))] == 7
    assert shown["ringmt_context_store_documents", (("model", ""),)] == 7  # what this process has read now
    buckets = [value for (name, _), value in shown.items() if name == "ringmt_sentence_queue_seconds_bucket"]
    assert buckets == sorted(buckets)


def test_largest_and_smallest_values_do_not_depend_on_the_order_of_processes() -> None:
    well, unwell = (snapshot(metrics(1, value, value, 0).registry) for value in (1, 0))
    model = (("model", "a"),)
    for snapshots in ([well, unwell], [unwell, well], [well, unwell, well]):
        shown = samples(exposition(merged(snapshots)))
        assert (shown["ringmt_ready", model], shown["ringmt_model_healthy", model]) == (1, 0)
