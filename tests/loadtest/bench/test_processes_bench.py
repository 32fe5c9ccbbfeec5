"""`ringmt bench processes`."""

import sys

import pytest

from export.commands import EXAMPLES, lines
from loadtest.bench.processes_bench import process_rows
from server.settings import BUNDLED_MODELS


@pytest.mark.skipif(sys.platform != "linux", reason="several processes are one server on Linux only")
def test_one_process_and_several_answer_the_same_clients() -> None:
    throughput, latency = process_rows(BUNDLED_MODELS / "en-de", list(lines(EXAMPLES)), [2], [4], rounds=1, most=8)
    assert (throughput.name, latency.name) == (
        "2 processes, 4 clients: throughput",
        "2 processes, 4 clients: p95 latency",
    )
    for row in (throughput, latency):
        assert row.peer is not None
        assert row.ours > 0 < row.peer
