"""Writes a Marian vocabulary as one SentencePiece model whose ids are the model's.

Marian segments text by SentencePiece and numbers the pieces by vocab.json, which has pieces of both languages. Here
every word of vocab.json keeps its id. Words that the SentencePiece model lacks are marked as unused, so that
segmentation does not change; only characters that the model lacks are looked up among them, as Marian does. Pieces that
only the SentencePiece model has come last: they are unknown to the model. In BPE models unused pieces would take part
in merges; there these words are control pieces, which no text contains."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sentencepiece import sentencepiece_model_pb2

from export.importers import ImportRefused
from export.importers.foreign_words import refuse_joined
from model.config import SpecialIds

PROTO: Any = sentencepiece_model_pb2
Piece = PROTO.ModelProto.SentencePiece
UNIGRAM, BPE = PROTO.TrainerSpec.UNIGRAM, PROTO.TrainerSpec.BPE
SPELLED = (Piece.NORMAL, Piece.USER_DEFINED, Piece.BYTE)
"""The types of pieces in segmentations."""


class NotWhole(ImportRefused):
    """A SentencePiece model that ends between two of its parts: what is left is a valid one, with other pieces or
    another normalisation."""


@dataclass(frozen=True)
class Numbered:
    """A SentencePiece model `spm`, the ids of its pieces, and how many ids the model has on this side. `tokens`: names
    and ids of what no text contains, such as the tokens of languages."""

    spm: Path
    ids: Mapping[str, int]
    size: int
    tokens: Mapping[str, int] = field(default_factory=dict)


def write_vocabulary(numbered: Numbered, special: SpecialIds, path: Path) -> None:
    """Write the SentencePiece model of one side. Raises ImportRefused."""
    refuse_joined(numbered.ids, numbered.spm.parent)
    own = read_spm(numbered.spm)
    filler = Piece.CONTROL if own.trainer_spec.model_type == BPE else Piece.UNUSED
    table = [unused(f"<unused {index}>", filler) for index in range(numbered.size)]
    known = {piece.piece: piece for piece in own.pieces if piece.type in SPELLED}
    for text, index in numbered.ids.items():
        if not 0 <= index < numbered.size:
            raise ImportRefused(
                f"{numbered.spm.parent}: the vocabulary has '{text}' at {index}, the model only {numbered.size} words: "
                "these files do not belong together"
            )
        table[index] = known.get(text) or unused(text, filler)
    for text, index in numbered.tokens.items():
        table[index] = unused(f"<{text}>", Piece.CONTROL)
    table[special.unk] = Piece(piece=table[special.unk].piece, type=Piece.UNKNOWN)
    table[special.eos] = Piece(piece=table[special.eos].piece, type=Piece.CONTROL)
    table += [piece for text, piece in known.items() if text not in numbered.ids]
    del own.pieces[:]
    own.pieces.extend(table)
    spec = own.trainer_spec
    spec.vocab_size, spec.unk_id, spec.eos_id, spec.bos_id, spec.pad_id = len(table), special.unk, special.eos, -1, -1
    spec.unk_piece, spec.eos_piece = table[special.unk].piece, table[special.eos].piece
    own.DiscardUnknownFields()  # tests of its own, for other ids
    path.write_bytes(own.SerializeToString())


def read_pieces(path: Path) -> Any:
    """A SentencePiece model of any kind. Raises ImportRefused."""
    own = PROTO.ModelProto()
    try:
        own.ParseFromString(path.read_bytes())
    except OSError as error:
        raise ImportRefused(f"{path} cannot be read: {error}") from error
    except Exception as error:  # protobuf's own, which differs from version to version
        raise ImportRefused(f"{path} is not a SentencePiece model: {error}") from error
    if not own.pieces:
        raise ImportRefused(f"{path} is not a SentencePiece model: it has no pieces")
    for part in ("trainer_spec", "normalizer_spec"):  # they follow the pieces; a cut between two pieces is no error
        if not own.HasField(part):
            raise NotWhole(f"{path} is not whole: it ends before its {part}; copy or download it again")
    return own


def read_spm(path: Path) -> Any:
    """A SentencePiece model that can be renumbered. Raises ImportRefused."""
    own = read_pieces(path)
    if own.trainer_spec.model_type not in (UNIGRAM, BPE):
        raise ImportRefused(f"{path} is no unigram or BPE model of SentencePiece, the kinds that can be renumbered")
    return own


def is_spm(path: Path) -> bool:
    """Whether a file is a SentencePiece model that can be renumbered. Raises NotWhole."""
    try:
        read_spm(path)
    except NotWhole:
        raise
    except ImportRefused:
        return False
    return True


def unused(text: str, kind: Any = Piece.UNUSED) -> Any:
    """A piece that no segmentation contains."""
    return Piece(piece=text, score=0.0, type=kind)
