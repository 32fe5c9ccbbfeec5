"""The interface of all formats: the texts of a file, and a function that writes the file with their translations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

BASE_TEXTS = 1000
"""Texts that a file may have at any limit of characters."""
CHARACTERS_PER_TEXT = 16
"""Permitted characters for each further text: a cell of one letter costs as much memory and time as a sentence."""


class FileError(ValueError):
    """A file that cannot be translated; the message has the reason and the remedy."""


class UnsupportedFile(FileError):
    """A file of an unknown format, or of a format whose library is not installed."""


class DamagedFile(FileError):
    """A file that does not have the format of its name, is incomplete, or is encrypted."""


class FileTooLarge(FileError):
    """A file with more content than is permitted."""


@dataclass(frozen=True)
class OpenedFile:
    """`texts` in reading order, with placeholders for markup (`server.text.base.placeholders`). `write` takes a
    translation of each text and returns the file's bytes.

    `notes` say how the file was read where that is not certain, without words of the file; `write` adds what it
    changed."""

    texts: Sequence[str]
    write: Callable[[Sequence[str]], bytes]
    notes: list[str] = field(default_factory=list)


class Budget:
    """The limits of one file. An opener spends each text as soon as it is read, so that a large file fails early."""

    def __init__(self, max_characters: int) -> None:
        """`max_characters`: of all texts together."""
        self.max_characters = max_characters
        self.max_texts = BASE_TEXTS + max_characters // CHARACTERS_PER_TEXT
        self._num_texts = self._num_characters = 0

    def spend(self, text: str) -> None:
        """Count a text. Raises FileTooLarge."""
        self._num_texts += 1
        self._num_characters += len(text)
        if self._num_characters > self.max_characters:
            raise FileTooLarge(
                f"the file has more than {self.max_characters} characters to translate; split it into smaller files"
            )
        if self._num_texts > self.max_texts:
            raise FileTooLarge(self._too_many("texts"))

    def check(self, texts: Sequence[str]) -> None:
        """Check all texts of a file at once. Raises FileTooLarge."""
        count = sum(map(len, texts))
        if count > self.max_characters:
            raise FileTooLarge(f"the file has {count} characters to translate, at most {self.max_characters} are taken")
        if len(texts) > self.max_texts:
            raise FileTooLarge(self._too_many(f"{len(texts)} texts"))

    def _too_many(self, what: str) -> str:
        return (
            f"the file has too many {what} (paragraphs, cells, cues or messages): at most {self.max_texts} are taken,"
            f" {BASE_TEXTS} and one for every {CHARACTERS_PER_TEXT} permitted characters; split it into smaller files"
        )


Opener = Callable[[bytes, str, Budget], OpenedFile]
"""(the file's bytes, target language, limits) -> the opened file. Raises FileError."""


@dataclass(frozen=True)
class Encoding:
    """A text file's encoding, and its byte order mark."""

    name: str
    bom: bytes = b""

    def encode(self, text: str) -> bytes:
        return self.bom + text.encode(self.name, errors="replace")


def decode(data: bytes) -> tuple[str, Encoding]:
    """The text of a text file. Raises DamagedFile unless it is UTF-8, or UTF-16 with a byte order mark."""
    for bom, name in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(bom):
            return _decode(data[len(bom) :], Encoding(name, bom))
    return _decode(data, Encoding("utf-8"))


def _decode(data: bytes, encoding: Encoding) -> tuple[str, Encoding]:
    try:
        text = data.decode(encoding.name)
    except UnicodeDecodeError as error:
        raise DamagedFile(
            f"the file is no {encoding.name.upper()} text (byte {error.start}); save it as UTF-8"
        ) from None
    if "\x00" in text:
        raise DamagedFile("the file is no text: it has zero bytes")
    return text, encoding
