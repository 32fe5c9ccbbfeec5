"""A vocabulary of words cut by byte pairs: a file in JSON with all that text and ids need. Where SentencePiece marks
the beginning of a word, here a separator ("@@") marks a piece that the next one continues."""

import dataclasses
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.subwords.byte_pairs import BytePairs, Pair, SubwordsError
from server.subwords.moses import Moses, MosesText

KIND = "byte pairs"
FORMAT = 1
WORD_START = "\u2581"
_ENTITIES = {
    "&amp;": "&", "&#124;": "|", "&lt;": "<", "&gt;": ">", "&apos;": "'", "&quot;": '"', "&#91;": "[", "&#93;": "]",
}  # fmt: skip
"""Words of Moses' scripts, and the signs that they stand for."""
_ENTITY = re.compile("|".join(_ENTITIES))
SPLIT_DASH = "@-@"
"""A dash between letters that was split off."""


@dataclass(frozen=True)
class WordsFile:
    """`words` by their ids. `control`: ids of words that no text has, UNK and EOS among them. `version` and `pairs`:
    the codes. `known`: the pieces that merges may give (see `BytePairs`). `moses`: None for text that is cut at its
    blanks only."""

    words: tuple[str, ...]
    unk: int
    eos: int
    control: frozenset[int]
    version: str
    pairs: tuple[Pair, ...]
    moses: Moses | None
    separator: str = "@@"
    known: frozenset[str] | None = None

    def text(self) -> str:
        """The content of the file."""
        known = None if self.known is None else sorted(self.known)
        moses = None if self.moses is None else dataclasses.asdict(self.moses)
        values = dataclasses.asdict(self) | {"control": sorted(self.control), "known": known, "moses": moses}
        return json.dumps({"kind": KIND, "format": FORMAT, **values}, ensure_ascii=False) + "\n"

    @classmethod
    def parsed(cls, text: str) -> "WordsFile":
        """Raises SubwordsError."""
        try:
            values: dict[str, Any] = json.loads(text)
            if (values.pop("kind"), values.pop("format")) != (KIND, FORMAT):
                raise SubwordsError("is of another kind than this version reads: import the model again")
            known, moses = values.pop("known"), values.pop("moses")
            file = cls(
                words=tuple(values.pop("words")),
                control=frozenset(values.pop("control")),
                pairs=tuple((left, right) for left, right in values.pop("pairs")),
                known=None if known is None else frozenset(known),
                moses=None if moses is None else Moses(**moses),
                **values,
            )
            if not all(0 <= index < len(file.words) for index in (file.unk, file.eos)):
                raise SubwordsError("has no words for UNK or EOS: import the model again")
        except SubwordsError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise SubwordsError(f"is no vocabulary of words: {error}") from error
        return file


def is_words_file(path: Path) -> bool:
    """Whether a vocabulary is of this kind; else it is a SentencePiece model."""
    with path.open("rb") as file:
        return file.read(1) == b"{"


