"""The real Prometheus: it scrapes a running server, evaluates the dashboard's expressions and runs the alerts."""

import contextlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from tests.children import child
from tests.docker.test_metrics_table import DOCKER, expressions
from tests.server.api.conftest import RunningServer, until
from tests.server.redis_server import free_port

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None,
    reason="Prometheus is not installed (Debian: apt-get install prometheus)",
)


@contextlib.contextmanager
def prometheus(folder: Path, target: str) -> Iterator[str]:
    """The address of a Prometheus that runs our configuration, but asks `target` every second."""
    config = yaml.safe_load((DOCKER / "prometheus/prometheus.yml").read_text(encoding="utf-8"))
    config["global"] = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "200ms"}
    [job] = config["scrape_configs"]
    del job["dns_sd_configs"]
    job["static_configs"] = [{"targets": [target]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    shutil.copy(DOCKER / "prometheus/alerts.yml", folder)
    port = free_port()
    command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    command += [f"--web.listen-address=127.0.0.1:{port}"]
    with child(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        yield f"http://127.0.0.1:{port}"


def query(address: str, expression: str) -> list[dict[str, object]]:
    answer = httpx.get(f"{address}/api/v1/query", params={"query": expression}, timeout=20)
    actual = answer.json()
    assert actual["status"] == "success", f"{expression}: {actual.get('error')}"
    result: list[dict[str, object]] = actual["data"]["result"]
    return result


def is_scraped(address: str) -> bool:
    try:
        return bool(query(address, 'up{job="ringmt"} == 1'))
    except (httpx.TransportError, json.JSONDecodeError):
        return False


@needs_prometheus
def test_prometheus_scrapes_a_server(document_server: RunningServer, tmp_path: Path) -> None:
    document_server.translate("We walk home in the rain.")
    document = {"sentences": ["Yes.", "We walk home."], "source": "en", "target": "de", "wait": True}
    with (
        document_server.client() as client,
        prometheus(tmp_path, document_server.url.removeprefix("http://")) as address,
    ):
        until(lambda: is_scraped(address), "Prometheus has asked the server")
        assert client.post("/v1/documents", json=document).json()["state"] == "done"
        until(lambda: not empty_panels(address), "every panel of the dashboard shows something")
        rules = httpx.get(f"{address}/api/v1/rules").json()["data"]["groups"][0]["rules"]
        [group] = yaml.safe_load((DOCKER / "prometheus/alerts.yml").read_text(encoding="utf-8"))["groups"]
        assert [rule["name"] for rule in rules] == [rule["alert"] for rule in group["rules"]]
        until(lambda: rules_are_evaluated(address), "every rule was evaluated")
        alerts = httpx.get(f"{address}/api/v1/alerts").json()["data"]["alerts"]
        assert [alert for alert in alerts if alert["state"] == "firing"] == []  # pending ones may be the test process


def empty_panels(address: str) -> list[str]:
    """Expressions of the dashboard without a result; those of alerts compare, and have none while all is well."""
    queries = [expression.replace("$__rate_interval", "1m") for expression in expressions()]
    queries = [expression.replace("$instance", ".*").replace("$model", ".*") for expression in queries]
    results = {expression: query(address, expression) for expression in queries}
    return [text for text, result in results.items() if not result and not re.search(r"[>=] ", text)]


def rules_are_evaluated(address: str) -> bool:
    rules = httpx.get(f"{address}/api/v1/rules").json()["data"]["groups"][0]["rules"]
    assert [rule["name"] for rule in rules if rule["health"] == "err"] == []
    return all(rule["health"] == "ok" for rule in rules)


@needs_prometheus
@pytest.mark.parametrize("command", [["check", "config", "prometheus.yml"], ["test", "rules", "alerts_test.yml"]])
def test_promtool_accepts_the_configuration(command: list[str]) -> None:
    result = subprocess.run(
        ["promtool", *command], cwd=DOCKER / "prometheus", capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


@needs_prometheus
def test_promtool_accepts_the_names(document_server: RunningServer) -> None:
    exposed = httpx.get(f"{document_server.url}/metrics").text
    result = subprocess.run(
        ["promtool", "check", "metrics"], input=exposed, capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
    assert result.returncode == 0
