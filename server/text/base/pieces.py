"""A vocabulary: text to ids and back, by SentencePiece, or by byte pairs and Moses' scripts (`server.subwords`)."""

import contextlib
import copy
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from server.runtime.checkpoints import checkpoint
from server.subwords.byte_pairs import SubwordsError
from server.subwords.words import Words, is_words_file
from server.text.base.sentence_pieces import SentencePieces

MAX_COUNTED_WORDS, LONGEST_COUNTED = 20_000, 40
"""Words whose numbers of pieces are kept, and their characters, at most: 2 MB for words of ASCII, 5 MB for
others (tracemalloc, Python 3.11)."""
MAX_CACHED_CHARACTERS = 20_000
"""Characters in the cache of `Pieces.spells`, at most."""
MAX_CHARACTER_BYTES = 4
"""Bytes of a character in UTF-8, at most."""

# Control characters, line separators and lone surrogates: a translation is one line of valid Unicode.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


class VocabularyError(ValueError):
    """A vocabulary that this server cannot use."""


class Pieces:
    """One vocabulary. Thread-safe."""

    def __init__(
        self,
        path: Path,
        size: int | None = None,
        prefix: tuple[int, ...] = (),
        language: str = "",
        ends_with_eos: bool = True,
    ) -> None:
        """Pieces beyond the first `size` count as unknown. `prefix`: ids before every sentence. `language`: the code of
        the texts' language, "" for any. `ends_with_eos`: EOS is behind every sentence, and else only where there would
        be no id. Raises VocabularyError if `path` is no vocabulary, has no piece that ends a sentence, or needs a
        package that is not installed."""
        self.language = language
        self._model: Words | SentencePieces
        self._spelled: dict[str, bool] = {}
        self._counts: dict[str, int] = {}
        try:
            self._model = Words(path) if is_words_file(path) else SentencePieces(path)
        except SubwordsError as error:
            raise VocabularyError(str(error)) from error
        except (OSError, RuntimeError) as error:
            raise VocabularyError(f"{path} is not a SentencePiece model: {error}") from error
        self._size, self._prefix, self._ends_with_eos = len(self) if size is None else size, prefix, ends_with_eos
        self.unk_id, self.eos_id = self._model.unk_id, self._model.eos_id
        if self.eos_id < 0:
            raise VocabularyError(f"{path} has no piece that ends a sentence: train it with an eos_id")

    def in_language(self, language: str, prefix: tuple[int, ...] = ()) -> "Pieces":
        """The same pieces for texts in a language, with other ids before every sentence. Shares what is kept of words
        and characters."""
        other = copy.copy(self)
        other.language, other._prefix = language, prefix
        return other

    def __len__(self) -> int:
        return len(self._model)

    def spells(self, character: str) -> bool:
        """Whether the vocabulary spells `character` without byte pieces and without the unknown piece."""
        is_spelled = self._spelled.get(character)
        if is_spelled is None:
            ids = self._known(character)
            is_spelled = not any(index == self.unk_id or self._model.is_byte(index) for index in ids)
            is_spelled = is_spelled or self._model.has_more_forms(character)
            if len(self._spelled) > MAX_CACHED_CHARACTERS:  # entries of other threads go, too; they keep their results
                self._spelled.clear()
            self._spelled[character] = is_spelled
        return is_spelled

    def encode(self, sentences: Sequence[str]) -> list[tuple[int, ...]]:
        """Ids of every sentence: prefix, pieces, EOS (see `ends_with_eos`). A lone surrogate is read as U+FFFD."""
        # Sentence by sentence: for a list the library starts threads, which wait long for busy cores.
        return [self._ended((*self._prefix, *self._known(text))) for text in sentences]

    def _ended(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        return (*ids, self.eos_id) if self._ends_with_eos or not ids else ids

    def without_eos(self, ids: Sequence[int]) -> Sequence[int]:
        """Ids of `encode` without EOS, where it is the last."""
        return ids[:-1] if ids and ids[-1] == self.eos_id else ids

    def _known(self, text: str) -> list[int]:
        checkpoint()
        ids = self._model.ids(_SURROGATE.sub("\ufffd", text))
        if max(ids, default=0) < self._size:
            return ids
        return [index if index < self._size else self.unk_id for index in ids]

    def num_pieces(self, word: str) -> int:
        """Number of pieces of a word, the space before it included. Fast for a word that was counted lately."""
        count = self._counts.get(word)
        if count is None:
            count = len(self._known(word))
            if len(self._counts) >= MAX_COUNTED_WORDS:
                self._counts.clear()
            if len(word) <= LONGEST_COUNTED:
                self._counts[word] = count
        return count

    def has_pieces(self, ids: Sequence[int]) -> bool:
        """Whether ids of `encode` are of a text with pieces."""
        return len(self.without_eos(ids)) > len(self._prefix)

    def length(self, ids: Sequence[int]) -> int:
        """Number of ids of `encode`, EOS included, also where there is none."""
        return len(self.without_eos(ids)) + 1

    def lengths(self, sentences: Sequence[str]) -> list[int]:
        """The `length` of every sentence."""
        return [self.length(ids) for ids in self.encode(sentences)]

    def texts(self, ids: Sequence[int]) -> list[str]:
        """The vocabulary's pieces, with "\u2581" at the start of a word."""
        return self._model.surfaces(ids)

    def spelled(self, ids: Sequence[int]) -> list[str]:
        """Like `texts`, but "" for ids that stand for no text, such as the tokens of languages."""
        pieces = zip(self.texts(ids), ids, strict=True)
        return ["" if self._model.is_control(index) else piece for piece, index in pieces]

    def decode_with_offsets(self, ids: Sequence[int]) -> tuple[str, list[tuple[int, int]]]:
        """The concatenated pieces with a space before every word, and start and end of each id in this text. Byte
        pieces become the character that they spell together."""
        parts, offsets, length, spelling = list[str](), list[tuple[int, int]](), 0, b""
        for piece, index in zip(self.texts(ids), ids, strict=True):
            if self._model.is_byte(index):
                spelling += bytes([int(piece[1:-1], 16)])
                if len(spelling) <= MAX_CHARACTER_BYTES:
                    with contextlib.suppress(UnicodeDecodeError):
                        parts.append(spelling.decode())
                        length, spelling = length + len(parts[-1]), b""
                offsets.append((max(0, length - 1), length))
                continue
            surface = "" if self._model.is_control(index) else piece.replace("\u2581", " ")
            parts.append(surface)
            length, spelling = length + len(surface), b""
            offsets.append((length - len(surface), length))
        return "".join(parts), offsets

    def decode_beginning(self, ids: Sequence[int]) -> str:
        """`decode` for ids that may end within a character, or within a word where only its end says how it is spelled:
        what it gives is the beginning of what it gives for more ids."""
        [text] = self.decode([self._model.without_unfinished(ids)])
        return text.rstrip("\ufffd").rstrip()

    def continues(self, token: int) -> bool:
        """Whether the next id belongs to the same word, and no piece of `texts` alone says where words begin."""
        return self._model.continues(token)

    def begins_word(self, before: Sequence[int], ids: Sequence[int]) -> bool:
        """Whether there is a space between the text of `before` and that of `ids`."""
        return self._model.begins_word(before, ids)

    def decode(self, sequences: Iterable[Sequence[int]]) -> list[str]:
        """Text of every id sequence, on one line and without spaces around it.

        Byte pieces can spell control characters and broken UTF-8; neither reaches the text.
        """
        return [_CONTROL.sub(" ", self._model.text(ids)).strip() for ids in sequences]
