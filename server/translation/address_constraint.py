"""Forbids the words of one form of address in a search (`server.text.checks.address`), so that the model itself finds a
translation in the other form, with the verbs that it needs. Nothing is written over."""

import dataclasses
from collections.abc import Hashable, Iterable, Sequence
from typing import Final, NamedTuple

from server.engine.constraint import State
from server.text.base.pieces import Pieces
from server.text.checks.address import BEGINS, Address, SourceHints, is_imperative
from server.text.checks.address_words import INFORMAL, POLITE, VERBS

_SPACE: Final = "\u2581"
_SIGNS: Final = "".join(sorted(BEGINS)) + ",;()[]'\u2018\u2019\u201a\u2039\u203a"


class Word(NamedTuple):
    """The characters since the last space of a hypothesis, and what is before it. `last` is the word before.
    `is_continued`: the next piece belongs to the word, too."""

    text: str = ""
    begins: bool = True
    last: str = ""
    is_continued: bool = False

    @property
    def core(self) -> str:
        """The word without signs round it."""
        return self.text.strip(_SIGNS)


class AddressConstraint:
    """Forbids what is not of the `wanted` form. A pronoun is forbidden as soon as it is spelled, so that others take
    its place in the beam, unless it is among those that are `continued`: they may be the beginning of another word
    ("du" of "dunkel"), and like verbs are forbidden when the next word begins."""

    def __init__(
        self, wanted: Address, hints: SourceHints, pieces: Pieces, continued: frozenset[str] = frozenset()
    ) -> None:
        self._wanted, self._hints, self._pieces, self._continued = wanted, hints, pieces, continued

    @property
    def key(self) -> Hashable:
        return self._wanted.value, dataclasses.astuple(self._hints), tuple(sorted(self._continued))

    def start(self) -> State:
        return Word()

    def after(self, state: State, token: int) -> State | None:
        assert isinstance(state, Word)
        if token == self._pieces.eos_id:
            return None if self._is_forbidden_whole(state, "") else state
        [piece] = self._pieces.spelled([token])
        if piece.startswith(_SPACE) and not state.is_continued:
            following = piece.removeprefix(_SPACE)
            if self._is_forbidden_whole(state, following):
                return None
            begins = not state.text or state.text[-1] in BEGINS
            state = Word(following, begins, state.text)
        else:
            text = state.text + piece.removeprefix(_SPACE * state.is_continued)
            state = state._replace(text=text, is_continued=False)
        if self._pieces.continues(token):
            return state._replace(is_continued=True)
        core = state.core
        return None if core not in self._continued and self._is_pronoun(core, state.begins) else state

    def _is_forbidden_whole(self, word: Word, following: str) -> bool:
        core = word.core
        if self._is_pronoun(core, word.begins):
            return True
        if self._wanted is Address.INFORMAL:
            return False
        is_verb = core.lower() in VERBS and (core == core.lower() or word.begins)
        before = "," if word.last.endswith(",") else word.last
        return is_verb or is_imperative(core, word.begins, before, following)

    def _is_pronoun(self, word: str, begins: bool) -> bool:
        return is_pronoun(word, begins, self._wanted, self._hints)


def is_pronoun(word: str, begins: bool, wanted: Address, hints: SourceHints) -> bool:
    """Whether a word addresses the reader in another form than the wanted form."""
    if wanted is Address.FORMAL:
        low = word.lower()
        return (low in INFORMAL and word in (low, low.capitalize())) or (word == "ihr" and hints.no_others)
    if word in POLITE:
        return not begins or hints.you_first
    return (word in ("sie", "ihnen") and hints.only_you) or (word.lower() == "wir" and hints.you_first and hints.no_we)


def continued_words(texts: Iterable[Sequence[str]]) -> frozenset[str]:
    """Pronouns with which longer words of these translations begin, given as pieces: "du" of "dunkel"."""
    found = set[str]()
    for pieces in texts:
        word = ""
        for piece, following in zip(pieces, [*pieces[1:], _SPACE], strict=True):
            word = piece.removeprefix(_SPACE) if piece.startswith(_SPACE) else word + piece
            if following[:1].isalpha() and (word.lower() in INFORMAL or word in POLITE):
                found.add(word)
    return frozenset(found)
