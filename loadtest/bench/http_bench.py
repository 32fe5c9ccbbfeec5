"""Concurrent clients over HTTP, sentences of mixed length: this server beside CTranslate2 behind FastAPI.

Both serve the same checkpoint at int8 with beam 4. Clients are closed loops: each waits for its response before it
sends the next sentence. Both servers get the same sentences in the same order, in alternating turns.
"""

import asyncio
import contextlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from loadtest.bench.ctranslate2_writer import convert
from loadtest.bench.report import Row
from model.data.vocabulary import Vocabulary
from model.training.checkpoint import find_vocabulary, load_model

CLIENTS = 64
SENTENCES = 512


@dataclass(frozen=True)
class Turn:
    """One turn of one server: tokens of its translations per second, 95th percentile of the latency in seconds."""

    tokens_per_second: float
    p95: float


def sentences(examples: list[str], vocabulary: Vocabulary, count: int) -> list[str]:
    """`count` different sentences of 5 to 60 pieces, made of the words of the examples."""
    texts, index = list[str](), 0
    while len(texts) < count:
        length = 5 + (index * 37) % 56
        words: list[str] = []
        start = index
        while len(vocabulary.encode([" ".join(words)])[0]) < length:
            words += examples[start % len(examples)].rstrip(".?!").split()
            start += 7
        while len(words) > 1 and len(vocabulary.encode([" ".join(words)])[0]) > length:
            words.pop()
        texts.append(" ".join(words) + f" {index}.")
        index += 1
    return texts


@dataclass(frozen=True)
class Answers:
    """Seconds of a turn, latencies of its answers in seconds, their translations, in the order of the answers."""

    seconds: float
    latencies: tuple[float, ...]
    translations: tuple[str, ...]

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.latencies, n=20)[-1]


async def answers(base: str, bodies: Sequence[dict[str, Any]], clients: int) -> Answers:
    """Send all bodies through `clients` clients."""
    remaining, latencies, translations = iter(bodies), list[float](), list[str]()
    connector = aiohttp.TCPConnector(limit=clients)  # a light client: it shares the cores with the server
    async with aiohttp.ClientSession(base, connector=connector) as client:

        async def run_client() -> None:
            for body in remaining:
                started = time.perf_counter()
                async with client.post("/v1/translate", json=body, raise_for_status=True) as response:
                    answer = await response.json()
                latencies.append(time.perf_counter() - started)
                translations.append(answer["text"] if "text" in answer else answer["translations"][0]["text"])

        started = time.perf_counter()
        await asyncio.gather(*(run_client() for _ in range(clients)))
        seconds = time.perf_counter() - started
    return Answers(seconds, tuple(latencies), tuple(translations))


async def turn(base: str, body: dict[str, Any], texts: list[str], vocabulary: Vocabulary, clients: int) -> Turn:
    """Send all texts through `clients` clients."""
    result = await answers(base, [body | {"text": text} for text in texts], clients)
    tokens = sum(len(ids) + 1 for ids in vocabulary.encode(list(result.translations)))
    return Turn(tokens / result.seconds, result.p95)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def is_ready(url: str) -> bool:
    """Whether `url` responds with 200."""
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def running_server(
    command: list[str], base: str, ready: str, environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Run a server in its own process, with `environment` beside this process's; the block begins when it is ready."""
    process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"} | dict(environment or {}))
    try:
        deadline = time.monotonic() + 120
        while not is_ready(f"{base}{ready}"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start: {' '.join(command)}")
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)


def http_rows(
    checkpoint: Path,
    artifact: Path,
    examples: list[str],
    rounds: int,
    clients: Sequence[int] = (CLIENTS,),
    count: int = SENTENCES,
) -> list[Row]:
    """Tokens per second and p95 latency of both servers for each number of clients, medians of alternating turns."""
    vocabulary_file = find_vocabulary(checkpoint)
    vocabulary = Vocabulary(vocabulary_file)
    ports = [free_port(), free_port()]
    bases = [f"http://127.0.0.1:{port}" for port in ports]
    ours = [sys.executable, "-m", "server.cli", "serve", "--port", str(ports[0]), "--models", str(artifact)]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        convert(load_model(checkpoint), Path(folder))
        peer = [sys.executable, "-m", "loadtest.bench.http_peer", folder, str(vocabulary_file), str(ports[1])]
        ours += ["--log-level", "error", "--translation-cache-bytes", "0"]  # rounds send the same sentences again
        stack.enter_context(running_server(ours, bases[0], "/readyz"))
        stack.enter_context(running_server(peer, bases[1], "/openapi.json"))
        rows = []
        for number in clients:
            # Fewer sentences for few clients, whose throughput is lower.
            texts = sentences(examples, vocabulary, max(8, min(count, 16 * number)))
            rows += client_rows(bases, texts, vocabulary, rounds, number)
    return rows


def client_rows(
    bases: list[str],
    texts: list[str],
    vocabulary: Vocabulary,
    rounds: int,
    clients: int,
    bodies: Sequence[dict[str, Any]] = ({"source": "en", "target": "de"}, {}),
) -> list[Row]:
    """Ours at the first base beside the peer at the second base; a warm-up round does not count. `bodies`: what a
    request to each has beside its text."""
    turns: list[list[Turn]] = [[], []]
    for number in range(rounds + 1):
        for base, body, results in zip(bases, bodies, turns, strict=True):
            result = asyncio.run(turn(base, body, texts, vocabulary, clients))
            if number:
                results.append(result)
    speed = [statistics.median(result.tokens_per_second for result in results) for results in turns]
    p95 = [statistics.median(result.p95 for result in results) for results in turns]
    return [
        Row(f"{clients} clients: throughput", speed[0], speed[1], speed[0] / speed[1], "tokens/s"),
        Row(f"{clients} clients: p95 latency", p95[0], p95[1], p95[0] / p95[1], "s"),
    ]
