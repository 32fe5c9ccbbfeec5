"""Reads a small part whose texts stand alone in their elements: titles and entries of a table of contents."""

from collections.abc import Collection

from server.files.formats.expat_parser import MAX_DEPTH, expat_parser, parse_with, tag_end, too_deep
from server.files.formats.ooxml.labels import Label
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
        self._name = name
        self._parser = expat_parser(name, self._start, self._end, self._characters)
        parse_with(self._parser, part.data, name)

    def _start(self, expanded: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise too_deep(self._name)
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
