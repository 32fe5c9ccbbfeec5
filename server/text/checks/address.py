"""How a German sentence addresses its reader: formally (Sie) or informally (du, ihr)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from server.text.checks.address_words import IMPERATIVES, INFORMAL, POLITE, VERBS

LANGUAGE: Final = "de"
SOURCES: Final = ("en",)
"""Languages of sources whose hints are known."""
Formality = Literal["more", "less"]
"""What a request asks for: "more" formal or "less"."""
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
BEGINS: Final = frozenset('.!?:…"„“”»«-\u2013\u2014*')
"""Signs behind which a word may have a capital because a sentence begins."""
_NOT_ADDRESSED: Final = frozenset(["ich", "er", "wir", "man", "Sie"])
_SINGULAR: Final = re.compile(r"(?:ist|hat|wird|kann|muss|soll|will|darf|mag|war|hatte|wurde|würde|könnte|[^\W\d_]+t)")
_YOU: Final = "you your yours yourself yourselves y'all"
_OTHERS: Final = "she her hers herself they them their theirs themselves"
_THINGS: Final = "it its itself this that these those"
_PERSON: Final = re.compile(
    rf"\b(?:(?P<you>{_YOU.replace(' ', '|')})|{f'{_OTHERS} {_THINGS}'.replace(' ', '|')})\b", re.I
)
_OTHER: Final = re.compile(rf"\b(?:{_OTHERS.replace(' ', '|')}|its)\b", re.I)
_THING: Final = re.compile(rf"\b(?:{_THINGS.replace(' ', '|')})\b", re.I)
_WE: Final = re.compile(r"\b(?:we|us|our|ours|ourselves|let's|let\u2019s)\b", re.I)


class Address(Enum):
    """`MIXED`: both forms in one sentence. `NONE`: it does not address the reader, or does not show how."""

    FORMAL = "formal"
    INFORMAL = "informal"
    MIXED = "mixed"
    NONE = "none"


WANTED: Final[Mapping[Formality, Address]] = {"more": Address.FORMAL, "less": Address.INFORMAL}


@dataclass(frozen=True)
class SourceHints:
    """What an English source reveals about words that may address the reader or refer to others. `you_first`: "you" is
    the first person that it names, so that "Sie" at the beginning is most likely the address. `no_others`: it names no
    woman and no group, so that "ihr" is the address. `only_you`: neither a thing, so that "sie" lacks its capital.
    `no_we`: "wir" can only stand for the address."""

    you_first: bool
    no_others: bool
    only_you: bool
    no_we: bool

    @classmethod
    def of(cls, source: str) -> "SourceHints":
        first = _PERSON.search(source)
        you_first, no_others = first is not None and first["you"] is not None, _OTHER.search(source) is None
        only_you = you_first and no_others and _THING.search(source) is None
        return cls(you_first, no_others, only_you, _WE.search(source) is None)


@dataclass(frozen=True)
class _Word:
    text: str
    begins: bool
    """Whether a sentence begins with it."""
    after: str
    """The token before it, "" for the first."""
    following: str
    """The word behind it, "" if none follows."""

    @property
    def low(self) -> str:
        return self.text.lower()

    @property
    def is_plain(self) -> bool:
        """Whether it has no capital that makes it a noun."""
        return self.text == self.low or (self.begins and self.text[1:] == self.low[1:])


def address_of(text: str, source: str) -> Address:
    """The form of address of a German translation of an English sentence. Linear in the length of both."""
    hints = SourceHints.of(source)
    formal = informal = False
    for word in _words(text):
        formal = formal or _is_formal(word, hints)
        informal = informal or _is_informal(word, hints)
    if formal and informal:
        return Address.MIXED
    return Address.FORMAL if formal else Address.INFORMAL if informal else Address.NONE


def is_imperative(word: str, begins: bool, before: str, following: str) -> bool:
    """Whether a word is an imperative of "du": at the beginning of a sentence, or in small letters behind a comma or
    "bitte", and not the verb of another person."""
    if word.lower() not in IMPERATIVES or following in _NOT_ADDRESSED:
        return False
    return begins or (word == word.lower() and before.lower() in (",", "bitte"))


def _is_formal(word: _Word, hints: SourceHints) -> bool:
    if word.text in ("sie", "ihnen"):
        return hints.only_you
    if word.text not in POLITE or (word.text == "Ihr" and word.following in VERBS):
        return False
    if not word.begins:
        return True
    return hints.you_first and not (word.text == "Sie" and _SINGULAR.fullmatch(word.following))


def _is_informal(word: _Word, hints: SourceHints) -> bool:
    if word.low in INFORMAL:
        return word.text in (word.low, word.low.capitalize())
    if word.low in VERBS:
        return word.is_plain
    if word.text == "ihr":  # before a noun it is of "she" or "they", or lacks its capital
        return hints.no_others and word.following == word.following.lower()
    return is_imperative(word.text, word.begins, word.after, word.following)


def _words(text: str) -> Iterator[_Word]:
    tokens = _TOKEN.findall(text)
    before, begins = "", True
    for place, token in enumerate(tokens):
        if not (token[0].isalpha() or token[0].isdigit()):
            begins = begins or token in BEGINS
        else:
            following = tokens[place + 1] if place + 1 < len(tokens) else ""
            yield _Word(token, begins, before, following)
            begins = False
        before = token