class Words:
    """The words of a file. Thread-safe."""

    def __init__(self, path: Path) -> None:
        """Raises SubwordsError, and OSError for a file that cannot be read."""
        try:
            file = WordsFile.parsed(path.read_text(encoding="utf-8"))
            self._moses = None if file.moses is None else MosesText(file.moses)
            self._pairs = BytePairs(file.version, file.pairs, file.separator, file.known)
        except (SubwordsError, UnicodeDecodeError) as error:
            raise SubwordsError(f"{path} {error}") from error
        self.unk_id, self.eos_id = file.unk, file.eos
        self._file, self._separator = file, file.separator
        readable = [(word, index) for index, word in enumerate(file.words) if index not in file.control]
        self._ids = dict(reversed(readable))

    def __len__(self) -> int:
        return len(self._file.words)

    def is_control(self, index: int) -> bool:
        """Whether an id stands for no text."""
        return index in self._file.control

    def is_byte(self, index: int) -> bool:
        """Whether an id is a byte: characters that the vocabulary lacks are UNK."""
        return False

    def ids(self, text: str) -> list[int]:
        """Ids of a text, without EOS; UNK for pieces that the vocabulary lacks."""
        return [self._ids.get(piece, self.unk_id) for piece in self.segmented(text)]

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The `ids` of texts."""
        return [self.ids(text) for text in texts]

    def segmented(self, text: str) -> list[str]:
        """The pieces of a text, whether they are in the vocabulary or not."""
        words = self._moses.words(text) if self._moses is not None else text.strip("\r\n ").split(" ")
        return self._pairs.segmented(words)

    def has_more_forms(self, character: str) -> bool:
        """Whether a character that is unknown alone is known within words."""
        return character + self._separator in self._ids

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces as the vocabulary lists them."""
        return [self._file.words[index] for index in ids]

    def text(self, ids: Sequence[int]) -> str:
        """The text of ids. A separator behind which no piece comes is left out."""
        words = ["".join(map(self._shown, word)) for word in self._words_of(ids) if not self.is_control(word[0])]
        return self._moses.text(words) if self._moses is not None else " ".join(words).strip()

    def decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """The `text` of every sequence."""
        return [self.text(ids) for ids in sequences]

    def _shown(self, index: int) -> str:
        """A piece without its separator."""
        return self._file.words[index].removesuffix(self._separator)

    def continues(self, index: int) -> bool:
        """Whether the next piece belongs to the same word."""
        return not self.is_control(index) and self._file.words[index].endswith(self._separator)

    def without_unfinished(self, ids: Sequence[int]) -> Sequence[int]:
        """The ids of a translation that is being decoded, without its last word if that may continue."""
        end = len(ids)
        if end and self.continues(ids[-1]):
            while end and self.continues(ids[end - 1]):
                end -= 1
        return ids[:end]

    def begins_word(self, before: Sequence[int], ids: Sequence[int]) -> bool:
        """Whether there is a space between the text of `before` and that of `ids`."""
        text, whole = self.text(before), self.text([*before, *ids])
        return not whole.startswith(text) or whole[len(text) :].startswith(" ")

    def surfaces(self, ids: Sequence[int]) -> list[str]:
        """The pieces as a SentencePiece vocabulary would list them: with "\u2581" at the start of a word, without
        separators, and with signs in place of what Moses' scripts write for them."""
        surfaces: list[str] = []
        begins = True
        for word in self._words_of(ids):
            if self.is_control(word[0]):
                begins = True
                surfaces += self.pieces(word)
                continue
            shown = [*map(self._shown, word)]
            is_dash = self._moses is not None and "".join(shown) == SPLIT_DASH
            if is_dash:
                shown = ["-", *("" for _ in shown[1:])]
            elif self._moses is not None:
                shown = _with_signs(shown)
            surfaces += (f"{WORD_START * (begins and not is_dash)}{shown[0]}", *shown[1:])
            begins = not is_dash
        return surfaces

    def _words_of(self, ids: Sequence[int]) -> Iterator[list[int]]:
        """The ids of every word, and each that stands for no text alone."""
        word: list[int] = []
        for index in ids:
            if self.is_control(index) and word:
                yield word
                word = []
            word.append(index)
            if not self.continues(index):
                yield word
                word = []
        if word:
            yield word


def _with_signs(pieces: Sequence[str]) -> list[str]:
    """The pieces of a word with signs in place of what Moses' scripts write for them, each in the piece in which that
    begins."""
    whole = "".join(pieces)
    if "&" not in whole:
        return [*pieces]
    shown, end = [""] * len(pieces), 0
    owners = [number for number, piece in enumerate(pieces) for _ in piece]
    for match in (*_ENTITY.finditer(whole), None):
        for at in range(end, len(whole) if match is None else match.start()):
            shown[owners[at]] += whole[at]
        if match is not None:
            shown[owners[match.start()]] += _ENTITIES[match[0]]
            end = match.end()
    return shown
