"""A part of an archive of XML: its bytes, and what can be translated in it. It is written by replacing bytes of that
alone; nothing else of it changes."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from server.files.formats.base import Budget, DamagedFile
from server.files.formats.copies import Copies
from server.files.formats.xml_files import XmlBudget, encoding_of


class Edit(Protocol):
    """Something that can be translated, from byte `start` to byte `end`."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...

    @property
    def text(self) -> str:
        """What is to be translated, with placeholders."""

    def written(self, translation: str) -> Iterator[bytes | tuple[int, int]]:
        """Its bytes for a translation; a pair is a piece of the part as it is, from the first to the second byte."""


@dataclass(frozen=True)
class Setting:
    """Bytes that are `value` in a translated file: the name of its language."""

    start: int
    end: int
    value: bytes
    text: str = ""

    def written(self, translation: str) -> Iterator[bytes | tuple[int, int]]:
        yield self.value


class TextNumber:
    """Which text of the file something is; it is known when its part was read."""

    value: int = -1


Shared = MutableMapping[str, TextNumber]
"""Texts that are shown more than once."""


class TextsOfFile:
    """The texts of a file, in reading order, and what is taken of it. `language` is the target's."""

    def __init__(self, budget: Budget, language: str) -> None:
        self.budget, self.xml, self.language = budget, XmlBudget(budget), language
        self.copies = Copies(self.xml)
        self.texts: list[str] = []

    def add(self, text: str) -> int:
        """The number of a text, whose characters were counted."""
        self.texts.append(text)
        return len(self.texts) - 1


@dataclass
class Part:
    """A part's bytes in UTF-8, its real encoding, and what can be translated, in the order of its bytes: of each the
    number of its text among those of the file. `settings` change if anything in the file does."""

    data: bytearray
    encoding: str
    edits: list[tuple[Edit, int]] = field(default_factory=list)
    settings: list[Edit] = field(default_factory=list)

    def written(self, texts: Sequence[str], translations: Sequence[str]) -> bytes | None:
        """The part with the file's `translations`; None where it stays as it is."""
        changed = [(edit, translations[number]) for edit, number in self.edits if translations[number] != texts[number]]
        if self.settings and any(text != other for text, other in zip(texts, translations, strict=True)):
            changed += [(setting, "") for setting in self.settings]
            changed.sort(key=lambda item: item[0].start)
        if not changed:
            return None
        data = b"".join(_Splices(self.data, changed).between(0, len(self.data)))
        return data if self.encoding == "utf-8" else data.decode().encode(self.encoding, "xmlcharrefreplace")


@dataclass
class _Splices:
    """A part in which some edits are written. Edits may lie inside of pieces that others keep as they are."""

    data: bytearray
    changed: Sequence[tuple[Edit, str]]

    @cached_property
    def starts(self) -> list[int]:
        return [edit.start for edit, _ in self.changed]

    def between(self, start: int, end: int) -> Iterator[bytes]:
        """The bytes from `start` to `end`, with what is changed inside of them."""
        index = bisect_left(self.starts, start)
        while index < len(self.starts) and self.starts[index] < end:
            edit, translation = self.changed[index]
            yield bytes(self.data[start : edit.start])
            for piece in edit.written(translation):
                if isinstance(piece, bytes):
                    yield piece
                else:
                    yield from self.between(*piece)
            start = edit.end
            index = bisect_left(self.starts, start, index + 1)
        yield bytes(self.data[start:end])


def unpacked(chunks: Iterable[bytes], name: str, xml: XmlBudget) -> Part:
    """The part `name`, whose bytes are `chunks`, with nothing to translate yet. Raises DamagedFile, FileTooLarge."""
    data = bytearray()
    encoding = ""
    for chunk in chunks:
        xml.spend(chunk)
        encoding = encoding or encoding_of(chunk, name)
        data += chunk
    if not data:
        raise DamagedFile(f"{name} is empty")
    if encoding == "utf-16":
        encoding = "utf-16-le" if data.startswith(b"\xff\xfe") else "utf-16-be"
    if encoding != "utf-8":
        try:
            data = bytearray(data.decode(encoding).encode())
        except UnicodeError as error:
            raise DamagedFile(f"{name} is no well-formed XML: {error}") from None
    return Part(data, encoding)


def written_parts(parts: Mapping[str, Part], texts: Sequence[str], translations: Sequence[str]) -> dict[str, bytes]:
    """Those parts that `translations` of the file's texts change, by their names."""
    if len(translations) != len(texts):
        raise ValueError(f"{len(translations)} translations of {len(texts)} texts")
    written = ((name, part.written(texts, translations)) for name, part in parts.items())
    return {name: content for name, content in written if content is not None}
