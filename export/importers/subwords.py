"""Codes of subword-nmt, by which words are cut behind another program that cut the text into words."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from export.importers import ImportRefused
from export.importers.foreign_words import refuse_joined
from model.config import SpecialIds
from server.subwords.byte_pairs import SubwordsError, read_codes
from server.subwords.moses import Moses
from server.subwords.words import Words, WordsFile

ARGOS, OPUS_MT, FAIRSEQ = "argos", "opus-mt", "fairseq"
TOKENIZERS: Mapping[str, Mapping[str, bool] | None] = {
    "moses": {},
    ARGOS: {"normalizes": True},
    OPUS_MT: {"replaces_unicode": True, "removes_control": True, "normalizes": True, "splits_dashes": True},
    FAIRSEQ: {"splits_dashes": True},
    "blanks": None,
}
"""What cuts text into words -> its options of `Moses`; None: text is cut at blanks only."""
BY_NAME = {"source.bpe": OPUS_MT, "target.bpe": OPUS_MT, "bpecodes": FAIRSEQ}
"""Names of codes that say what cut the text before."""
SEPARATOR = "@@"
_LANGUAGE_TOKEN = re.compile(r">>[^<>\s]+<<")


@dataclass(frozen=True)
class Cutting:
    """What a command says of codes: which of the TOKENIZERS cuts the text before (None: what the codes' name says, or
    the `default`), and the pieces that merges may give (None: all), with a file for each side, or one for both. Pieces
    that are rarer than the `threshold` are left out."""

    tokenizer: str | None = None
    default: str | None = None
    known: tuple[Path, ...] = ()
    threshold: int = 0


NOTHING_SAID = Cutting()


@dataclass(frozen=True)
class Codes:
    """A file of codes, which of the TOKENIZERS cuts the text before, and the pieces that merges may give."""

    path: Path
    tokenizer: str
    known: frozenset[str] | None = None


Segmenter: TypeAlias = Path | Codes
"""What cuts the text of one side into the words of its vocabulary: a SentencePiece model, or codes."""


def codes_of(path: Path, side: int, cutting: Cutting) -> Codes:
    """The codes of a file, of the source (0) or the target (1). Raises ImportRefused where it is not known what cuts
    the text before, and for a file without codes."""
    try:
        read_codes(path.read_text(encoding="utf-8"))
    except (SubwordsError, UnicodeDecodeError) as error:
        raise ImportRefused(
            f"{path} is no SentencePiece model that can be renumbered, and {error}: these are no codes of subword-nmt"
        ) from error
    chosen = cutting.tokenizer or cutting.default or BY_NAME.get(path.name)
    if chosen is None:
        raise ImportRefused(
            f"{path} has codes of subword-nmt or pyonmttok, and nothing says what cuts text into words before: give it "
            f"by --tokenizer, among {', '.join(TOKENIZERS)} (moses: the tokenizer alone; blanks: nothing else)"
        )
    if len(cutting.known) > 2:
        raise ImportRefused(f"--subword-vocabulary names {len(cutting.known)} files: give one for each side, or one")
    known = read_known(cutting.known[min(side, len(cutting.known) - 1)], cutting.threshold) if cutting.known else None
    return Codes(path, chosen, known)


def read_known(path: Path, threshold: int) -> frozenset[str]:
    """Pieces that occur at least so many times, of a file with a piece and its number in each line, as get_vocab of
    subword-nmt writes it. Raises ImportRefused."""
    known: set[str] = set()
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8").removesuffix("\n").split("\n"), 1):
            piece, _, count = line.strip("\r\n ").partition(" ")
            if not count.isdecimal():
                raise ImportRefused(f"{path} has no piece and its number in line {number}: '{line[:60]}'")
            if int(count[:18]) >= threshold:
                known.add(piece)
    except (OSError, UnicodeDecodeError) as error:
        raise ImportRefused(f"{path} cannot be read: {error}") from error
    if not known:
        raise ImportRefused(f"{path} has no piece that occurs {threshold} times: give a lower --subword-threshold")
    return frozenset(known)


def write_words(
    codes: Codes, ids: Mapping[str, int], size: int, language: str, special: SpecialIds, path: Path
) -> None:
    """Write the vocabulary of one side in a language: `size` words, of which `ids` has the known ones. Raises
    ImportRefused."""
    where = codes.path.parent
    refuse_joined({word for word in ids if not word.endswith(SEPARATOR)}, where)
    if not any(word.endswith(SEPARATOR) for word in ids):
        raise ImportRefused(
            f"{where}: the vocabulary has no word that ends with {SEPARATOR}, which {codes.path.name} makes: these "
            "files do not belong together"
        )
    table = [f"<unused {index}>" for index in range(size)]
    known = [False] * size
    for word, index in ids.items():
        if not 0 <= index < size:
            raise ImportRefused(
                f"{where}: the vocabulary has '{word}' at {index}, the model only {size} words: these files do not "
                "belong together"
            )
        table[index], known[index] = word, _LANGUAGE_TOKEN.fullmatch(word) is None
    for index in (special.unk, special.eos, special.bos, special.pad):
        if index < size:
            known[index] = False
    options = TOKENIZERS[codes.tokenizer]
    moses = None if options is None else Moses(language, **options)
    control = frozenset(index for index, is_known in enumerate(known) if not is_known)
    try:
        version, pairs = read_codes(codes.path.read_text(encoding="utf-8"))
        words = tuple(table)
        file = WordsFile(words, special.unk, special.eos, control, version, pairs, moses, SEPARATOR, codes.known)
        path.write_text(file.text(), encoding="utf-8")
        Words(path)  # what serves it must be installed
    except (SubwordsError, UnicodeDecodeError) as error:
        raise ImportRefused(f"{codes.path} {str(error).removeprefix(f'{path} ')}") from error


def moses_language(code: str) -> str:
    """The name by which Moses' scripts know a language: de for de-AT, zh for zh_Hans."""
    return re.split("[-_]", code)[0].lower()
