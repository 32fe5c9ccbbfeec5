"""Vocabularies whose text SentencePiece does not cut: those of subword-nmt and of OpenNMT's tokenizer, which continue
words by marks of their own behind Moses' or another tokenizer. Without the codes that they are made by (see
`export.importers.subwords`) they are refused by name, because text that is cut otherwise would be translated wrongly
and without an error."""

import re
from collections.abc import Collection
from pathlib import Path

from export.importers import ImportRefused

JOINERS = {
    "subword-nmt": re.compile(r".+@@", re.DOTALL),
    "OpenNMT's tokenizer (pyonmttok)": re.compile("\uffed.+|.+\uffed", re.DOTALL),  # ￭
}
"""Of the words of such a vocabulary a good part begins or ends so."""
MOST = 0.02
"""A vocabulary of SentencePiece has at most a few such words, of texts with these characters."""
ADVICE = {
    "subword-nmt": "which SentencePiece does not make: give the codes that they are made by as --vocabulary",
    "OpenNMT's tokenizer (pyonmttok)": "whose tokenizer does not cut text here",
}


def refuse_joined(words: Collection[str], where: Path) -> None:
    """Raise ImportRefused for words with such marks."""
    for program, mark in JOINERS.items():
        if sum(mark.fullmatch(word) is not None for word in words) > MOST * len(words):
            raise ImportRefused(f"{where}: the vocabulary has words of {program}, {ADVICE[program]}")
