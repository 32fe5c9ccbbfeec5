"""Continues a model with another vocabulary: every new piece starts from the embeddings of the old pieces of its
text."""

import torch
from torch import Tensor

from model.config import ConfigError
from model.data.vocabulary import Vocabulary
from model.training.checkpoint import AnyModel


def transferred_embedding(table: Tensor, old: Vocabulary, new: Vocabulary) -> Tensor:
    """`table` [len(old), width] as a table [len(new), width]: the row of the same piece, or the mean of the rows that
    the old vocabulary cuts the piece's text into."""
    rows = {piece: index for index, piece in enumerate(old.pieces(list(range(len(old)))))}
    pieces = new.pieces(list(range(len(new))))
    return torch.stack([table[parts_of(piece, rows, old)].mean(0) for piece in pieces])


def parts_of(piece: str, rows: dict[str, int], old: Vocabulary) -> list[int]:
    """The old ids whose rows stand for `piece`."""
    if piece in rows:
        return [rows[piece]]
    ids = old.encode([piece.replace("▁", " ")])[0]
    # A piece from within a word has no space before it; the space that SentencePiece puts there says nothing about it.
    if not piece.startswith("▁") and len(ids) > 1 and old.pieces(ids[:1]) == ["▁"]:
        ids = ids[1:]
    return ids


@torch.no_grad()
def transfer_embedding(model: AnyModel, old: Vocabulary, new: Vocabulary) -> None:
    """Carry a model's tied embedding over to a vocabulary of the same size. Raises ConfigError for separate ones."""
    embedding = model.embedding
    if set(dict(embedding.named_parameters())) != {"weight"}:
        raise ConfigError("vocab_anew: a model with separate embeddings or an output bias keeps its vocabulary")
    embedding.weight.copy_(transferred_embedding(embedding.weight, old, new))
