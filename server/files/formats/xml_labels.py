"""Reads a small part whose texts stand alone in their elements: titles and entries of a table of contents."""

from collections.abc import Collection
from xml.parsers import expat

from server.files.formats.base import DamagedFile
from server.files.formats.ooxml.labels import Label, tag_end
from server.files.formats.ooxml.part import MAX_DEPTH
from server.files.formats.xml_part import Part, Setting
from server.text.base.words import has_letters


class Labels:
    """The contents of the elements of `part` with these local `names`, in `labels`; those of `languages` become
    `language` if anything in the file changes."""

    def __init__(
        self, part: Part, name: str, names: Collection[str], languages: Collection[str], language: str
    ) -> None:
        """`name` of the part, for messages. Raises DamagedFile."""
        self.labels: list[Label] = []
        self._part, self._names, self._languages, self._language = part, names, languages, language
        self._open: list[tuple[int, list[str]]] = []
        """For every open element where its tag ends, and its texts."""
        parser = expat.ParserCreate("utf-8", " ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        self._parser, self._name = parser, name
        try:
            parser.Parse(part.data, True)
        except expat.ExpatError as error:
            raise DamagedFile(f"{name} is no well-formed XML: {error}") from None

    def _start(self, expanded: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise DamagedFile(f"{self._name} is no well-formed XML: more than {MAX_DEPTH} elements inside each other")
        self._open.append((tag_end(self._part.data, self._parser.CurrentByteIndex), []))

    def _characters(self, text: str) -> None:
        self._open[-1][1].append(text)

    def _end(self, expanded: str) -> None:
        start, texts = self._open.pop()
        name, text = expanded.rpartition(" ")[2], "".join(texts)
        end = self._parser.CurrentByteIndex
        if not text.strip() or self._part.data.find(b"<", start, end) >= 0:  # only texts that stand alone
            return
        if name in self._languages:
            self._part.settings.append(Setting(start, end, self._language.encode()))
        elif name in self._names and has_letters(text):
            self.labels.append(Label(start, end, " ".join(text.split())))
