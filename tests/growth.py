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

SHAPES = int(os.environ.get("GROWTH_SHAPES", "16"))
"""Shapes that are tried for every parser. GROWTH_SHAPES=300 finds a few that cost up to 29 times ordinary text."""
SMALL, LARGE = 250, 16_000
"""Characters of the first text that is timed, and of the text that is compared with ordinary text."""
MAX_SIZE = 64_000
"""Characters of the largest text."""
MEASURABLE = 0.004
"""Processor seconds below which growth is not measured."""
MAX_GROWTH = 6.0
SURE_GROWTH = 10.0
"""Quadratic time gives 16. Growth between the two limits is measured again with larger texts."""
MAX_COST_RATIO = 20.0
RUNS = 5
MAX_SECONDS = 20.0
"""Processor seconds after which a run is aborted: exponential time would take years."""

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
                generator = random.Random(size)
                middle = "".join(generator.choices(self.units, k=count * len(self.units)))
        return self.before + middle + self.after


def shapes(tokens: Sequence[str], seed: int, count: int = SHAPES) -> Iterator[Shape]:
    """Random shapes of a parser's `tokens` and of pieces of them; the same for the same seed."""
    generator = random.Random(seed)
    plain = [" ", "a", "a ", "\n", "0", ".", "\u00e9", "\x00", "Word. "]
    arrangements: tuple[Arrangement, ...] = ("repeated", "blocks", "shuffled", "nested")

    def unit() -> str:
        parts = []
        for _ in range(generator.choice((1, 1, 1, 2, 2, 3))):
            token = generator.choice(tokens) if generator.random() < 0.8 else generator.choice(plain)
            if len(token) > 1 and generator.random() < 0.25:  # a piece of a token
                start = generator.randrange(len(token))
                token = token[start : start + generator.randint(1, len(token) - start)]
            parts.append(token)
        return "".join(parts)

    for token in tokens:  # repetition of one unit is tried in every run
        yield Shape((token,), "repeated")
    for _ in range(count):
        units = tuple(unit() for _ in range(generator.choice((1, 2, 2, 3, 4))))
        edge = generator.random() < 0.3
        yield Shape(
            units, generator.choice(arrangements), generator.choice(tokens) * edge, generator.choice(tokens) * edge
        )


def assert_linear(
    run: Callable[[str], object],
    tokens: Sequence[str],
    seed: int = 0,
    count: int = SHAPES,
    most: int = MAX_SIZE,
    ordinary: str | None = ORDINARY,
) -> None:
    """Fail, with the shape of the input, where `run` takes more than linear time on a text made of `tokens`, or more
    than twenty times what it takes for `ordinary` text of the same length (None: no such check). `run` raises
    nothing: it catches what its parser raises for bad input."""
    for shape in shapes(tokens, seed, count):
        check_growth(run, shape, most)
        if ordinary is not None:
            check_cost(run, shape, ordinary)


def check_growth(run: Callable[[str], object], shape: Shape, most: int = MAX_SIZE) -> None:
    """Raise AssertionError if the time grows faster than the text."""
    size = SMALL
    seconds = fastest(run, shape.text(size), 1)
    while seconds < MEASURABLE and size < most // 4:  # large enough to be measured
        size *= 2
        seconds = fastest(run, shape.text(size), 1)
    if seconds < MEASURABLE:
        return
    growths: list[float] = []
    while not growths or 4 * size <= most:  # larger texts reach the bounds of bounded patterns and grow no more
        growths.append(_growth(run, shape, size))
        if growths[-1] <= MAX_GROWTH:
            return
        if growths[-1] > SURE_GROWTH:
            break
        size *= 2
    raise AssertionError(f"four times the text takes {growths} times as long, at {size} characters last: {shape}")


def _growth(run: Callable[[str], object], shape: Shape, size: int) -> float:
    """The time of a text of four times the size, divided by the time of the text."""
    small, large = shape.text(size), shape.text(4 * size)
    share = 4 * len(small) / len(large)
    growth = share * fastest(run, large, 1) / fastest(run, small, 2)
    for runs in (2, RUNS, 3 * RUNS):  # other work on the machine makes times longer, never shorter
        if growth <= MAX_GROWTH or (runs > 2 and growth > SURE_GROWTH):
            break
        growth = share * fastest(run, large, runs) / fastest(run, small, runs)
    return growth


def check_cost(run: Callable[[str], object], shape: Shape, ordinary: str = ORDINARY, size: int = LARGE) -> None:
    """Raise AssertionError if a text takes much more time than an ordinary text of its length."""
    text = shape.text(size)
    usual = (ordinary * math.ceil(len(text) / len(ordinary)))[: len(text)]
    ratio = fastest(run, text, 1) / fastest(run, usual, 2)
    for runs in (RUNS, 3 * RUNS):
        if ratio <= MAX_COST_RATIO:
            return
        ratio = fastest(run, text, runs) / fastest(run, usual, runs)
    assert ratio <= MAX_COST_RATIO, f"{ratio:.0f} times the time of ordinary text: {shape}"


def fastest(run: Callable[[str], object], text: str, runs: int) -> float:
    """Seconds of this thread's processor time that the shortest of several runs takes."""

    def once() -> float:
        started = time.thread_time()
        with _ended_after(MAX_SECONDS, text):
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
