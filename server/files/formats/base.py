"""The interface of all formats: the texts of a file, and a function that writes the file with their translations."""

import codecs
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from server.files.formats.detection import detected_encoding, utf16_without_mark

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


class NoText(FileError):
    """A file in which there is nothing to translate."""


@dataclass(frozen=True)
class FileOptions:
    """What a client says about a file; "" is the default of its format. `columns`: those of a table that are
    translated, by name or number. `keys`: those of JSON, as `key_paths` has them. `source_language` is a code, if it is
    known."""

    columns: str = ""
    keys: str = ""
    source_language: str = ""


NO_OPTIONS = FileOptions()


@dataclass(frozen=True)
class OpenedFile:
    """`texts` in reading order, with placeholders for markup (`server.text.base.placeholders`). `write` takes a
    translation of each text and returns the file's bytes.

    `notes` say how the file was read where that is not certain, without words of the file; `write` adds what it
    changed. `num_done`: texts that have a translation already and are therefore not among `texts`."""

    texts: Sequence[str]
    write: Callable[[Sequence[str]], bytes]
    notes: list[str] = field(default_factory=list)
    num_done: int = 0


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
OpenerWithOptions = Callable[[bytes, str, Budget, FileOptions], OpenedFile]


@dataclass(frozen=True)
class Encoding:
    """A text file's encoding by Python's name, and its byte order mark. `notes` say how it was found if that is not
    certain; `encode` adds what it changed."""

    name: str
    bom: bytes = b""
    notes: list[str] = field(default_factory=list)

    def encode(self, text: str) -> bytes:
        """The bytes of a text, as UTF-8 with its mark if the encoding lacks characters of it."""
        try:
            return self.bom + text.encode(self.name)
        except UnicodeEncodeError as error:
            if is_unicode(self.name):  # a lone surrogate
                return self.bom + text.encode(self.name, errors="replace")
            self.notes.append(f"written as UTF-8: {shown(self.name)} has no U+{ord(text[error.start]):04X}")
            return codecs.BOM_UTF8 + text.encode("utf-8", errors="replace")


def is_unicode(name: str) -> bool:
    return name.startswith("utf")


def shown(name: str) -> str:
    """The name of an encoding as people know it: "Windows-1252"."""
    return f"Windows-{name[2:]}" if name.startswith("cp125") else name.upper().replace("_", "-")


_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode(data: bytes, declared: str | None = None) -> tuple[str, Encoding]:
    """The text of a text file, and its encoding: that of its byte order mark, else the one that it has `declared`
    (Python's name), else UTF-8; else UTF-16 without a mark or an encoding of eight bits, where that is certain, with a
    note. Raises DamagedFile."""
    for bom, name in _BOMS:
        if data.startswith(bom):
            return _decode(data[len(bom) :], Encoding(name, bom))
    if declared is not None and not declared.startswith(("utf-16", "utf-32")):
        return _decode(data, Encoding(declared), ", which it declares")
    if b"\x00" in data:
        if (wide := utf16_without_mark(data)) is None:
            raise DamagedFile(f"the file is no text: it has zero bytes (byte {data.index(0)})")
        return _decode(data, Encoding(wide, notes=[f"read as {shown(wide)}, which the file does not declare"]))
    try:
        return data.decode(), Encoding("utf-8")
    except UnicodeDecodeError as error:
        place = error.start
    try:
        detected = detected_encoding(data)
    except ImportError:
        detected = None
    if detected is None:
        reason = f"the file is no UTF-8 text (byte {place}), and it is not certain which other encoding it has"
        raise DamagedFile(f"{reason}; save it as UTF-8")
    return data.decode(detected), Encoding(
        detected,
        notes=[f"read as {shown(detected)}, which the file does not declare: it is no UTF-8 text (byte {place})"],
    )


def _decode(data: bytes, encoding: Encoding, why: str = "") -> tuple[str, Encoding]:
    try:
        text = data.decode(encoding.name)
    except UnicodeDecodeError as error:
        name = shown(encoding.name)
        place = len(encoding.bom) + error.start
        raise DamagedFile(f"the file is no {name} text{why} (byte {place}); save it as UTF-8") from None
    if "\x00" in text:
        raise DamagedFile("the file is no text: it has zero bytes")
    return text, encoding
