"""Times, dates, amounts of money and large numbers in sentences, as each language writes them: "3:30 pm" is
"15:30 Uhr", "May 4, 1990" is "4. Mai 1990", "1,500" is "1.500"."""

import random
from collections.abc import Iterator

from model.synthetic.context.words import capitalized, listed
from model.synthetic.everyday.frames import FRAMES
from model.synthetic.tables import texts

MONTHS = dict(
    zip(
        listed("January February March April May June July August September October November December"),
        listed("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
        strict=True,
    )
)
DAYS = dict(
    zip(
        listed("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
        listed("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag"),
        strict=True,
    )
)


def quantities(amount: int, seed: int) -> Iterator[tuple[str, str]]:
    """(English, German): `amount` sentences of every kind."""
    draws = {
        "time": _time, "hours": _hours, "appointment": _appointment, "date": _date, "money": _money, "amount": _amount,
        "measure": _measure,
    }  # fmt: skip
    for kind, draw in draws.items():
        frames, rng = texts(FRAMES[f"quantities {kind}"]), random.Random(f"{seed}/{kind}")
        for _ in range(amount):
            (english, german), (source, target) = rng.choice(frames), draw(rng)
            yield capitalized(english.format(source)), german.format(target)


def _time(rng: random.Random) -> tuple[str, str]:
    """Hours of a day in halves, and in one."""
    hour, minute = rng.randrange(1, 24), rng.choice((0, 0, 0, 15, 30, 45, rng.randrange(60)))
    half = rng.choice(("am", "a.m.", "AM") if hour < 12 else ("pm", "p.m.", "PM"))
    in_half = (hour - 1) % 12 + 1
    if minute == 0:
        return rng.choice((f"{in_half} {half}", f"{in_half}{half}", f"{in_half}:00 {half}")).rstrip("."), f"{hour}"
    return f"{in_half}:{minute:02} {half}".rstrip("."), f"{hour}:{minute:02}"


def _hours(rng: random.Random) -> tuple[str, str]:
    begin, end = rng.randrange(7, 12), rng.randrange(13, 21)
    to = rng.choice((f"{begin} am to {end - 12} pm", f"{begin}:00 am to {end - 12}:00 pm"))
    return to, f"{begin} bis {end}"


def _appointment(rng: random.Random) -> tuple[str, str]:
    day, (source, target) = rng.choice(tuple(DAYS)), _time(rng)
    return f"{day} at {source}", f"{DAYS[day]} um {target}"


def _date(rng: random.Random) -> tuple[str, str]:
    day, month = rng.randrange(1, 29), rng.choice(tuple(MONTHS))
    year = rng.choice(("", f" {rng.randrange(1850, 2040)}"))
    comma = "," if year else ""
    forms = (f"{month} {day}{comma}{year}", f"{day} {month}{year}", f"{month} {_ordinal(day)}{comma}{year}")
    return rng.choice(forms), f"{day}. {MONTHS[month]}{year}"


def _ordinal(day: int) -> str:
    ending = "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def _money(rng: random.Random) -> tuple[str, str]:
    cents = rng.choice((0, rng.randrange(1, 100)))
    whole = rng.choice((rng.randrange(1, 20), rng.randrange(1, 1000), rng.randrange(1, 100_000)))
    sign = rng.choice("$€£")
    german = f"{_german(whole)},{cents:02}" if cents else _german(whole)
    return f"{sign}{whole:,}" + (f".{cents:02}" if cents else ""), f"{german} {sign}"


def _amount(rng: random.Random) -> tuple[str, str]:
    digits = rng.randrange(3, 8)
    number = rng.randrange(10**digits, 10 ** (digits + 1))
    number -= number % 10 ** rng.randrange(digits)
    return f"{number:,}", _german(number)


def _measure(rng: random.Random) -> tuple[str, str]:
    whole, part = rng.randrange(1, 60), rng.randrange(1, 10)
    return f"{whole}.{part}", f"{whole},{part}"


def _german(number: int) -> str:
    return f"{number:,}".replace(",", ".")
