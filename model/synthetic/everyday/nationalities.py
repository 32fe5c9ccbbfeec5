"""Nationalities and languages in sentences: "She is Polish, but she speaks Dutch." """

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.config import ConfigError
from model.synthetic.context.words import capitalized
from model.synthetic.everyday.frames import FRAMES
from model.synthetic.everyday.things import VOWEL
from model.synthetic.tables import numbered_lines, texts


@dataclass(frozen=True)
class Nationality:
    """`language` is None where none is called so."""

    english: str
    german: str
    man: str
    woman: str
    language: str | None


def read_nationalities(path: Path) -> list[Nationality]:
    """A line each: English, German adjective, man, woman, for some the English language, with tabs between; # begins
    a comment. Raises ConfigError with the line."""
    found = []
    for number, line in numbered_lines(path):
        english, german, man, woman, language = (*line.split("\t"), "", "", "", "")[:5]
        if not (english and german and man and woman):
            raise ConfigError(
                f"{path}, line {number}: a nationality is English, German adjective, man, woman and, where there is "
                f"one, the English language, with tabs between"
            )
        found.append(Nationality(english, german, man, woman, language or None))
    return found


def nationalities_in_sentences(nationalities: Sequence[Nationality]) -> Iterator[tuple[str, str]]:
    """(English, German): every nationality, and every language, in every frame."""
    for one in nationalities:
        forms = {
            "english": one.english,
            "a": f"{'an' if VOWEL.match(one.english) else 'a'} {one.english}",
            "german": one.german,
            "man": one.man,
            "woman": one.woman,
            "language": one.language or "",
            "sprache": capitalized(one.german),
        }
        for english, german in texts(FRAMES["nationalities"] + (FRAMES["languages"] if one.language else ())):
            yield english.format(**forms), german.format(**forms)
