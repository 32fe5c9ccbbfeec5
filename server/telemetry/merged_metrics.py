"""Metrics of several processes as those of one server.

Counters and histograms are added up, and go on where those of a process that ended were seen last. Gauges are added up
where they count things of a process; of what is the same in all, or of all of them together, one value is shown.

prometheus_client's own mode for several processes is not used: it has no gauges that are read when metrics are shown,
as most here are, nor those of the process, and keeps a file of every process that ever was."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

LARGEST: Final = frozenset(
    {
        "ringmt_build_info",
        "ringmt_event_loop_lag_seconds",
        "ringmt_model_load_seconds",
        "ringmt_model_loaded",
        "ringmt_ready",
    }
)
"""Gauges that are shown with the largest value of all processes; any process that is ready makes the server ready."""
FIRST: Final = frozenset({"ringmt_context_store_documents"})
"""Gauges that are shown with the value of the process that answers: the others' values may be old."""
SMALLEST: Final = frozenset({"ringmt_model_healthy", "process_start_time_seconds"})
"""A model that is unwell in one process is shown as unwell."""
_COUNTING = frozenset({"counter", "histogram"})

SampleKey = tuple[str, tuple[tuple[str, str], ...]]
"""Name and labels of a series."""


@dataclass
class Family:
    """A metric with its series."""

    name: str
    documentation: str
    kind: str
    samples: dict[SampleKey, float]

    @property
    def is_counting(self) -> bool:
        return self.kind in _COUNTING


Snapshot = dict[str, Family]
"""Metrics by name."""


def snapshot(registry: CollectorRegistry) -> Snapshot:
    """All metrics at this moment."""
    return {
        metric.name: Family(
            metric.name,
            metric.documentation,
            metric.type,
            {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in metric.samples},
        )
        for metric in registry.collect()
    }


def counts_of(metrics: Snapshot) -> Snapshot:
    """The counters and histograms alone: what stays of a process that has ended."""
    return {name: family for name, family in metrics.items() if family.is_counting}


def merged(snapshots: Sequence[Snapshot]) -> Snapshot:
    """The metrics of all; of each family in the order in which its series appear."""
    together: Snapshot = {}
    for metrics in snapshots:
        for name, family in metrics.items():
            known = together.setdefault(name, Family(name, family.documentation, family.kind, {}))
            for key, value in family.samples.items():
                former = known.samples.get(key)
                known.samples[key] = value if former is None else _together(known, former, value)
    return together


def _together(family: Family, first: float, second: float) -> float:
    if family.name in FIRST:
        return first
    if family.name in LARGEST:
        return max(first, second)
    return min(first, second) if family.name in SMALLEST else first + second


def encode(metrics: Snapshot) -> bytes:
    return json.dumps(
        [
            [family.name, family.documentation, family.kind, [[*key, value] for key, value in family.samples.items()]]
            for family in metrics.values()
        ]
    ).encode()


def decode(data: bytes) -> Snapshot:
    """The inverse of `encode`. Raises ValueError."""
    listed: list[Any] = json.loads(data)
    return {
        name: Family(
            name,
            documentation,
            kind,
            {(sample, tuple((label, text) for label, text in labels)): value for sample, labels, value in samples},
        )
        for name, documentation, kind, samples in listed
    }


def exposition(metrics: Snapshot) -> bytes:
    """The metrics in Prometheus' text format, which is also the format of one process."""
    registry = CollectorRegistry()
    registry.register(_Collected(metrics))
    return generate_latest(registry)


class _Collected(Collector):
    def __init__(self, metrics: Mapping[str, Family]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        return map(_metric, self._metrics.values())

    def describe(self) -> Iterable[Metric]:
        return ()


def _metric(family: Family) -> Metric:
    metric = Metric(family.name, family.documentation, family.kind)
    for (name, labels), value in family.samples.items():
        metric.add_sample(name, dict(labels), value)
    return metric
