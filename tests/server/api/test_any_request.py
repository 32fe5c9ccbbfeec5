"""Requests made up from the OpenAPI document: none brings the server to a fault or to a status that is not listed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.api.conftest import PATIENCE, RunningServer, ready, settings_for
from tests.server.api.served_pair import COMPUTED
from tests.server.scale import SCALE

ROOT = Path(__file__).parents[3]
HOOKS = "tests.server.api.served_pair"

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
)
EXAMPLES = {
    "/translate|/suggest|/detect|/languages|/download_file|/frontend|/health|/livez|/readyz|/metrics|/$": 80,
    "/v2/|/v3/": 80,
    "/v1/translate|/v1/score": 200,
    "/v1/chat": 200,
    "/deeplx|/imme|/kiss|/mtran|/nllb|/listPairs|/api/": 10,
    "/v1/documents": 80,
    "/v1/translation_memories": 40,
    "/v1/models|/v1/languages": 80,
}
"""Beginnings of paths -> requests for each operation, beside the edge cases of every parameter; `make chaos` makes up
more. Numbers, not seconds, so that they are as many on any machine: with a time, the tool goes on until it is over."""

TIMED = (
    "/v1/translate",
    "/v1/score",
    "/v1/documents",
    "/v1/documents/{document_id}/sentences",
    "/v1/documents/{document_id}/sentences/{index}",
)
DEADLINES = "".join(
    f"""
[[operations]]
include-path = "{path}"
[operations.checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "504"]
"""
    for path in TIMED
)
"""A made-up `timeout` may be shorter than any work: there, and only there, 504 is the right answer."""


@pytest.mark.parametrize("paths", EXAMPLES)
def test_made_up_requests(server: RunningServer, paths: str, tmp_path: Path) -> None:
    before = [answered(server, path) for path in COMPUTED]
    assert not complaints(server, paths, EXAMPLES[paths], tmp_path)
    more = [answered(server, path) - count for path, count in zip(COMPUTED, before, strict=True)]
    assert min(more) >= 20 or not paths.startswith(COMPUTED), f"few of them are computed: {more}"


def answered(server: RunningServer, path: str) -> float:
    """Requests that were translated or scored."""
    labels = {"endpoint": path, "code": "200", "model": "tiny"}
    return server.state.metrics.registry.get_sample_value("ringmt_requests_total", labels) or 0.0


def test_made_up_requests_with_an_admin_key(pairs: dict[str, Path], tmp_path: Path) -> None:
    with ready(settings_for(pairs["en-de"].parents[1], open_admin="on")) as server:
        assert not complaints(server, "/v1/models", 80, tmp_path)


def complaints(server: RunningServer, paths: str, examples: int, tmp_path: Path) -> str:
    """What is wrong with the answers to made-up requests; nothing, if it is empty."""
    with server.client() as client:
        assert client.get("/openapi.json").status_code == 200  # the tool has less patience than the first reading takes
    # In a process of its own: onnxruntime sets the processor to flush the smallest floats, which hypothesis refuses.
    (tmp_path / "schemathesis.toml").write_text(DEADLINES, encoding="utf-8")
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"]
    command += ["--include-path-regex", f"^({paths})", "--checks", ",".join(CHECKS), "--phases", "coverage,fuzzing"]
    command += ["--max-examples", str(examples * min(SCALE, 10)), "--seed", "1", "--no-shrink"]
    command += ["--generation-database", "none", "--warnings", "off", "--continue-on-failure", "--no-color"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SCHEMATHESIS_HOOKS": HOOKS}
    # The tables of all characters, which take seconds of processor, are made by the first process in a checkout only.
    environment["HYPOTHESIS_STORAGE_DIRECTORY"] = str(ROOT / ".hypothesis")
    run = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=SCALE * 5 * PATIENCE,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    is_well = run.returncode == 0 and "0 operations" not in run.stdout
    return "" if is_well else run.stdout[-6000:] + run.stderr[-1000:] or f"exit status {run.returncode}"
