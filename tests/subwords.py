"""Codes of byte pairs that subword-nmt learns from a little text, and vocabularies of words made with them."""

import dataclasses
import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from server.subwords.byte_pairs import read_codes
from server.subwords.moses import Moses, MosesText
from server.subwords.words import WordsFile
from tests.models import SENTENCES

MORE = (
    "It's the men's own house, isn't it?",
    'He said: "Don\'t go!" (twice) & <left> at 5.30 p.m.',
    "well-known | [a] X1",
)
"""With all that Moses' scripts write differently."""
TEXT = (*SENTENCES, *MORE)
SPECIAL = ("<unk>", "<blank>", "<s>", "</s>")


@cache
def codes(num_merges: int = 120, version: str = "0.2") -> str:
    """Codes of the text's words as Moses' tokenizer cuts them."""
    moses = MosesText(Moses("en"))
    lines = "\n".join(" ".join(moses.words(text)) for text in TEXT)
    out = io.StringIO()
    learn_bpe(io.StringIO(lines), out, num_merges, min_frequency=1)
    return out.getvalue() if version == "0.2" else out.getvalue().split("\n", 1)[1]


def theirs(text: str, vocabulary: set[str] | None = None) -> Any:
    """subword-nmt's own."""
    return BPE(io.StringIO(text), vocab=vocabulary)


def pieces_of(texts: Sequence[str], moses: Moses, text: str) -> list[str]:
    """The pieces of texts, by subword-nmt, and of every character."""
    bpe, cut = theirs(text), MosesText(moses)
    pieces = {piece for line in texts for piece in bpe.segment_tokens(cut.words(line))}
    characters = {char for line in texts for char in line if not char.isspace()}
    return sorted(pieces | {f"{char}{end}" for char in characters for end in ("", "@@")})


def words_file(moses: Moses | None = None, **others: Any) -> WordsFile:
    """A vocabulary of the text above."""
    version, pairs = read_codes(codes())
    words = (*SPECIAL, *pieces_of(TEXT, moses or Moses("en"), codes()))
    made = WordsFile(words, 0, 3, frozenset(range(len(SPECIAL))), version, pairs, moses)
    return dataclasses.replace(made, **others)


def write_words(path: Path, moses: Moses | None = None, **others: Any) -> Path:
    path.write_text(words_file(moses, **others).text(), encoding="utf-8")
    return path
