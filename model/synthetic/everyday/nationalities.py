"""Nationalities and languages in sentences: "She is Polish, but she speaks Dutch." """

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.config import ConfigError
from model.synthetic.context.words import capitalized
from model.synthetic.everyday.lines import numbered_lines
from model.synthetic.everyday.things import VOWEL

FRAMES = (
    ("{english}", "{german}"),
    ("She is {english}.", "Sie ist {woman}."),
    ("He is {english}.", "Er ist {man}."),
    ("My wife is {english}.", "Meine Frau ist {woman}."),
    ("Her husband is {english}.", "Ihr Mann ist {man}."),
    ("Our new colleague is {english}.", "Unser neuer Kollege ist {man}."),
    ("I like {english} food.", "Ich mag {german}es Essen."),
    ("We watched {a} film.", "Wir haben einen {german}en Film gesehen."),
    ("She works for {a} company.", "Sie arbeitet für ein {german}es Unternehmen."),
    ("The {english} government rejected the proposal.", "Die {german}e Regierung lehnte den Vorschlag ab."),
    ("Where is the {english} embassy?", "Wo ist die {german}e Botschaft?"),
    ("He has {a} passport.", "Er hat einen {german}en Pass."),
)
LANGUAGE_FRAMES = (
    ("He speaks {language}.", "Er spricht {sprache}."),
    ("I don't speak {language}.", "Ich spreche kein {sprache}."),
    ("Do you speak {language}?", "Sprechen Sie {sprache}?"),
    ("I am learning {language}.", "Ich lerne {sprache}."),
    ("How do you say that in {language}?", "Wie sagt man das auf {sprache}?"),
    ("My {language} is not very good.", "Mein {sprache} ist nicht sehr gut."),
    ("{language} is a difficult language.", "{sprache} ist eine schwierige Sprache."),
    ("The book was translated from {language}.", "Das Buch wurde aus dem {sprache}en übersetzt."),
    ("She translates into {language}.", "Sie übersetzt ins {sprache}e."),
    ("He is a teacher of {language}.", "Er ist Lehrer für {sprache}."),
)


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
        for english, german in FRAMES + (LANGUAGE_FRAMES if one.language else ()):
            yield english.format(**forms), german.format(**forms)
