"""Concurrent clients over HTTP: this server with a random model of Firefox's beside fxtranslate behind FastAPI."""

import asyncio
import contextlib
import functools
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from loadtest.bench.firefox_files import LANGUAGES, import_firefox, write_firefox
from loadtest.bench.fxtranslate_peer import BEAM, check_installed, target_length
from loadtest.bench.http_bench import Answers, answers, free_port, running_server, sentences
from loadtest.bench.report import Row
from loadtest.bench.shapes import shape
from model.data.vocabulary import Vocabulary

SENTENCES = 512


def firefox_http_rows(
    name: str, examples: list[str], rounds: int, clients: Sequence[int], count: int = SENTENCES
) -> list[Row]:
    """Sentences per second and p95 latency of both servers for each number of clients, medians of alternating turns,
    and the length of their translations, which should be alike. Raises ValueError for a shape that Firefox does not
    have, or without fxtranslate."""
    config = shape(name, None)
    if config.has_ring:
        raise ValueError(f"fxtranslate is the peer of the shapes firefox-..., not of '{name}'")
    check_installed()
    ports = [free_port(), free_port()]
    bases = [f"http://127.0.0.1:{port}" for port in ports]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        files, artifact = Path(folder) / "firefox", Path(folder) / "artifact"
        write_firefox(config, files)
        import_firefox(files, artifact)
        ours = [sys.executable, "-m", "server.cli", "serve", "--port", str(ports[0]), "--models", str(artifact)]
        ours += ["--log-level", "error", "--translation-cache-bytes", "0"]  # rounds send the same sentences again
        peer = [sys.executable, "-m", "loadtest.bench.fxtranslate_http", str(files), str(ports[1])]
        stack.enter_context(running_server(ours, bases[0], "/readyz"))
        stack.enter_context(running_server(peer, bases[1], "/readyz"))
        vocabulary = Vocabulary(files / f"vocab.{LANGUAGES}.spm")
        rows = []
        for number in clients:
            texts = sentences(examples, vocabulary, max(8, min(count, 16 * number)))
            rows += rows_of(bases, texts, functools.partial(body, vocabulary), rounds, number)
    return rows


def body(vocabulary: Vocabulary, text: str) -> dict[str, Any]:
    """A request whose translation has fxtranslate's length."""
    length = target_length(len(vocabulary.encode([text])[0]) + 1)
    return {"text": text, "source": "en", "target": "de", "beam_size": BEAM, "max_length": length}


def rows_of(
    bases: Sequence[str], texts: Sequence[str], body_of: Callable[[str], dict[str, Any]], rounds: int, clients: int
) -> list[Row]:
    """Ours at the first base beside the peer at the second base; a warm-up round does not count."""
    bodies = [body_of(text) for text in texts]
    turns: list[list[Answers]] = [[], []]
    for number in range(rounds + 1):
        for base, results in zip(bases, turns, strict=True):
            result = asyncio.run(answers(base, bodies, clients))
            if number:
                results.append(result)
    speed = [statistics.median(len(texts) / result.seconds for result in results) for results in turns]
    p95 = [statistics.median(result.p95 for result in results) for results in turns]
    words = [len(" ".join(results[0].translations).split()) / len(texts) for results in turns]
    return [
        Row(f"{clients} clients: throughput", speed[0], speed[1], speed[0] / speed[1], "sentences/s"),
        Row(f"{clients} clients: p95 latency", p95[0], p95[1], p95[0] / p95[1], "s"),
        Row(f"{clients} clients: words of a translation", words[0], words[1], words[0] / words[1], "words"),
    ]
