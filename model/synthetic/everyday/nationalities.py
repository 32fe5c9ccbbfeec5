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
    """`language` is None where no language has this name."""

    english: str
    german: str
    man: str
    woman: str
    language: str | None


def read_nationalities(path: Path) -> list[Nationality]:
    """A line each: English, German adjective, man, woman, for some the English language, with tabs between; # begins
    a comment. Raises ConfigError with the line."""
    results = []
    for number, line in numbered_lines(path):
        english, german, man, woman, language = (*line.split("\t"), "", "", "", "")[:5]
        if not (english and german and man and woman):
            raise ConfigError(
                f"{path}, line {number}: a nationality is English, German adjective, man, woman and, where there is "
                f"one, the English language, with tabs between"
            )
        results.append(Nationality(english, german, man, woman, language or None))
    return results


def nationalities_in_sentences(nationalities: Sequence[Nationality]) -> Iterator[tuple[str, str]]:
    """(English, German): every nationality, and every language, in every frame."""
    for nationality in nationalities:
        forms = {
            "english": nationality.english,
            "a": f"{'an' if VOWEL.match(nationality.english) else 'a'} {nationality.english}",
            "german": nationality.german,
            "man": nationality.man,
            "woman": nationality.woman,
            "language": nationality.language or "",
            "sprache": capitalized(nationality.german),
        }
        for english, german in texts(FRAMES["nationalities"] + (FRAMES["languages"] if nationality.language else ())):
            yield english.format(**forms), german.format(**forms)
