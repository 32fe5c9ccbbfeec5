"""Generated inputs on which a parser must take time in proportion to their size.

One unit repeated finds little: quadratic time needs a mixture, such as many beginnings and then many ends of something
else. A `Shape` is a small random recipe for texts of any length: a few units, each made of a parser's own tokens and of
pieces of them, in an arrangement. The text of a shape at four times the size must take at most six times the time, and
no more than twenty times what ordinary text of its length takes.
"""

import contextlib
import math
import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Arrangement = Literal["repeated", "blocks", "shuffled", "nested"]

SHAPES = int(os.environ.get("GROWTH_SHAPES", "40"))
"""Shapes that are tried for every parser. GROWTH_SHAPES=300 finds a few that cost up to 29 times ordinary text."""
SMALL, LARGE = 250, 16_000
"""Characters of the first text whose time is taken, and of that which is compared with ordinary text."""
MOST = 64_000
"""Characters of the largest text."""
MEASURABLE = 0.004
"""Seconds of processor below which a time says nothing about growth."""
MOST_GROWTH = 6.0
SURE_GROWTH = 10.0
"""Quadratic time gives 16. What is between the two is looked at again, with larger texts."""
MOST_TIMES_ORDINARY = 20.0
RUNS = 5
ENDLESS = 20.0
"""Seconds of processor after which a run is ended: exponential time would take years."""

ORDINARY = (
    "The train to Hamburg leaves in ten minutes. We walk home in the rain, and nobody minds. How much is the blue one? "
    "She has lived here since 1998; her brother moved to the coast last year.\n"
)


@dataclass(frozen=True)
class Shape:
    """A recipe for texts of any length."""

    units: tuple[str, ...]
    arrangement: Arrangement
    before: str = ""
    after: str = ""

    def text(self, size: int) -> str:
        """About `size` characters."""
        room = max(0, size - len(self.before) - len(self.after))
        count = max(1, room // max(1, sum(map(len, self.units))))
        match self.arrangement:
            case "repeated":
                middle = "".join(self.units) * count
            case "blocks":
                middle = "".join(unit * count for unit in self.units)
            case "nested":
                half = max(1, count // 2)
                middle = "".join(u * half for u in self.units) + "".join(u * half for u in reversed(self.units))
            case "shuffled":
                chance = random.Random(size)
                middle = "".join(chance.choices(self.units, k=count * len(self.units)))
        return self.before + middle + self.after


def shapes(tokens: Sequence[str], seed: int, count: int = SHAPES) -> Iterator[Shape]:
    """Random shapes of a parser's `tokens` and of pieces of them; the same for the same seed."""
    chance = random.Random(seed)
    plain = [" ", "a", "a ", "\n", "0", ".", "\u00e9", "\x00", "Word. "]
    arrangements: tuple[Arrangement, ...] = ("repeated", "blocks", "shuffled", "nested")

    def unit() -> str:
        parts = []
        for _ in range(chance.choice((1, 1, 1, 2, 2, 3))):
            token = chance.choice(tokens) if chance.random() < 0.8 else chance.choice(plain)
            if len(token) > 1 and chance.random() < 0.25:  # a piece of a token
                start = chance.randrange(len(token))
                token = token[start : start + chance.randint(1, len(token) - start)]
            parts.append(token)
        return "".join(parts)

    for token in tokens:  # what repetition of one unit finds is found in every run
        yield Shape((token,), "repeated")
    for _ in range(count):
        units = tuple(unit() for _ in range(chance.choice((1, 2, 2, 3, 4))))
        edge = chance.random() < 0.3
        yield Shape(units, chance.choice(arrangements), chance.choice(tokens) * edge, chance.choice(tokens) * edge)


def assert_linear(
    run: Callable[[str], object],
    tokens: Sequence[str],
    seed: int = 0,
    count: int = SHAPES,
    most: int = MOST,
    ordinary: str | None = ORDINARY,
) -> None:
    """Fail, with the shape of the input, where `run` takes more than linear time on a text made of `tokens`, or more
    than twenty times what it takes for `ordinary` text of the same length (None: that is not asked). `run` raises
    nothing: it catches what its parser raises for bad input."""
    for shape in shapes(tokens, seed, count):
        check_growth(run, shape, most)
        if ordinary is not None:
            check_cost(run, shape, ordinary)


def check_growth(run: Callable[[str], object], shape: Shape, most: int = MOST) -> None:
    """Raise AssertionError where the time grows faster than the text."""
    size = SMALL
    seconds = fastest(run, shape.text(size), 1)
    while seconds < MEASURABLE and size < most // 4:  # large enough to be measured
        size *= 2
        seconds = fastest(run, shape.text(size), 1)
    if seconds < MEASURABLE:
        return
    found: list[float] = []
    while not found or 4 * size <= most:  # the bound of a pattern is reached by larger texts, and they show no growth
        found.append(_growth(run, shape, size))
        if found[-1] <= MOST_GROWTH:
            return
        if found[-1] > SURE_GROWTH:
            break
        size *= 2
    raise AssertionError(f"four times the text takes {found} times as long, at {size} characters last: {shape}")


def _growth(run: Callable[[str], object], shape: Shape, size: int) -> float:
    """How many times as long a text of four times the size takes."""
    small, large = shape.text(size), shape.text(4 * size)
    share = 4 * len(small) / len(large)
    growth = share * fastest(run, large, 1) / fastest(run, small, 2)
    for runs in (2, RUNS, 3 * RUNS):  # whatever else the machine does makes times longer, never shorter
        if growth <= MOST_GROWTH or (runs > 2 and growth > SURE_GROWTH):
            break
        growth = share * fastest(run, large, runs) / fastest(run, small, runs)
    return growth


def check_cost(run: Callable[[str], object], shape: Shape, ordinary: str = ORDINARY, size: int = LARGE) -> None:
    """Raise AssertionError where a text takes much more time than an ordinary one of its length."""
    text = shape.text(size)
    usual = (ordinary * math.ceil(len(text) / len(ordinary)))[: len(text)]
    ratio = fastest(run, text, 1) / fastest(run, usual, 2)
    for runs in (RUNS, 3 * RUNS):
        if ratio <= MOST_TIMES_ORDINARY:
            return
        ratio = fastest(run, text, runs) / fastest(run, usual, runs)
    assert ratio <= MOST_TIMES_ORDINARY, f"{ratio:.0f} times the time of ordinary text: {shape}"


def fastest(run: Callable[[str], object], text: str, runs: int) -> float:
    """Seconds of this thread's processor time that the shortest of several runs takes."""

    def once() -> float:
        started = time.thread_time()
        with _ended_after(ENDLESS, text):
            run(text)
        return max(1e-7, time.thread_time() - started)

    return min(once() for _ in range(runs))


@contextlib.contextmanager
def _ended_after(seconds: float, text: str) -> Iterator[None]:
    """End with AssertionError what takes `seconds` of processor; use it in the main thread. Patterns look for signals
    while they match."""

    def end(number: int, frame: object) -> None:
        raise AssertionError(f"{len(text)} characters take more than {seconds} seconds: {text[:200]!r}")

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
