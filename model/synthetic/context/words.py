"""A sentence as words with the punctuation around them, so that a word can be replaced and nothing else changes."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

PUNCTUATION = ".,;:!?\"'`´()[]{}<>«»„“”‚‘’…–—-/*"  # noqa: RUF001 - all of them occur in text
TOKEN = re.compile(r"\w+(?=n't\b)|n't\b|'(?:s|re|m|ll|d|ve)\b|[\w-]+|[^\w\s]")


class Word(NamedTuple):
    """One word between blanks."""

    before: str
    """Punctuation that opens it."""
    core: str
    after: str
    """Punctuation that closes it."""

    @property
    def text(self) -> str:
        return self.before + self.core + self.after

    @property
    def lower(self) -> str:
        return self.core.lower()


def split(sentence: str) -> list[Word]:
    words = []
    for part in sentence.split():
        core = part.strip(PUNCTUATION)
        start = part.index(core)
        words.append(Word(part[:start], core, part[start + len(core) :]))
    return words


def join(words: list[Word]) -> str:
    return " ".join(word.text for word in words)


def flat(sentence: str) -> list[str]:
    """Lower-case words, contractions apart and punctuation as words: "It's late." -> it 's late ."""
    return TOKEN.findall(sentence.replace("’", "'").lower())  # noqa: RUF001 - both apostrophes occur in text


def unique_index(words: Sequence[Word], fits: Callable[[Word], bool]) -> int | None:
    """Where the only word that fits stands; None where there is not exactly one."""
    indices = [index for index, word in enumerate(words) if fits(word)]
    return indices[0] if len(indices) == 1 else None


def listed(words: str) -> tuple[str, ...]:
    """Words between blanks."""
    return tuple(words.split())


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def like(word: str, model: str) -> str:
    """`word` with a capital where `model` has one."""
    return capitalized(word) if model[:1].isupper() else word
