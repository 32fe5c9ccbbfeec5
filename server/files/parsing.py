"""Reads the texts of a file and writes the file with their translations, for parsers in this process and in others.

Both are functions of the file's bytes alone, so that no parser holds a file while its texts are translated.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from server.files.formats.base import (
    NO_OPTIONS,
    DamagedFile,
    FileError,
    FileOptions,
    FileTooLarge,
    NoText,
    OpenedFile,
    UnsupportedFile,
)
from server.files.formats.registry import FORMATS, Format, open_file, suffix_of
from server.text.base.placeholders import TooManyPlaceholders
from server.text.markup.tokens import MalformedMarkup

ERRORS = {kind.__name__: kind for kind in (UnsupportedFile, DamagedFile, FileTooLarge, NoText, FileError)}
"""Errors of parsers by name."""
Failure = Literal["cpu_time", "wall_time", "memory", "crash"]
"""Why a process gave up a file: it reached a limit, or crashed."""
BEGINNING = 4000
"""Characters of a file by which its language is detected."""


@dataclass(frozen=True)
class SourceFile:
    """A file to be translated into `language`. More than `max_characters` to translate are refused. Files of one
    `owner` wait in one queue; owners take turns."""

    data: bytes
    name: str
    language: str
    max_characters: int = 10_000_000
    owner: str = ""
    options: FileOptions = NO_OPTIONS


@dataclass(frozen=True)
class WrittenFile:
    """A translated file, and the notes of `OpenedFile`."""

    data: bytes
    notes: Sequence[str] = ()


class FileParser(Protocol):
    """Reads and writes files. Both methods raise FileError."""

    async def texts(self, file: SourceFile) -> list[str]:
        """The file's texts in reading order, with placeholders for what is inside them but is no text."""

    async def write(self, file: SourceFile, translations: Sequence[str]) -> WrittenFile:
        """The file with a translation in place of each of its texts."""


@dataclass(frozen=True)
class ParsedFile:
    """A file with its `texts`, and the parser that read them and will write their translations."""

    source: SourceFile
    texts: Sequence[str]
    parser: FileParser

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def media_type(self) -> str:
        return self._format.media_type

    @property
    def written_media_type(self) -> str:
        """That of the translated file."""
        return FORMATS[self._format.written_as].media_type if self._format.written_as else self.media_type

    @property
    def _format(self) -> Format:
        return FORMATS[suffix_of(self.source.name, self.source.data)]

    @property
    def num_chars(self) -> int:
        """Characters of its texts."""
        return sum(map(len, self.texts))

    @property
    def beginning(self) -> str:
        """The first characters of its texts, to detect their language by."""
        parts: list[str] = []
        room = BEGINNING
        for text in self.texts:
            if room <= 0:
                break
            parts.append(text[:room])
            room -= len(text) + 1
        return "\n".join(parts)

    async def write(self, translations: Sequence[str], languages: tuple[str, str]) -> WrittenFile:
        """The file with `translations` from and into these languages. Raises FileError."""
        source, target = languages
        options = replace(self.source.options, source_language=source)
        return await self.parser.write(replace(self.source, language=target, options=options), translations)


async def parse(parser: FileParser, file: SourceFile) -> ParsedFile:
    """Raises FileError."""
    return ParsedFile(file, await parser.texts(file), parser)


def read_texts(file: SourceFile) -> list[str]:
    """Raises FileError."""
    return list(_open(file).texts)


def write_file(file: SourceFile, translations: Sequence[str]) -> WrittenFile:
    """Raises FileError."""
    opened = _open(file)
    data = opened.write(translations)
    return WrittenFile(data, tuple(opened.notes))


def _open(file: SourceFile) -> OpenedFile:
    try:
        return open_file(file.data, file.name, file.language, file.max_characters, file.options)
    except (TooManyPlaceholders, MalformedMarkup) as error:
        raise DamagedFile(str(error)) from None
