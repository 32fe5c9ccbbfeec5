"""SentencePiece: text to ids and back."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import sentencepiece

PAD_ID, UNK_ID, BOS_ID, EOS_ID = 0, 1, 2, 3
MAX_SPELLED = 20_000
"""Characters that are remembered."""

# Control characters, line separators and lone surrogates: a translation is one line of valid Unicode.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


class VocabularyError(ValueError):
    """A SentencePiece model that this server cannot use."""


class Pieces:
    """One SentencePiece model. Thread-safe: the model is only read, what is remembered of it is written whole."""

    def __init__(self, path: Path) -> None:
        """Raises VocabularyError when `path` is no SentencePiece model or numbers its special pieces otherwise."""
        self._spelled: dict[str, bool] = {}
        try:
            self._model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        except (OSError, RuntimeError) as error:
            raise VocabularyError(f"{path} is not a SentencePiece model: {error}") from error
        ids = (self._model.pad_id(), self._model.unk_id(), self._model.bos_id(), self._model.eos_id())
        if ids != (PAD_ID, UNK_ID, BOS_ID, EOS_ID):
            raise VocabularyError(f"{path} has pad, unk, bos, eos = {ids}, expected {(PAD_ID, UNK_ID, BOS_ID, EOS_ID)}")

    def __len__(self) -> int:
        return int(self._model.get_piece_size())

    def spells(self, character: str) -> bool:
        """Whether the vocabulary has a piece for `character`: not only its bytes, and not the unknown one."""
        if character not in self._spelled:
            if len(self._spelled) > MAX_SPELLED:
                self._spelled.clear()
            ids = self._model.encode(_SURROGATE.sub("\ufffd", character))
            self._spelled[character] = not any(one == UNK_ID or self._model.is_byte(one) for one in ids)
        return self._spelled[character]

    def encode(self, sentences: Sequence[str]) -> list[tuple[int, ...]]:
        """Ids of every sentence, EOS at the end. A lone surrogate counts as U+FFFD."""
        # One by one: the library starts threads for a list, and on busy cores they wait long to be scheduled.
        return [(*self._model.encode(_SURROGATE.sub("\ufffd", text)), EOS_ID) for text in sentences]

    def lengths(self, sentences: Sequence[str]) -> list[int]:
        """How many ids `encode` gives for every sentence, EOS included."""
        return [len(ids) for ids in self.encode(sentences)]

    def texts(self, ids: Sequence[int]) -> list[str]:
        """How the pieces look, "\u2581" at the start of a word."""
        return [str(self._model.id_to_piece(one)) for one in ids]

    def decode(self, sequences: Iterable[Sequence[int]]) -> list[str]:
        """Text of every id sequence, on one line and without spaces around it.

        Byte pieces can spell control characters and broken UTF-8; neither reaches the text.
        """
        return [_CONTROL.sub(" ", self._model.decode(list(ids))).strip() for ids in sequences]
