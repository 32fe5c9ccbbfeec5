"""Vocabularies whose text SentencePiece does not cut: those of subword-nmt and of OpenNMT's tokenizer, which continue
words by marks of their own behind Moses' or another tokenizer. They are refused by name, because text that is cut
otherwise would be translated wrongly and without an error."""

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
ADVICE = "which cut words behind another tokenizer; only SentencePiece cuts text here"


def refuse_joined(words: Collection[str], where: Path) -> None:
    """Raise ImportRefused for words that SentencePiece did not make."""
    for program, mark in JOINERS.items():
        if sum(mark.fullmatch(word) is not None for word in words) > MOST * len(words):
            raise ImportRefused(f"{where}: the vocabulary has words of {program}, {ADVICE}")


def refuse_codes(path: Path) -> None:
    """Raise ImportRefused for codes of BPE, of which both programs write the same kind."""
    raise ImportRefused(
        f"{path} has codes of subword-nmt or pyonmttok, {ADVICE}: look for a newer model of these languages"
    )
