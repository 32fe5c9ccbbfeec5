"""docker/METRICS.md, alerts, dashboard: every metric that they name exists, and every metric is in the table."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import yaml
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.parser import text_string_to_metric_families

from server.telemetry.metrics import Metrics
from tests.server.api.conftest import RunningServer

DOCKER = Path(__file__).parents[2] / "docker"
METRIC_NAME = re.compile(r"\b(?:ringmt|process)_[a-z_]+")
SUFFIXES = ("_bucket", "_count", "_sum")


def rows_of(metrics: Metrics) -> list[tuple[str, str, str, str]]:
    """Name, type, labels and meaning of every metric, as in the table."""
    wrappers = [metric for metric in vars(metrics).values() if isinstance(metric, MetricWrapperBase)]
    return [
        (
            f"`{metric._name}{'_total' if metric._type == 'counter' else ''}`",
            str(metric._type),
            " ".join(f"`{label}`" for label in metric._labelnames),
            metric._documentation,
        )
        for metric in wrappers
    ]


def expressions() -> list[str]:
    """Every PromQL expression of the dashboard and of the alerts."""
    dashboard = json.loads((DOCKER / "grafana/dashboards/ringmt.json").read_text(encoding="utf-8"))
    alerts: dict[str, Any] = yaml.safe_load((DOCKER / "prometheus/alerts.yml").read_text(encoding="utf-8"))
    panels = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    return panels + [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]


def family(name: str) -> str:
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)


def test_the_table_has_every_metric_and_no_other() -> None:
    lines = (DOCKER / "METRICS.md").read_text(encoding="utf-8").splitlines()
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines if line.startswith("| `")]
    assert rows == rows_of(Metrics())
    assert len(rows) > 40


def test_a_running_server_has_the_metrics_of_the_table(document_server: RunningServer) -> None:
    shown = {family.name for family in text_string_to_metric_families(httpx.get(f"{document_server.url}/metrics").text)}
    named = {row[0].strip("`").removesuffix("_total") for row in rows_of(Metrics())}
    assert {name for name in shown if name.startswith("ringmt_")} == named


def test_dashboard_and_alerts_name_metrics_that_exist() -> None:
    known = {row[0].strip("`") for row in rows_of(Metrics())} | {"process_resident_memory_bytes"}
    named = {family(name) for expression in expressions() for name in METRIC_NAME.findall(expression)}
    assert len(named) > 25
    assert named - known == set()


UNSEEN = {"ringmt_build_info", "ringmt_ring_cache_used_slots"}
"""Metrics without a panel: constant, or equal to `ringmt_running_sentences`."""


def test_every_metric_is_in_the_dashboard_or_an_alert() -> None:
    named = {family(name) for expression in expressions() for name in METRIC_NAME.findall(expression)}
    assert {row[0].strip("`") for row in rows_of(Metrics())} - named == UNSEEN


def test_expressions_use_existing_labels() -> None:
    labels = {row[0].strip("`"): set(re.findall(r"`(\w+)`", row[2])) for row in rows_of(Metrics())}
    for expression in expressions():
        for name, chosen in re.findall(r"(ringmt_[a-z_]+)\{([^}]*)\}", expression):
            used = set(re.findall(r"(\w+)\s*[=!]", chosen)) - {"instance", "job"}
            assert used <= labels[family(name)], expression


def test_the_rows_of_the_dashboard() -> None:
    dashboard = json.loads((DOCKER / "grafana/dashboards/ringmt.json").read_text(encoding="utf-8"))
    rows = [panel["title"] for panel in dashboard["panels"] if panel["type"] == "row"]
    assert rows == ["Requests", "Latency by stage", "Batch", "Memory", "Documents"]
    places = [tuple(panel["gridPos"].values()) for panel in dashboard["panels"]]
    assert len(set(places)) == len(places)
    sources = {target["datasource"]["uid"] for panel in dashboard["panels"] for target in panel.get("targets", [])}
    provisioned = yaml.safe_load(
        (DOCKER / "grafana/provisioning/datasources/prometheus.yml").read_text(encoding="utf-8")
    )
    assert sources == {provisioned["datasources"][0]["uid"]}
