"""Concurrent clients over HTTP: this server with several processes beside the same server with one."""

import contextlib
import dataclasses
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from loadtest.bench.http_bench import SENTENCES, client_rows, free_port, running_server, sentences
from loadtest.bench.report import Row
from model.data.vocabulary import Vocabulary
from model.training.checkpoint import VOCABULARY

BODY = {"source": "en", "target": "de"}


def process_rows(
    artifact: Path,
    examples: list[str],
    processes: Sequence[int],
    clients: Sequence[int],
    rounds: int,
    most: int = SENTENCES,
) -> list[Row]:
    """Tokens per second and p95 latency for each number of processes and of clients, beside one process; medians of
    alternating turns. All have the default settings, which divide the machine's cores. `most`: sentences of a
    turn."""
    vocabulary = Vocabulary(artifact / VOCABULARY)
    rows: list[Row] = []
    for count in processes:
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            bases = []
            for number in (count, 1):
                port = free_port()
                command = [sys.executable, "-m", "server.cli", "serve", "--port", str(port), "--models", str(artifact)]
                command += ["--log-level", "error", "--translation-cache-bytes", "0", "--processes", str(number)]
                command += ["--context-store", f"sqlite:///{folder}/{number}-{port}.db"]
                bases.append(f"http://127.0.0.1:{port}")
                stack.enter_context(running_server(command, bases[-1], "/readyz"))
            for number in clients:
                texts = sentences(examples, vocabulary, max(8, min(most, 16 * number)))
                measured = client_rows(bases, texts, vocabulary, rounds, number, bodies=(BODY, BODY))
                rows += [dataclasses.replace(row, name=f"{count} processes, {row.name}") for row in measured]
    return rows
