"""Marian's vocabularies: a SentencePiece model whose ids are the model's, or a `.yml` of pieces and their ids."""

from pathlib import Path
from typing import Any

import yaml

from export.importers import ImportRefused
from export.importers.marian_vocabulary import Numbered, read_pieces, read_spm, unused
from model.config import SpecialIds

EOS, UNKNOWN = "</s>", "<unk>"
YML = (".yml", ".yaml", ".json")


def read_yml(path: Path) -> dict[str, int]:
    """Pieces and their ids. Raises ImportRefused."""
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # every piece is text: "no" is a word, not false
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
        return {str(piece): int(index) for piece, index in values.items()}
    except (OSError, UnicodeDecodeError, yaml.YAMLError, AttributeError, TypeError, ValueError) as error:
        raise ImportRefused(f"{path} is no vocabulary of pieces and ids: {error}") from error


def special_ids(path: Path, pad: int) -> SpecialIds:
    """The ids of EOS and UNK in a vocabulary; `pad` is the word that was added. Raises ImportRefused."""
    if path.suffix in YML:
        pieces = read_yml(path)
        unknown, eos = (pieces.get(name, -1) for name in (UNKNOWN, EOS))
    else:
        spec = read_pieces(path).trainer_spec
        unknown, eos = spec.unk_id, spec.eos_id
    if unknown < 0 or eos < 0:
        raise ImportRefused(f"{path} has no {EOS if eos < 0 else UNKNOWN}, which Marian's vocabularies have")
    return SpecialIds(pad=pad, unk=unknown, bos=pad, eos=eos)


def write_pieces(path: Path, words: int, size: int, out: Path) -> None:
    """The SentencePiece model at `path` with `size` pieces: those behind its own are in no segmentation. `words`: those
    of the model. Raises ImportRefused."""
    own = read_pieces(path)
    if len(own.pieces) != words:
        raise ImportRefused(
            f"{path} has {len(own.pieces)} pieces and the model {words} words: these files do not belong together"
        )
    own.pieces.extend([unused(f"<unused {index}>") for index in range(words, size)])
    own.trainer_spec.vocab_size = size
    own.DiscardUnknownFields()
    out.write_bytes(own.SerializeToString())


def numbered(yml: Path, spm: Path, size: int) -> Numbered:
    """A `.yml` and the SentencePiece model that cuts its text. Raises ImportRefused."""
    read_spm(spm)
    return Numbered(spm, read_yml(yml), size)
