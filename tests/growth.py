"""Generated inputs on which a parser must take time in proportion to their size.

One unit repeated finds little: quadratic time needs a mixture, such as many beginnings and then many ends of something
else. A `Shape` is a small random recipe for texts of any length: a few units, each made of a parser's own tokens and of
pieces of them, in an arrangement. The text of a shape at four times the size must take at most six times the time, and
no more than twenty times what ordinary text of its length takes.
"""

import contextlib
import gc
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
LARGE = 16_000
"""Characters of the text that is compared with one of a quarter of its size, and with ordinary text."""
MAX_SIZE = 64_000
"""Characters of the largest text."""
MEASURABLE = 0.004
"""Processor seconds below which growth is not measured."""
MAX_GROWTH = 6.0
SURE_GROWTH = 10.0
"""Quadratic time gives 16. Growth between the two limits is measured again with larger texts."""
WIDE = 256
"""Growth that is too large is measured again from the smallest text to one of so many times its size."""
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
    usual = None if ordinary is None else _usual(run, ordinary, LARGE, 2)
    for shape in shapes(tokens, seed, count):
        seconds = check_growth(run, shape, most)
        if ordinary is None or usual is None:
            continue
        if most < LARGE or seconds > MAX_COST_RATIO * usual:
            check_cost(run, shape, ordinary)


def check_growth(run: Callable[[str], object], shape: Shape, most: int = MAX_SIZE) -> float:
    """The seconds of the text of `LARGE` characters (of `most`, if that is less); raises AssertionError if the time
    grows faster than the text. No text is longer than `most`, if that is less than `MAX_SIZE`."""
    size = min(LARGE, most) // 4
    small, large = None, fastest(run, shape.text(4 * size), 1)
    seconds = large
    while large < MEASURABLE and 16 * size <= most:  # large enough to be measured
        size *= 4
        small, large = large, fastest(run, shape.text(4 * size), 1)
    if large >= MEASURABLE and small is None:
        small = fastest(run, shape.text(size), 1)
    if small is None or large < MEASURABLE or large <= MAX_GROWTH * small:
        return seconds
    # Larger texts reach the bounds of bounded patterns and grow no more. Of two sizes, one fits the machine's caches.
    larger = [times * size for times in (1, 2, 4, 8) if 4 * times * size <= most]
    sizes = larger if len(larger) > 1 else [size, size // 2]
    growths: list[float] = []
    for first in sizes:
        growths.append(_growth(run, shape, first))
        if growths[-1] <= MAX_GROWTH:
            return seconds
    if most >= MAX_SIZE and WIDE * large < MAX_SECONDS:
        # Memory outside the caches costs several times as much a character, but then no more for a larger text.
        growth = _growth(run, shape, min(sizes), WIDE)
        if 2 ** math.log(WIDE, 4) <= growth <= max_growth(WIDE):  # less: a text of this length is refused
            return seconds
        growths.append(growth ** (1 / math.log(WIDE, 4)))
    raise AssertionError(f"four times the text takes {growths} times as long, from {sizes} characters: {shape}")


def max_growth(times: float) -> float:
    """How many times as long `times` the work may take: `MAX_GROWTH` for each factor of four."""
    return float(MAX_GROWTH ** math.log(times, 4))


def _growth(run: Callable[[str], object], shape: Shape, size: int, times: int = 4) -> float:
    """The time of a text of `times` the size, divided by the time of the text."""
    small, large = shape.text(size), shape.text(times * size)
    share = times * len(small) / len(large)
    return share * time_ratio(lambda: fastest(run, small, 1), lambda: fastest(run, large, 1), times)


def time_ratio(small: Callable[[], float], large: Callable[[], float], times: int) -> float:
    """The shortest seconds of `large`, `times` the work, divided by the shortest of `small`. As many runs as it takes
    to be sure."""
    seconds, seconds_of_large = [], []
    for runs in (2, RUNS, 3 * RUNS):  # other work on the machine makes times longer, never shorter
        for _ in range(runs):  # in turns, so that it makes both longer
            seconds.append(small())
            seconds_of_large.append(large())
        ratio = min(seconds_of_large) / min(seconds)
        if not max_growth(times) < ratio <= max_growth(times) * SURE_GROWTH / MAX_GROWTH:
            break
    return ratio


def assert_linear_count(seconds: Callable[[int], float], few: int, times: int = 16) -> None:
    """Fail where the `seconds` of work on `times` as many parts as `few` grow faster than their number. The more times,
    the less the caches weigh, which hold few parts and not many."""
    ratio = time_ratio(lambda: seconds(few), lambda: seconds(times * few), times)
    assert ratio <= max_growth(times), f"{times} times as many as {few} take {ratio:.1f} times as long"


def check_cost(run: Callable[[str], object], shape: Shape, ordinary: str = ORDINARY, size: int = LARGE) -> None:
    """Raise AssertionError if a text takes much more time than an ordinary text of its length."""
    text = shape.text(size)
    seconds, usual = [], []
    for runs in (1, RUNS, 3 * RUNS):
        for _ in range(runs):
            seconds.append(fastest(run, text, 1))
            usual.append(_usual(run, ordinary, len(text), 2))
        ratio = min(seconds) / min(usual)
        if ratio <= MAX_COST_RATIO:
            return
    raise AssertionError(f"{ratio:.0f} times the time of ordinary text: {shape}")


def _usual(run: Callable[[str], object], ordinary: str, size: int, runs: int) -> float:
    return fastest(run, (ordinary * math.ceil(size / len(ordinary)))[:size], runs)


def fastest(run: Callable[[str], object], text: str, runs: int) -> float:
    """`thread_seconds` of the shortest of several runs."""

    def once() -> None:
        with _ended_after(MAX_SECONDS, text):
            run(text)

    return min(max(1e-7, thread_seconds(once)) for _ in range(runs))


def thread_seconds(run: Callable[[], object]) -> float:
    """This thread's processor time of one run, without collections: they visit what other tests have left."""
    collects = gc.isenabled()
    gc.disable()
    started = time.thread_time()
    try:
        run()
        return time.thread_time() - started
    finally:
        if collects:
            gc.enable()


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
