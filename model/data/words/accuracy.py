"""Accuracy on single words: nouns alone and in a sentence, short phrases of interfaces.

A test set is a file of lines KIND, tab, source, tab, accepted translations between bars; KIND is `noun` or `interface`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

FRAMES = ("The {} is new.", "Where is the {}?", "I can see a {}.", "This is my {}.", "Have you seen the {}?")
"""A noun stands in one of them, in turn. German keeps a noun's form in all of them."""
KINDS = ("noun", "interface")


class WordSetError(ValueError):
    """A line that is no item."""


@dataclass(frozen=True)
class WordItem:
    """A source that is right when one of `accepted` stands in its translation."""

    kind: str
    source: str
    accepted: tuple[str, ...]

    def is_right(self, translation: str) -> bool:
        """Whole words count. A noun keeps its capital; a phrase may begin in any case, and end as it likes."""
        flags = re.IGNORECASE if self.kind == "interface" else 0
        return any(re.search(rf"\b{re.escape(text)}\b", translation, flags) for text in self.accepted)


@dataclass(frozen=True)
class WordAccuracy:
    kind: str
    items: int
    right: int
    mistakes: tuple[tuple[str, str], ...]
    """(source, translation) of every item that is wrong."""


def read_word_set(path: Path) -> list[WordItem]:
    """Every item; a noun is asked alone and in a sentence. Raises WordSetError with the line that is no item."""
    items = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        kind, *rest = line.split("\t")
        if kind not in KINDS or len(rest) != 2 or not all(rest):
            raise WordSetError(f"{path}, line {number}: expected noun or interface, tab, source, tab, translations")
        source, accepted = rest[0], tuple(rest[1].split("|"))
        items.append(WordItem(kind, source, accepted))
        if kind == "noun":
            frame = FRAMES[number % len(FRAMES)].format(source)
            items.append(WordItem("noun in a sentence", _with_article(frame, source), accepted))
    return items


def _with_article(sentence: str, noun: str) -> str:
    """ "a apple" -> "an apple"; plurals go without an article and with their own verb."""
    if noun in ("stairs", "scissors", "trousers"):
        sentence = sentence.replace("is the", "are the").replace(" is new", " are new").replace("a ", "the ")
        return sentence.replace("This is", "These are")
    return sentence.replace(" a ", " an ") if noun[0] in "aeiou" else sentence


def word_accuracy(items: Sequence[WordItem], translate: Callable[[list[str]], list[str]]) -> list[WordAccuracy]:
    """One result for every kind, in the order of their first items."""
    translations = translate([item.source for item in items])
    found = []
    for kind in dict.fromkeys(item.kind for item in items):
        asked = [(item, text) for item, text in zip(items, translations, strict=True) if item.kind == kind]
        mistakes = tuple((item.source, text) for item, text in asked if not item.is_right(text))
        found.append(WordAccuracy(kind, len(asked), len(asked) - len(mistakes), mistakes))
    return found
