"""Numbers and times of day in words: "thirty-four" is "vierunddreißig", "the third floor" is "der dritte Stock",
"half past nine" is "halb zehn"."""

import random
from collections.abc import Callable, Iterator, Mapping

from num2words import num2words

from model.synthetic.context.words import capitalized
from model.synthetic.everyday.frames import FRAMES
from model.synthetic.tables import texts


def spoken(amount: int, seed: int) -> Iterator[tuple[str, str]]:
    """(English, German): `amount` sentences of every kind in DRAWS."""
    for kind, draw in DRAWS.items():
        frames = texts(FRAMES["spoken clock" if kind == "half hour" else f"spoken {kind}"])
        rng = random.Random(f"{seed}/{kind}")
        for _ in range(amount):
            (english, german), (source, target) = rng.choice(frames), draw(rng)
            yield capitalized(english.format(source)), capitalized(german.format(target))


def _age(rng: random.Random) -> tuple[str, str]:
    """From 2 to 99."""
    return _number_words(rng.choice((rng.randrange(2, 100), rng.randrange(13, 100))), "a")


def _number(rng: random.Random) -> tuple[str, str]:
    """From 2 to 9,000."""
    number = rng.choice((rng.randrange(2, 100), rng.randrange(100, 1000, 10), rng.randrange(1000, 9001, 1000)))
    return _number_words(number, rng.choice(("one", "a")))


def _number_words(number: int, one: str) -> tuple[str, str]:
    """`one` is how a hundred and a thousand begin in English; in German they begin with neither."""
    english, german = num2words(number, lang="en"), num2words(number, lang="de")
    if number // 100 == 1 or number // 1000 == 1:
        english, german = english.replace("one", one, 1), german.removeprefix("ein")
    return english, german


def _ordinal(rng: random.Random) -> tuple[str, str]:
    """The German form is that behind "die"."""
    number = rng.choice((rng.randrange(1, 13), rng.randrange(1, 32), rng.randrange(13, 100)))
    return num2words(number, lang="en", to="ordinal"), num2words(number, lang="de", to="ordinal")


def _decade(rng: random.Random) -> tuple[str, str]:
    tens = rng.randrange(20, 100, 10)
    century = rng.choice(("19", ""))
    in_words = (num2words(tens, lang="en").removesuffix("y") + "ies", f"{capitalized(num2words(tens, lang='de'))}er")
    return rng.choice((in_words, (f"{century}{tens}s", f"{century}{tens}er")))


def _clock(rng: random.Random) -> tuple[str, str]:
    """Times in words: the hour, and quarters and minutes before or after it."""
    hour = rng.randrange(1, 13)
    here, there = (tuple(num2words(each, lang=lang) for lang in ("en", "de")) for each in (hour, hour % 12 + 1))
    minutes = rng.choice((5, 10, 20))
    few = tuple(num2words(minutes, lang=lang) for lang in ("en", "de"))
    quarter = rng.choice(("quarter", "a quarter"))
    ways = (
        (f"{here[0]} o'clock", f"{'ein' if hour == 1 else here[1]} Uhr"),
        (f"{quarter} past {here[0]}", f"Viertel nach {here[1]}"),
        (f"{quarter} to {there[0]}", f"Viertel vor {there[1]}"),
        (f"{few[0]} past {here[0]}", f"{few[1]} nach {here[1]}"),
        (f"{few[0]} to {there[0]}", f"{few[1]} vor {there[1]}"),
    )
    return rng.choice(ways)


def _half_hour(rng: random.Random) -> tuple[str, str]:
    """A kind of its own, because German counts half hours from the next hour, which needs many examples."""
    hour = rng.randrange(1, 13)
    return f"half past {num2words(hour, lang='en')}", f"halb {num2words(hour % 12 + 1, lang='de')}"


DRAWS: Mapping[str, Callable[[random.Random], tuple[str, str]]] = {
    "age": _age,
    "number": _number,
    "ordinal": _ordinal,
    "decade": _decade,
    "clock": _clock,
    "half hour": _half_hour,
}
