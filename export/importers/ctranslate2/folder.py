"""A folder of CTranslate2: `model.bin`, `config.json`, vocabularies, and what cuts text into their words."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from export.importers import ImportRefused
from export.importers.ctranslate2.container import Variables, read_variables
from export.importers.ctranslate2.names import renamed
from export.importers.json_files import read_object
from export.importers.language_tokens import tokens_of
from export.importers.marian_vocabulary import is_spm
from export.importers.subwords import NOTHING_SAID, Codes, Cutting, Segmenter, codes_of

MODEL, CONFIG, SHORTLIST = "model.bin", "config.json", "vmap.txt"
SHARED, SOURCE, TARGET = "shared_vocabulary", "source_vocabulary", "target_vocabulary"
OF_SIDES = (("source.spm", "target.spm"), ("source.model", "target.model"), ("source.bpe", "target.bpe"))
SHARED_SPM = ("sentencepiece.model", "sentencepiece.bpe.model", "spm.model", "shared.spm", "tokenizer.model")
MANY_LANGUAGES = 2
BPE = ("bpe.model", "bpe.codes", "codes.bpe", "bpecodes")
"""Codes of subword-nmt, or a BPE model of SentencePiece."""


@dataclass(frozen=True)
class Conventions:
    """The words and ids around a text. `start` is None where every request has to name it. `epsilon`: of norms."""

    bos: str
    eos: str
    unknown: str
    start: str | None
    has_source_bos: bool
    has_source_eos: bool
    epsilon: float


@dataclass(frozen=True)
class ModelFolder:
    """`source` and `target`: the words of both sides by their ids. `segmenters`: SentencePiece models of both sides, or
    codes. `shortlist`: a map of vocabularies, if the folder has one. `languages`: what those of source and target are
    called where text is cut, where that is known."""

    path: Path
    variables: Variables
    conventions: Conventions
    source: Sequence[str]
    target: Sequence[str]
    segmenters: tuple[Segmenter, Segmenter]
    shortlist: Path | None
    languages: tuple[str | None, str | None] = (None, None)

    @property
    def has_codes(self) -> bool:
        return any(isinstance(each, Codes) for each in self.segmenters)

    @property
    def many_tokens(self) -> dict[str, int]:
        """Names of languages and the ids of their tokens, of M2M-100 and NLLB; of other models none."""
        words = {word: index for index, word in enumerate(self.target) if not word.startswith(">>")}
        tokens = tokens_of(words)
        return tokens if len(tokens) >= MANY_LANGUAGES and self.source == self.target else {}


def open_folder(
    path: Path,
    vocabularies: Sequence[Path] = (),
    beside: Path | None = None,
    cutting: Cutting = NOTHING_SAID,
    languages: tuple[str | None, str | None] = (None, None),
) -> ModelFolder:
    """The folder at `path`; `vocabularies`: SentencePiece models or codes of both sides, or one of both, instead of
    those that lie in it, or in the folder `beside`. `cutting`: of codes. Raises ImportRefused."""
    if not (path / MODEL).is_file():
        raise ImportRefused(f"{path} has no {MODEL}: give the folder that a converter of CTranslate2 wrote")
    cut = [segmenter_of(file, side, cutting) for side, file in enumerate(find_files(beside or path, vocabularies))]
    variables = renamed(read_variables(path / MODEL))
    conventions = read_conventions(path, variables)
    source, target = read_vocabularies(path, conventions.unknown)
    shortlist = path / SHORTLIST
    return ModelFolder(
        path,
        variables,
        conventions,
        source,
        target,
        (cut[0], cut[1]),
        shortlist if shortlist.is_file() else None,
        languages,
    )


def segmenter_of(path: Path, side: int, cutting: Cutting) -> Segmenter:
    """A file as what it holds. Raises ImportRefused."""
    return path if is_spm(path) else codes_of(path, side, cutting)


def find_files(folder: Path, named: Sequence[Path]) -> tuple[Path, Path]:
    """The files that cut the text of source and target. Raises ImportRefused."""
    if len(named) > 2:
        raise ImportRefused(f"--vocabulary names {len(named)} files: give one for each side, or one for both")
    for path in named:
        if not path.is_file():
            raise ImportRefused(f"{path} is missing: give the SentencePiece models, or codes, by --vocabulary")
    if named:
        return named[0], named[-1]
    for source, target in OF_SIDES:
        if (folder / source).is_file() and (folder / target).is_file():
            return folder / source, folder / target
    for name in (*SHARED_SPM, *BPE):
        if (folder / name).is_file():
            return folder / name, folder / name
    raise ImportRefused(
        f"{folder} has no SentencePiece model ({OF_SIDES[0][0]} and {OF_SIDES[0][1]}, or {SHARED_SPM[0]}) and no codes "
        f"({BPE[1]}): give what the model was trained with by --vocabulary"
    )


def read_conventions(path: Path, variables: Variables) -> Conventions:
    """From config.json, and in older models from their variables. Raises ImportRefused."""
    values = read_object(path / CONFIG) if (path / CONFIG).is_file() else {}
    unknown, bos, eos = (
        word_of(values, f"{key}_token", variables.text(f"{key}_token", default), path)
        for key, default in (("unk", "<unk>"), ("bos", "<s>"), ("eos", "</s>"))
    )
    start: str | None = bos if variables.number("with_target_bos", 1) else eos
    if variables.number("user_decoder_start_tokens", 0):
        start = None
    if "decoder_start_token" in values:
        start = values["decoder_start_token"]
    epsilon = values.get("layer_norm_epsilon")
    try:
        return Conventions(
            bos,
            eos,
            unknown,
            None if start is None else str(start),
            bool(values.get("add_source_bos", variables.number("with_source_bos", 0))),
            bool(values.get("add_source_eos", variables.number("with_source_eos", 0))),
            1e-5 if epsilon is None else float(epsilon),
        )
    except (TypeError, ValueError) as error:
        raise ImportRefused(f"{path / CONFIG}: layer_norm_epsilon {epsilon!r} is no number") from error


def word_of(values: Mapping[str, Any], key: str, default: str, path: Path) -> str:
    word = values.get(key, default)
    if not isinstance(word, str):
        raise ImportRefused(f"{path / CONFIG}: {key} must be a word, not {word!r}")
    return word


def read_vocabularies(path: Path, unknown: str) -> tuple[Sequence[str], Sequence[str]]:
    """The words of source and target. Raises ImportRefused."""
    shared = read_words(path, SHARED, unknown)
    if shared is not None:
        return shared, shared
    source, target = (read_words(path, name, unknown) for name in (SOURCE, TARGET))
    if target is None or source is None:
        if (path / "source_2_vocabulary.json").is_file() or (path / "source_2_vocabulary.txt").is_file():
            raise ImportRefused(f"{path} has several vocabularies of the source: source factors are not computed")
        name = SOURCE if source is None else TARGET
        raise ImportRefused(f"{path} has no {name}.json or .txt, nor a {SHARED}: copy the whole folder")
    return source, target


def read_words(path: Path, name: str, unknown: str) -> list[str] | None:
    """The words of a vocabulary, by their ids; None where there is none. Raises ImportRefused."""
    listed, lines = path / f"{name}.json", path / f"{name}.txt"
    try:
        if listed.is_file():
            words = json.loads(listed.read_text(encoding="utf-8"))
        elif lines.is_file():
            words = lines.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
            if all(word.endswith("\r") for word in words):
                words = [word[:-1] for word in words]
        else:
            return None
    except (OSError, ValueError, RecursionError) as error:
        raise ImportRefused(f"{listed if listed.is_file() else lines} cannot be read: {error}") from error
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ImportRefused(f"{path}: {name} is no list of words")
    return words if unknown in words else [*words, unknown]
