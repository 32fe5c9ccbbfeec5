"""XML elements with the places of their bytes, so that a file is written as it was but for what is translated."""

import re
from collections.abc import Callable, Iterator, Mapping

from server.files.formats.base import DamagedFile
from server.files.formats.expat_parser import MAX_DEPTH, expat_parser, parse_with, tag_end, too_deep

_ATTRIBUTE = re.compile(r"""\s+([^\s"'<>/=]+)\s*=\s*("[^"]*"|'[^']*')""")

_NAME = re.compile(r"<[^\s/>]++")


class Element:
    """An element from byte `start` to byte `end`; between `inner` and `inner_end` is its content: texts and elements.
    The name, without its namespace, is "" for comments and processing instructions."""

    __slots__ = ("attributes", "content", "end", "inner", "inner_end", "name", "start")

    def __init__(self, name: str, start: int, inner: int, attributes: Mapping[str, str]) -> None:
        self.name, self.start, self.inner, self.attributes = name, start, inner, attributes
        self.inner_end = self.end = inner
        self.content: list[str | Element] = []

    @property
    def is_empty(self) -> bool:
        """Whether it is one tag."""
        return self.inner == self.end

    def children(self) -> Iterator["Element"]:
        return (child for child in self.content if isinstance(child, Element))

    def child(self, name: str) -> "Element | None":
        for child in self.content:
            if isinstance(child, Element) and child.name == name:
                return child
        return None


class PlacedXml:
    """Reads XML in UTF-8. `on_start` is called with every element that is not inside of a kept one; the elements that
    it returns True for are kept with all that they hold, and given to `on_end`. `on_close` is called at the end of the
    others."""

    def __init__(self, data: bytes | bytearray, what: str) -> None:
        self.data, self._what = data, what

    def read(
        self, on_start: Callable[[Element], bool], on_end: Callable[[Element], None], on_close: Callable[[], None]
    ) -> None:
        """Raises DamagedFile, and what the functions raise."""
        self._on_start, self._on_end, self._on_close = on_start, on_end, on_close
        self._kept: list[Element] = []
        self._depth = 0
        self._parser = parser = expat_parser(self._what, self._start, self._end, self._characters)
        parser.CommentHandler = lambda text: self._aside(b"-->")
        parser.ProcessingInstructionHandler = lambda target, text: self._aside(b"?>")
        parser.SkippedEntityHandler = self._skipped
        parse_with(parser, self.data, self._what)

    def raw(self, start: int, end: int) -> str:
        return self.data[start:end].decode()

    def _start(self, expanded: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise too_deep(self._what)
        start = self._parser.CurrentByteIndex
        element = Element(expanded.rpartition(" ")[2], start, tag_end(self.data, start), attributes)
        if self._kept:
            self._kept[-1].content.append(element)
            self._kept.append(element)
        elif self._on_start(element):
            self._kept.append(element)

    def _end(self, expanded: str) -> None:
        self._depth -= 1
        if not self._kept:
            self._on_close()
            return
        element = self._kept.pop()
        if self.data[element.inner - 2 : element.inner] != b"/>":
            element.inner_end = self._parser.CurrentByteIndex
            element.end = self.data.index(b">", element.inner_end) + 1
        if not self._kept:
            self._on_end(element)
            self._on_close()

    def _characters(self, text: str) -> None:
        if self._kept:
            self._kept[-1].content.append(text)

    def _aside(self, end: bytes) -> None:
        if self._kept:
            start = self._parser.CurrentByteIndex
            stop = self.data.index(end, start) + len(end)
            self._kept[-1].content.append(Element("", start, stop, {}))

    def _skipped(self, name: str, is_parameter: bool) -> None:
        raise DamagedFile(f"{self._what} has an entity that it does not declare; write the character itself")


def elements(data: bytes | bytearray, what: str, *names: str) -> list[Element]:
    """The elements with these local names that are in no other of them. Raises DamagedFile."""
    kept: list[Element] = []
    PlacedXml(data, what).read(lambda element: element.name in names, kept.append, lambda: None)
    return kept


def with_attributes(tag: str, values: Mapping[str, str | None]) -> str:
    """A start tag with these attributes set, or removed where the value is None."""
    parts: list[str] = []
    end = 0
    missing = dict(values)
    for match in _ATTRIBUTE.finditer(tag):
        if match[1] not in values:
            continue
        value = missing.pop(match[1], None)
        start, stop = match.span() if value is None else match.span(2)
        parts += (tag[end:start], "" if value is None else f'"{value}"')
        end = stop
    whole = "".join([*parts, tag[end:]])
    added = "".join(f' {name}="{value}"' for name, value in missing.items() if value is not None)
    name = _NAME.match(whole)
    at = name.end() if name else 0
    return whole[:at] + added + whole[at:]
