"""SentencePiece: trained here, one model for both languages."""

import io
from collections.abc import Iterable
from pathlib import Path

import sentencepiece

from model.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID, ConfigError

TEMPERATURE = 0.2
"""The alpha of Kudo 2018, section 3.2: a segmentation is drawn with its probability to this power. In a vocabulary of
the kind bpe SentencePiece skips this share of the merges (Provilkov et al. 2020)."""


def train_vocabulary(sentences: Iterable[str], size: int, path: Path, kind: str = "unigram") -> None:
    """Train a model of `size` pieces and write it to `path`. Unseen characters fall back to bytes, so every text
    has ids and every id sequence has text. Raises ConfigError for text that is too little for so many."""
    buffer = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=buffer,
            vocab_size=size,
            model_type=kind,
            character_coverage=0.9998,
            byte_fallback=True,
            normalization_rule_name="nmt_nfkc",
            pad_id=PAD_ID,
            unk_id=UNK_ID,
            bos_id=BOS_ID,
            eos_id=EOS_ID,
            num_threads=2,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise ConfigError(
            f"no vocabulary of {size} pieces can be learned from this text; give more text, or a smaller vocab_size "
            f"({error})"
        ) from error
    path.write_bytes(buffer.getvalue())


class Vocabulary:
    """Text to ids and back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pieces = sentencepiece.SentencePieceProcessor(model_file=str(path))

    def __len__(self) -> int:
        return int(self._pieces.get_piece_size())

    def encode(self, texts: list[str]) -> list[list[int]]:
        """Ids without BOS or EOS."""
        return [list(ids) for ids in self._pieces.encode(texts)]

    def sample(self, texts: list[str]) -> list[list[int]]:
        """Ids as `encode` gives them, but of a segmentation that is sampled among all segmentations of a text (Kudo
        2018, "Subword regularization"). There is no seed: SentencePiece samples differently in every process."""
        drawn = self._pieces.encode(texts, enable_sampling=True, alpha=TEMPERATURE, nbest_size=-1)
        return [list(ids) for ids in drawn]

    def decode(self, ids: list[list[int]]) -> list[str]:
        return [str(text) for text in self._pieces.decode(ids)]

    def pieces(self, ids: list[int]) -> list[str]:
        """The pieces as the vocabulary lists them."""
        return [str(piece) for piece in self._pieces.id_to_piece(ids)]
