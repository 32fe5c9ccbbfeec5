"""What every format gives for a file: its texts, and how to write translations of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

SOME_TEXTS = 1000
"""Texts that a file may have however few characters are taken."""
CHARACTERS_PER_TEXT = 16
"""Permitted characters for each text more: cells of one letter cost memory and time as sentences do."""


class FileError(ValueError):
    """A file that cannot be translated; the message says why and what to do."""


class UnsupportedFile(FileError):
    """A file of no known format, or of one whose library is not installed."""


class DamagedFile(FileError):
    """A file that is not what its name says, is incomplete, or is encrypted."""


class FileTooLarge(FileError):
    """A file with more content than is taken."""


@dataclass(frozen=True)
class OpenedFile:
    """`texts` in reading order, with placeholders for what is inside them but is no text
    (`server.text.base.placeholders`). `write` takes a translation for each and returns the file's bytes."""

    texts: Sequence[str]
    write: Callable[[Sequence[str]], bytes]


class Budget:
    """What is taken of one file. An opener gives it every text when it finds it, so that it stops early."""

    def __init__(self, max_characters: int) -> None:
        """`max_characters` of all texts together."""
        self.max_characters = max_characters
        self.max_texts = SOME_TEXTS + max_characters // CHARACTERS_PER_TEXT
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
        """Look at all texts of a file. Raises FileTooLarge."""
        count = sum(map(len, texts))
        if count > self.max_characters:
            raise FileTooLarge(f"the file has {count} characters to translate, at most {self.max_characters} are taken")
        if len(texts) > self.max_texts:
            raise FileTooLarge(self._too_many(f"{len(texts)} texts"))

    def _too_many(self, what: str) -> str:
        return (
            f"the file has too many {what} (paragraphs, cells, cues or messages): at most {self.max_texts} are taken,"
            f" {SOME_TEXTS} and one for every {CHARACTERS_PER_TEXT} permitted characters; split it into smaller files"
        )


Opener = Callable[[bytes, str, Budget], OpenedFile]
"""Takes a file's bytes, the target language and what is taken of the file. Raises FileError."""


@dataclass(frozen=True)
class Encoding:
    """A text file's encoding, and the byte order mark that it begins with."""

    name: str
    mark: bytes = b""

    def encode(self, text: str) -> bytes:
        return self.mark + text.encode(self.name, errors="replace")


def decode(data: bytes) -> tuple[str, Encoding]:
    """A text file's text. Raises DamagedFile for what is neither UTF-8 nor UTF-16 with its mark."""
    for mark, name in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            return _decode(data[len(mark) :], Encoding(name, mark))
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
