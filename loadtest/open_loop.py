"""Open-loop load: requests arrive independently of earlier responses, as from real users (Poisson arrivals).

    python -m loadtest.open_loop http://127.0.0.1:8000 --rates 5,10,20,40 --seconds 20

Closed-loop clients wait for each response, so they slow down with the server and hide that it is overloaded. Each
request has 1 to 8 sentences. 429 is counted separately: an overloaded server should refuse at once. The same seed sends
the same requests at the same times to every server.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import aiohttp

from loadtest.texts import PARAGRAPHS, SHORT, STORY

SENTENCES = (*SHORT, *STORY, *(line for text in PARAGRAPHS for line in text.replace("\n", " ").split(". ")))


@dataclass(frozen=True)
class Arrival:
    """A request, `at` seconds after the start."""

    at: float
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Level:
    """The measurements at one rate. Latencies in seconds, of responses with 200 only; nan without such responses."""

    rate: float
    sent: int
    answered: int
    refused: int
    failed: int
    throughput: float
    p50: float
    p95: float
    p99: float


def arrivals(rate: float, seconds: float, seed: int, sentences: Sequence[str] = SENTENCES) -> list[Arrival]:
    """Requests of 1 to 8 sentences, on average `rate` a second."""
    generator = random.Random(seed)
    requests, at = list[Arrival](), generator.expovariate(rate)
    while at < seconds:
        requests.append(Arrival(at, tuple(generator.choices(sentences, k=generator.randint(1, 8)))))
        at += generator.expovariate(rate)
    return requests


def level_of(rate: float, statuses: Sequence[int], latencies: Sequence[float], seconds: float) -> Level:
    """`statuses` of all requests (0: no response), `latencies` of the responses with 200."""
    ordered = sorted(latencies)
    cuts = statistics.quantiles(ordered, n=100, method="inclusive") if len(ordered) > 1 else ordered * 99
    p50, p95, p99 = (cuts[49], cuts[94], cuts[98]) if cuts else (float("nan"),) * 3
    refused = sum(status == 429 for status in statuses)
    failed = len(statuses) - refused - len(latencies)
    return Level(rate, len(statuses), len(latencies), refused, failed, len(latencies) / seconds, p50, p95, p99)


def native_request(texts: Sequence[str]) -> tuple[str, dict[str, object]]:
    """Path and body of a request of RingMT's API: a text each."""
    return "/v1/translate", {"text": texts, "source": "en", "target": "de"}


def libretranslate_request(texts: Sequence[str]) -> tuple[str, dict[str, object]]:
    """Path and body of a request of LibreTranslate's API: one text, which the server splits into sentences."""
    return "/translate", {"q": " ".join(texts), "source": "en", "target": "de", "format": "text"}


async def offer(
    base: str,
    rate: float,
    seconds: float,
    seed: int,
    timeout: float = 60.0,
    sentences: Sequence[str] = SENTENCES,
    request_of: Callable[[Sequence[str]], tuple[str, dict[str, object]]] = native_request,
) -> Level:
    """Send each request at its time, independently of earlier responses."""
    statuses, latencies = list[int](), list[float]()
    limit = aiohttp.ClientTimeout(total=timeout)
    async with aiohttp.ClientSession(base, connector=aiohttp.TCPConnector(limit=0), timeout=limit) as client:
        started = time.perf_counter()

        async def send(arrival: Arrival) -> None:
            await asyncio.sleep(arrival.at - (time.perf_counter() - started))
            path, body = request_of(arrival.texts)
            try:
                async with client.post(path, json=body) as response:
                    await response.read()
                    statuses.append(response.status)
                    if response.status == 200:
                        # Measured from the due time, so that delays of this sender count, too.
                        latencies.append(time.perf_counter() - started - arrival.at)
            except (aiohttp.ClientError, TimeoutError):
                statuses.append(0)

        await asyncio.gather(*(send(arrival) for arrival in arrivals(rate, seconds, seed, sentences)))
        return level_of(rate, statuses, latencies, time.perf_counter() - started)


def highest_rate(levels: Sequence[Level], objective: float) -> float:
    """The highest rate up to which p95 stays below `objective` seconds and no request is refused or fails, or 0."""
    highest = 0.0
    for level in sorted(levels, key=lambda level: level.rate):
        if level.failed or level.refused or not level.p95 < objective:
            return highest
        highest = level.rate
    return highest


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 if requests fail, or if the first rate misses the objective."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("base", help="address of a server")
    parser.add_argument("--rates", default="2,4,8,16", help="requests a second, comma-separated")
    parser.add_argument("--seconds", type=float, default=20.0, help="of every rate")
    parser.add_argument("--objective", type=float, default=0.5, help="seconds that p95 must stay below")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    levels = []
    for rate in map(float, args.rates.split(",")):
        level = asyncio.run(offer(args.base, rate, args.seconds, args.seed))
        print(json.dumps(asdict(level)), flush=True)
        levels.append(level)
    highest = highest_rate(levels, args.objective)
    print(f"held: {highest:g} requests/s with p95 below {args.objective:g} s", file=sys.stderr)
    return 1 if highest == 0 or any(level.failed for level in levels) else 0


if __name__ == "__main__":
    sys.exit(main())
