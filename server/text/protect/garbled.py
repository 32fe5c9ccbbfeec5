"""Words that are no language: keys struck at random, codes, sequences of bases. A vocabulary spells them nearly letter
by letter, and a model that reads many of them writes anything."""

import re

from server.text.base.pieces import Pieces
from server.text.base.words import Place
from server.text.protect.capitals import spelled

SPARSE = 2.2
"""Characters of a sentence for each of its pieces, below which its words are checked."""
LEAST_PIECES = 4_000
"""Of a vocabulary: smaller ones spell many words letter by letter."""
SHORTEST = 4
"""Letters of a word that counts."""
DENSE = 0.62
"""Pieces of a garbled word for each of its letters, at least."""
LEAST, SHARE = 15, 0.5
"""Letters of a sentence's garbled words together, at least, and their share of all its letters."""
_WORD = re.compile(r"[A-Za-z0-9\u00c0-\u024f]+(?:['\u2019_+/=-][A-Za-z0-9\u00c0-\u024f]+)*+")
"""Of the Latin script: vocabularies spell others letter by letter."""
_NO_LETTERS = re.compile(r"[^A-Za-z\u00c0-\u024f]+")
_LONGEST = 64
"""Characters of a word that is counted as a whole; longer ones are counted by their beginning."""

_LONGEST_IN_CAPITALS = 32
"""Letters of a word in capitals; longer ones are codes."""


def is_sparse(text: str, num_pieces: int) -> bool:
    """Whether a text has so many pieces that its words may be garbled."""
    return LEAST <= len(text) < SPARSE * num_pieces


def garbled_words(sentence: str, pieces: Pieces) -> list[Place]:
    """The garbled words of a sentence, if most of it is; else none. Linear in the sentence's length."""
    if len(pieces) < LEAST_PIECES:
        return []
    garbled: list[Place] = []
    num_letters = num_garbled = 0
    for match in _WORD.finditer(sentence):
        letters = len(_NO_LETTERS.sub("", match[0]))
        num_letters += letters
        word = match[0][:_LONGEST]
        if letters >= SHORTEST and _num_pieces(word, pieces) >= DENSE * len(word):
            garbled.append(match.span())
            num_garbled += letters
    return garbled if num_garbled >= max(LEAST, SHARE * num_letters) else []


def _num_pieces(word: str, pieces: Pieces) -> int:
    """Of a word as it is read: a model reads words in capitals in small letters."""
    count = pieces.num_pieces(word)
    if not word.isupper() or len(word) > _LONGEST_IN_CAPITALS:
        return count
    return min(count, pieces.num_pieces(spelled(pieces, word)))
