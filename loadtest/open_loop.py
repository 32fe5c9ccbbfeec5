"""Requests that come whether or not the ones before were answered, as real users do: Poisson arrivals at a given rate.

    python -m loadtest.open_loop http://127.0.0.1:8000 --rates 5,10,20,40 --seconds 20

Users who wait for their answers slow down with the server, and hide that it cannot keep up; arrivals do not. Each
request has 1 to 8 sentences. 429 is counted apart from other answers: refusing at once is right when there is too much.
The same seed sends the same requests at the same moments to every server.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import aiohttp

from loadtest.texts import PARAGRAPHS, SHORT, STORY

SENTENCES = (*SHORT, *STORY, *(line for text in PARAGRAPHS for line in text.replace("\n", " ").split(". ")))


@dataclass(frozen=True)
class Arrival:
    """`at`: seconds after the start."""

    at: float
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Level:
    """What one rate led to. Latencies in seconds, of answers with 200 only; nan where there is none."""

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
    """Requests of `rate` a second on average, each at its moment, of 1 to 8 sentences."""
    chance = random.Random(seed)
    made, at = list[Arrival](), chance.expovariate(rate)
    while at < seconds:
        made.append(Arrival(at, tuple(chance.choices(sentences, k=chance.randint(1, 8)))))
        at += chance.expovariate(rate)
    return made


def level_of(rate: float, statuses: Sequence[int], latencies: Sequence[float], seconds: float) -> Level:
    """`statuses` of all requests (0: no answer), `latencies` of those that were answered with 200."""
    ordered = sorted(latencies)
    cuts = statistics.quantiles(ordered, n=100, method="inclusive") if len(ordered) > 1 else ordered * 99
    p50, p95, p99 = (cuts[49], cuts[94], cuts[98]) if cuts else (float("nan"),) * 3
    refused = sum(status == 429 for status in statuses)
    failed = len(statuses) - refused - len(latencies)
    return Level(rate, len(statuses), len(latencies), refused, failed, len(latencies) / seconds, p50, p95, p99)


async def offer(
    base: str,
    rate: float,
    seconds: float,
    seed: int,
    timeout: float = 60.0,
    sentences: Sequence[str] = SENTENCES,
) -> Level:
    """Send requests at their moments, whatever becomes of those before."""
    statuses, latencies = list[int](), list[float]()
    limit = aiohttp.ClientTimeout(total=timeout)
    async with aiohttp.ClientSession(base, connector=aiohttp.TCPConnector(limit=0), timeout=limit) as client:
        started = time.perf_counter()

        async def send(arrival: Arrival) -> None:
            await asyncio.sleep(arrival.at - (time.perf_counter() - started))
            body = {"text": arrival.texts, "source": "en", "target": "de"}
            try:
                async with client.post("/v1/translate", json=body) as response:
                    await response.read()
                    statuses.append(response.status)
                    if response.status == 200:
                        # Measured from the moment at which it was due, so that delays of this sender count too.
                        latencies.append(time.perf_counter() - started - arrival.at)
            except (aiohttp.ClientError, TimeoutError):
                statuses.append(0)

        await asyncio.gather(*(send(one) for one in arrivals(rate, seconds, seed, sentences)))
        return level_of(rate, statuses, latencies, time.perf_counter() - started)


def highest_rate(levels: Sequence[Level], objective: float) -> float:
    """The highest rate up to which p95 stays below `objective` seconds and nothing is refused or fails; 0 for none."""
    held = 0.0
    for level in sorted(levels, key=lambda one: one.rate):
        if level.failed or level.refused or not level.p95 < objective:
            return held
        held = level.rate
    return held


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 when requests fail, or when the first rate already misses the objective."""
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
    held = highest_rate(levels, args.objective)
    print(f"held: {held:g} requests/s with p95 below {args.objective:g} s", file=sys.stderr)
    return 1 if held == 0 or any(level.failed for level in levels) else 0


if __name__ == "__main__":
    sys.exit(main())
