"""Made biographies: a sentence with he or she, and a sentence with a profession."""

import random
from collections.abc import Sequence

from model.synthetic.context.frames import FRAMES
from model.synthetic.context.german import Gender
from model.synthetic.context.it import AmbiguousSentence
from model.synthetic.context.professions import Profession, with_article
from model.synthetic.context.words import capitalized
from model.synthetic.tables import Text, first_cells, texts

ADJECTIVES, CITIES = texts(FRAMES["adjectives of persons"]), first_cells(FRAMES["cities"])
PEOPLE: tuple[Gender, Gender] = ("m", "f")
FIRST_NAMES = {gender: first_cells(FRAMES[f"first names {gender}"]) for gender in PEOPLE}


def life(gender: Gender, surname: str, frames: Sequence[Text], numbers: random.Random) -> Text:
    """A sentence with he or she."""
    p, q, h, i = ("he", "er", "his", "sein") if gender == "m" else ("she", "sie", "her", "ihr")
    values = {"p": p, "P": capitalized(p), "q": q, "Q": capitalized(q), "h": h, "H": capitalized(h)}
    values |= {"i": i, "I": capitalized(i), "e": "e", "S": surname, "F": numbers.choice(FIRST_NAMES[gender])}
    values |= {"Y": str(numbers.randrange(1780, 2020)), "C": numbers.choice(CITIES)}
    frame = numbers.choice(frames)
    return frame[0].format(**values), frame[1].format(**values)


def work(
    profession: Profession, other: Profession, surname: str, frames: Sequence[Text], numbers: random.Random
) -> AmbiguousSentence:
    """A sentence with a profession, or with two of the same person."""
    source_adjective, target_adjective = numbers.choice(ADJECTIVES)
    frame = numbers.choice(frames)
    values = {
        "S": surname,
        "C": numbers.choice(CITIES),
        "Y": str(numbers.randrange(1780, 2020)),
        "e": profession.source,
    }
    values |= {"a": with_article(profession.source), "ja": with_article(f"{source_adjective} {profession.source}")}
    values |= {"b": with_article(other.source), "J": source_adjective, "j": target_adjective}
    masculine = {"N": profession.masculine, "A": profession.oblique, "G": profession.genitive, "M": other.masculine}
    masculine |= {"ein": "ein", "er": "er", "en": "en"}
    masculine |= {"der": "der", "Der": "Der", "den": "den", "dem": "dem", "des": "des"}
    feminine = dict.fromkeys("NAG", profession.feminine) | {"M": other.feminine, "ein": "eine", "er": "e", "en": "e"}
    feminine |= {"der": "die", "Der": "Die", "den": "die", "dem": "der", "des": "der"}
    grammar: dict[Gender, dict[str, str]] = {"m": masculine, "f": feminine}
    targets = {gender: frame[1].format(**values, **grammar[gender]) for gender in PEOPLE}
    return AmbiguousSentence(frame[0].format(**values), targets, "biography")
