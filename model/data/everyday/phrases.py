"""Phrases that people write every day, in the ways they are typed: "Happy birthday!", "happy birthday"."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.config import ConfigError
from model.data.context.words import capitalized
from model.data.everyday.lines import numbered_lines

MARKS = ".!?,:"
MAX_HEADLINE = 5
"""Words of a phrase that may stand as a headline: "Privacy Policy"."""


@dataclass(frozen=True)
class Phrase:
    """English forms that mean the same, and what German says for all of them."""

    english: tuple[str, ...]
    german: str


def read_phrases(path: Path) -> list[Phrase]:
    """A line each: English forms between bars, tab, German; # begins a comment. Raises ConfigError with the line."""
    found = []
    for number, line in numbered_lines(path):
        english, tab, german = line.partition("\t")
        forms = tuple(form.strip() for form in english.split("|"))
        if not (tab and german.strip() and all(forms)):
            raise ConfigError(f"{path}, line {number}: a phrase is English forms between bars, a tab and German")
        found.append(Phrase(forms, german.strip()))
    return found


def from_english(phrases: Sequence[Phrase]) -> Iterator[tuple[str, str]]:
    """(English, German) for every form of every phrase, as it may be typed."""
    yield from _once((form, phrase.german) for phrase in phrases for form in phrase.english)


def from_german(phrases: Sequence[Phrase]) -> Iterator[tuple[str, str]]:
    """(German, English), the first English form for each, as it may be typed."""
    yield from _once((phrase.german, phrase.english[0]) for phrase in phrases)


def _once(pairs: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """A source has one translation, the first."""
    said: set[str] = set()
    for source, target in pairs:
        for typed, translated in as_typed(source, target):
            if typed not in said:
                said.add(typed)
                yield typed, translated


def as_typed(source: str, target: str) -> Iterator[tuple[str, str]]:
    """The pair; both without their last mark; the source in small letters; and with capitals, as headlines have them.

    One word stays as it is: "May" and "Polish" are others in small letters.
    """
    yield source, target
    bare, bare_target = _unmarked(source), _unmarked(target)
    words = bare.split()
    yield bare, bare_target
    if len(words) > 1:
        yield bare.lower(), bare_target
        if len(words) <= MAX_HEADLINE:
            yield " ".join(capitalized(word) for word in words), bare_target


def _unmarked(text: str) -> str:
    return text if text.endswith("...") else text.rstrip(MARKS)
