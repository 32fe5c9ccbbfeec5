"""Reads a small part whose texts stand alone in their elements: titles and entries of a table of contents."""

import html
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from server.files.formats.expat_parser import MAX_DEPTH, expat_parser, parse_with, tag_end, too_deep
from server.files.formats.ooxml.labels import Label, attribute_places
from server.files.formats.strings.languages import base_language
from server.files.formats.xml_part import Part, Setting
from server.text.base.words import has_letters

_LANGUAGE = "http://www.w3.org/XML/1998/namespace lang"


@dataclass(frozen=True)
class Seen:
    """What readers see of a part, by local names: the contents of `elements`, but not of those inside of `skipped`, and
    of elements the one attribute that `attributes` names; and the contents that are names of `languages`."""

    elements: Collection[str]
    languages: Collection[str] = ()
    skipped: Collection[str] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Open:
    """An open element: where its tag ends, its texts, its base language ("" for none) and whether it stays."""

    inner: int
    texts: list[str]
    language: str
    stays: bool


class Labels:
    """The texts of `part` that are `seen`, in `labels`. Where the part says that something is in the `source`, `target`
    takes its place if anything in the file changes; what is in another language stays."""

    def __init__(self, part: Part, name: str, seen: Seen, source: str, target: str) -> None:
        """`name` of the part, for messages; `source` is the base language, "" if it is not known. Raises
        DamagedFile."""
        self.labels: list[Label] = []
        self._part, self._name, self._seen = part, name, seen
        self._source, self._target = source, target.encode()
        self._open = [_Open(0, [], "", False)]
        self._parser = expat_parser(name, self._start, self._end, self._characters)
        self._parser.SkippedEntityHandler = self._entity
        parse_with(self._parser, part.data, name)

    def _start(self, expanded: str, attributes: dict[str, str]) -> None:
        if len(self._open) > MAX_DEPTH:
            raise too_deep(self._name)
        name, around = expanded.rpartition(" ")[2], self._open[-1]
        start = self._parser.CurrentByteIndex
        inner = tag_end(self._part.data, start)
        is_root = len(self._open) == 1
        language = base_language(attributes[_LANGUAGE].strip()) if _LANGUAGE in attributes else around.language
        opened = _Open(inner, [], language, around.stays or name in self._seen.skipped)
        if is_root:  # it says which language the part is in, whatever the book says
            opened = _Open(inner, [], "", opened.stays)
            self._source = self._source or language
        self._open.append(opened)
        shown = self._seen.attributes.get(name)
        if _LANGUAGE not in attributes and shown not in attributes:
            return
        for attribute, place in attribute_places(self._part.data, start, inner):
            if attribute == "xml:lang" and language and (is_root or language == self._source):
                self._part.settings.append(Setting(*place, self._target))
            elif attribute == shown and self._is_seen(opened) and has_letters(attributes[shown]):
                self.labels.append(Label(*place, attributes[shown]))

    def _is_seen(self, element: _Open) -> bool:
        return not element.stays and (not self._source or element.language in ("", self._source))

    def _characters(self, text: str) -> None:
        self._open[-1].texts.append(text)

    def _entity(self, name: str, is_parameter: bool) -> None:
        """A character by the name that it has in HTML, as the type of the document may declare it."""
        if not is_parameter:
            self._characters(html.unescape(f"&{name};"))

    def _end(self, expanded: str) -> None:
        element = self._open.pop()
        name, text = expanded.rpartition(" ")[2], "".join(element.texts)
        start, end = element.inner, self._parser.CurrentByteIndex
        if not text.strip() or self._part.data.find(b"<", start, end) >= 0:  # only texts that stand alone
            return
        if name in self._seen.languages:
            if base_language(text.strip()) == self._source:
                self._part.settings.append(Setting(start, end, self._target))
        elif name in self._seen.elements and has_letters(text) and self._is_seen(element):
            self.labels.append(Label(start, end, " ".join(text.split())))
