"""A SentencePiece model, with the methods of `server.subwords.words.Words`."""

from collections.abc import Sequence
from pathlib import Path

import sentencepiece

from server.subwords.words import WORD_START


class SentencePieces:
    """One model of the library. Thread-safe."""

    def __init__(self, path: Path) -> None:
        """Raises OSError and RuntimeError for what is no model."""
        self._model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        self.unk_id, self.eos_id = int(self._model.unk_id()), int(self._model.eos_id())

    def __len__(self) -> int:
        return int(self._model.get_piece_size())

    def is_control(self, index: int) -> bool:
        return bool(self._model.is_control(index))

    def is_byte(self, index: int) -> bool:
        """Whether an id is one byte of a character, as in "<0xE4>"."""
        return bool(self._model.is_byte(index))

    def ids(self, text: str) -> list[int]:
        ids: list[int] = self._model.encode(text)
        if self.unk_id in ids:  # The library never encodes some pieces; they are looked up by their text.
            ids = self._model.piece_to_id(self._model.encode(text, out_type=str))
            ids = [self.unk_id if self._model.is_control(index) else index for index in ids]
        return ids

    def has_more_forms(self, character: str) -> bool:
        """Whether a character that is unknown alone is known within words: never."""
        return False

    def surfaces(self, ids: Sequence[int]) -> list[str]:
        return [str(self._model.id_to_piece(index)) for index in ids]

    def text(self, ids: Sequence[int]) -> str:
        return str(self._model.decode(list(ids)))

    def continues(self, index: int) -> bool:
        """Always False: the next piece itself marks the beginning of a word."""
        return False

    def without_unfinished(self, ids: Sequence[int]) -> Sequence[int]:
        return ids

    def begins_word(self, before: Sequence[int], ids: Sequence[int]) -> bool:
        return bool(ids) and self.surfaces(ids[:1])[0].startswith(WORD_START)
