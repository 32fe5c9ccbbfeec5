"""Numbers and times of day in words: read back by rules of their own, both sides say the same."""

import re
from collections.abc import Callable

import pytest

from model.synthetic.context.words import listed
from model.synthetic.everyday.frames import FRAMES
from model.synthetic.everyday.spoken import DRAWS, spoken

MADE = list(spoken(300, 1))
ENGLISH = listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
ENGLISH_TENS = listed("twenty thirty forty fifty sixty seventy eighty ninety")
GERMAN = listed(
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn"
)
GERMAN_TENS = listed("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
ORDINALS = {
    "first": "one", "second": "two", "third": "three", "fifth": "five", "eighth": "eight", "ninth": "nine",
    "twelfth": "twelve", "erste": "eins", "dritte": "drei", "siebte": "sieben", "achte": "acht",
}  # fmt: skip
HALF = 30


def made(kind: str) -> list[tuple[str, str]]:
    """What is put into the frames of a kind."""
    patterns = [
        tuple(re.compile(re.escape(side).replace(r"\{\}", "(.+)"), re.IGNORECASE) for side in frame)
        for frame in FRAMES["spoken clock" if kind == "half hour" else f"spoken {kind}"]
        if frame[0] != "{}"
    ]
    results = []
    for english, german in MADE:
        for of_english, of_german in patterns:
            pair = of_english.fullmatch(english), of_german.fullmatch(german)
            if pair[0] and pair[1]:
                results.append((pair[0][1].lower(), pair[1][1].lower()))
    return results


def english_number(words: str) -> int:
    total = 0
    for word in re.findall(r"[a-z]+", words):
        if word in ("hundred", "thousand"):
            total *= {"hundred": 100, "thousand": 1000}[word]
        elif word == "a":
            total = 1
        elif word in ENGLISH_TENS:
            total += 10 * (ENGLISH_TENS.index(word) + 2)
        elif word != "and":
            total += ENGLISH.index(word)
    return total


def german_number(word: str) -> int:
    for unit, size in (("tausend", 1000), ("hundert", 100)):
        if unit in word:
            before, _, behind = word.partition(unit)
            return (german_number(before) if before else 1) * size + (german_number(behind) if behind else 0)
    ones, _, tens = word.rpartition("und")
    if tens in GERMAN_TENS:
        return 10 * (GERMAN_TENS.index(tens) + 2) + (german_number("eins" if ones == "ein" else ones) if ones else 0)
    return GERMAN.index(word)


def english_ordinal(word: str) -> int:
    before, dash, last = word.rpartition("-")
    cardinal = ORDINALS.get(last) or (last[:-4] + "y" if last.endswith("tieth") else last.removesuffix("th"))
    return english_number(f"{before}{dash}{cardinal}")


def german_ordinal(word: str) -> int:
    for ordinal in ("erste", "dritte", "siebte", "achte"):
        if word.endswith(ordinal):
            return german_number(word.removesuffix(ordinal) + ORDINALS[ordinal])
    short = word.removesuffix("te")
    return german_number(short if short in GERMAN else word.removesuffix("ste"))


def english_minutes(words: str) -> int:
    """Since midnight or noon."""
    hour = words.rpartition(" ")[2] if "o'clock" not in words else words.partition(" ")[0]
    first, _, _ = words.removeprefix("a ").partition(" ")
    part = {"half": HALF, "quarter": 15}.get(first) or english_number(first)
    sign = 0 if "o'clock" in words else -1 if " to " in words else 1
    return (60 * english_number(hour) + sign * part) % 720


def german_minutes(words: str) -> int:
    first, _, last = words.partition(" ")
    if first == "halb":
        return (60 * german_number(last) - HALF) % 720
    if last == "uhr":
        return 60 * german_number("eins" if first == "ein" else first) % 720
    part = 15 if first == "viertel" else german_number(first)
    return (60 * german_number(last.rpartition(" ")[2]) + (-1 if " vor " in words else 1) * part) % 720


@pytest.mark.parametrize(
    ("kind", "read_english", "read_german", "values"),
    [
        ("age", english_number, german_number, 60),
        ("number", english_number, german_number, 90),
        ("ordinal", english_ordinal, german_ordinal, 60),
        ("clock", english_minutes, german_minutes, 50),
    ],
)
def test_both_sides_say_the_same(
    kind: str, read_english: Callable[[str], int], read_german: Callable[[str], int], values: int
) -> None:
    pairs = made(kind)
    assert len({read_english(english) for english, _ in pairs}) > values
    for english, german in pairs:
        assert read_english(english) == read_german(german), (english, german)


def test_every_half_hour_occurs() -> None:
    """They share their frames with other times, so that the test above has read both sides."""
    half_hours = [english for english, _ in made("clock") if english.startswith("half past")]
    assert len({english_minutes(english) for english in half_hours}) == 12
    assert len(half_hours) > len(made("clock")) / 3


def test_decades_are_the_same() -> None:
    pairs = made("decade")
    assert len(set(pairs)) > 15
    for english, german in pairs:
        if english[0].isdigit():
            assert english.removesuffix("s") == german.removesuffix("er")
        else:
            assert ENGLISH_TENS.index(english.replace("ies", "y")) == GERMAN_TENS.index(german.removesuffix("er"))


def test_so_many_of_every_kind_and_the_same_again() -> None:
    assert len(MADE) == 300 * len(DRAWS)
    assert list(spoken(300, 1)) == MADE != list(spoken(300, 2))


def test_sentences_as_people_say_them() -> None:
    made = dict(spoken(3000, 1))
    assert made["Today is my twenty-first birthday."] == "Heute ist mein einundzwanzigster Geburtstag."
    assert made["The bus leaves at half past twelve."] == "Der Bus fährt um halb eins ab."
    assert made["The film begins at one o'clock."] == "Der Film beginnt um ein Uhr."
    assert made["It costs a hundred and ten euros."] == "Es kostet hundertzehn Euro."
    assert made["That was in the 1980s."] == "Das war in den 1980ern."
