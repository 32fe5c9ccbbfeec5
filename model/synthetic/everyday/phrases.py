"""Phrases that people write every day, in the ways they are typed: "Happy birthday!", "happy birthday"."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.config import ConfigError
from model.synthetic.context.words import capitalized
from model.synthetic.tables import numbered_lines

MARKS = ".!?,:"
MAX_HEADLINE = 5
"""Words of a phrase that may stand as a headline: "Privacy Policy"."""


@dataclass(frozen=True)
class Phrase:
    """Synonymous forms; the first form of a language is the translation of all forms of the other."""

    english: tuple[str, ...]
    german: tuple[str, ...]


def read_phrases(path: Path) -> list[Phrase]:
    """A line each: English forms between bars, tab, German ones; # begins a comment. Raises ConfigError with the
    malformed line."""
    results = []
    for number, line in numbered_lines(path):
        english, german = (_forms(part) for part in (line if "\t" in line else f"{line}\t").split("\t", 1))
        if not (all(english) and all(german)):
            raise ConfigError(f"{path}, line {number}: a phrase is English forms between bars, a tab and German ones")
        results.append(Phrase(english, german))
    return results


def from_english(phrases: Sequence[Phrase]) -> Iterator[tuple[str, str]]:
    """(English, German) for every form of every phrase, as it may be typed."""
    yield from _once(((form, phrase.german[0]) for phrase in phrases for form in phrase.english), headlines=True)


def from_german(phrases: Sequence[Phrase]) -> Iterator[tuple[str, str]]:
    """(German, English) for every form of every phrase, as it may be typed."""
    yield from _once(((form, phrase.english[0]) for phrase in phrases for form in phrase.german), headlines=False)


def _forms(text: str) -> tuple[str, ...]:
    return tuple(form.strip() for form in text.split("|"))


def _once(pairs: Iterable[tuple[str, str]], *, headlines: bool) -> Iterator[tuple[str, str]]:
    """A source has one translation, the first."""
    seen: set[str] = set()
    for source, target in pairs:
        for typed, translated in as_typed(source, target, headlines=headlines):
            if typed not in seen:
                seen.add(typed)
                yield typed, translated


def as_typed(source: str, target: str, *, headlines: bool = True) -> Iterator[tuple[str, str]]:
    """The pair; both without their last mark; the source in small letters; and with capitals, as English headlines.

    A single word keeps its case: "May" and "Polish" mean something else in lower case.
    """
    yield source, target
    bare, bare_target = _unmarked(source), _unmarked(target)
    words = bare.split()
    yield bare, bare_target
    if len(words) > 1:
        yield bare.lower(), bare_target
        if headlines and len(words) <= MAX_HEADLINE:
            yield " ".join(capitalized(word) for word in words), bare_target


def _unmarked(text: str) -> str:
    return text if text.endswith("...") else text.rstrip(MARKS)
