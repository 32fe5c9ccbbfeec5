"""A registry of metrics whose series exist with zero from the start: the rate of a new server is 0 and not absent.

Every metric has the label `model`; counters, gauges and histograms of one model get their series when the model is
loaded, metrics of all models together when they are made.
"""

from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

NO_MODEL = ""
Metric = TypeVar("Metric", Counter, Gauge, Histogram)


class MetricSeries:
    """A registry, and the metrics that have a series for every model."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._zero_series: list[tuple[Counter | Gauge | Histogram, tuple[str, ...] | None]] = []

    def _counter(self, name: str, meaning: str, label: str | None = None, values: tuple[str, ...] = ()) -> Counter:
        labels = ("model",) if label is None else (label, "model")
        counter = Counter(f"ringmt_{name}", meaning, labels, registry=self.registry)
        self._zero_series.append((counter, None if label is None else values))
        return counter

    def _gauge(self, name: str, meaning: str) -> Gauge:
        gauge = Gauge(f"ringmt_{name}", meaning, ("model",), registry=self.registry)
        self._zero_series.append((gauge, None))
        return gauge

    def _histogram(self, name: str, meaning: str, buckets: tuple[float, ...]) -> Histogram:
        histogram = Histogram(f"ringmt_{name}", meaning, ("model",), registry=self.registry, buckets=buckets)
        self._zero_series.append((histogram, None))
        return histogram

    def _global(
        self,
        kind: type[Metric],
        name: str,
        meaning: str,
        label: str | None = None,
        values: tuple[str, ...] = (),
        **details: Any,
    ) -> Metric:
        """A metric of all models together: its series exist from the start, with an empty `model`."""
        labels = ("model",) if label is None else (label, "model")
        metric = kind(f"ringmt_{name}", meaning, labels, registry=self.registry, **details)
        for value in values:
            metric.labels(value, NO_MODEL)
        if label is None:
            metric.labels(NO_MODEL)
        return metric

    def start_model(self, model: str) -> None:
        """Create the zero series of a model."""
        for metric, values in self._zero_series:
            if values is None:
                metric.labels(model)
            for value in values or ():
                metric.labels(value, model)

    def end_model(self, model: str) -> None:
        """Remove the gauges of a model that is not served any more. Its counters stay, and continue if it is loaded
        again."""
        for metric, _ in self._zero_series:
            if isinstance(metric, Gauge):
                metric.labels(model).set_function(
                    float
                )  # otherwise the gauge keeps itself and the worker that it reads
                metric.remove(model)

    def exposition(self) -> bytes:
        """Every metric in Prometheus' text format."""
        return generate_latest(self.registry)
