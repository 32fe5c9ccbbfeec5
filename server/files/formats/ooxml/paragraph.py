"""A paragraph as a text with placeholders, and its bytes for a translation of that text.

The formatting of most of it counts as plain; other formatting, links, fields and the like are spans with placeholders
round them.
"""

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property

from server.files.formats.copies import Copies
from server.files.formats.ooxml.content import Format, Item, Mark, Run, Span, Text, leaves
from server.files.formats.ooxml.nodes import SHEET, Node
from server.files.formats.ooxml.reading import ItemReader
from server.files.formats.ooxml.writing import Piece, Tokens, Writer
from server.files.formats.xml_files import Elements
from server.text.base.words import has_letters


def read_paragraph(node: Node, data: bytearray, copies: Copies, language: str) -> "Paragraph | None":
    """None if there is nothing to translate in it. Raises FileTooLarge, TooManyPlaceholders."""
    children = node.children or []
    first = 1 if children and children[0].name == "pPr" else 0
    last = len(children) - (1 if len(children) > first and children[-1].name == "endParaRPr" else 0)
    if not any(child.children or child.texts for child in children[first:last]):
        return None
    items = ItemReader(data, copies).items(children[first:last])
    if not has_letters("".join(item.text for item in leaves(items) if isinstance(item, Text))):
        return None
    start = children[first - 1].end if first else node.inner
    end = children[last].start if last < len(children) else node.inner_end
    return Paragraph(node, data, items, start, end, language, keeps_lines=node.kind == SHEET)


class Paragraph:
    """A paragraph of which something can be translated, from byte `start` to byte `end`."""

    def __init__(
        self,
        node: Node,
        data: bytearray,
        items: Sequence[Item],
        items_start: int,
        items_end: int,
        language: str,
        keeps_lines: bool = False,
    ) -> None:
        """Before `items_start` and after `items_end` it stays as it is. `keeps_lines`: line feeds and tabs may be
        characters of its text."""
        self.start, self.end = node.start, node.end
        self._data, self._language = data, language
        self._keeps_lines = keeps_lines
        self._tag_end, self._items_start, self._items_end = node.inner, items_start, items_end
        self._leading, self._items, self._trailing = _without_edges(items)
        self._runs = _runs_by_format(items)
        self._plain = next(iter(self._runs.values()))
        self._elements = Elements()
        self._breaks: list[Mark] = []
        self._characters: list[Mark] = []
        self._hidden: list[tuple[int, Mark]] = []
        """Marks that the text has no placeholders for, with the number of characters before each."""
        self._length = 0
        self._add(self._items, _soft_breaks(self._items))

    @cached_property
    def text(self) -> str:
        return self._elements.placeholder_text.text

    def written(self, translation: str) -> Iterator[Piece]:
        """The paragraph's bytes for a translation, whatever placeholders that has."""
        tokens = Tokens(translation, self._elements, self._breaks, self._characters, self._keeps_lines)
        tokens.add_hidden(self._hidden, self._length)
        writer = Writer(self._data, tokens, self._plain, self._language)
        yield bytes(self._data[self.start : self._tag_end])
        yield self._tag_end, self._items_start
        yield from writer.marks(self._leading)
        yield from writer.items(self._items)
        yield from writer.marks(self._trailing)
        yield self._items_end, self.end

    def _add(self, items: Sequence[Item], soft: dict[int, str]) -> None:
        """Add the items of one element to the text; `soft` are the breaks that end no sentence, by their ids, and what
        the text has before each."""
        open_format: Format | None = None
        waiting: list[Mark] = []
        for item in items:
            if isinstance(item, Mark):
                waiting.append(item)
                continue
            if isinstance(item, Text) and not item.text:
                continue
            is_other = (
                isinstance(item, Span)
                or open_format is None
                or item.run.visible_format != open_format.run.visible_format
            )
            if open_format is not None and is_other:
                self._elements.close(open_format)
                open_format = None
            self._add_marks(waiting, soft)
            waiting = []
            if isinstance(item, Span):
                self._elements.open(item)
                self._add(item.items, soft)
                self._elements.close(item)
                continue
            if open_format is None and item.run.visible_format != self._plain.visible_format:
                open_format = Format(self._runs[item.run.visible_format])
                self._elements.open(open_format)
            self._elements.add_text(item.text)
            self._length += len(item.text)
        if open_format is not None:
            self._elements.close(open_format)
        self._add_marks(waiting, soft)

    def _add_marks(self, marks: Sequence[Mark], soft: dict[int, str]) -> None:
        for mark in marks:
            if mark.kind == "hidden":
                self._hidden.append((self._length, mark))
            elif mark.kind == "content":
                self._elements.add_standalone(mark)
            elif mark.kind == "break" and id(mark) not in soft:
                self._breaks.append(mark)
                self._elements.add_text(mark.character)
            elif mark.kind == "character":
                self._characters.append(mark)
                self._elements.add_text(mark.character)
            else:
                self._elements.add_text(soft.get(id(mark), ""))
                self._elements.open(mark)
                self._elements.close(mark)


def _without_edges(items: Sequence[Item]) -> tuple[Sequence[Item], Sequence[Item], Sequence[Item]]:
    """Points at the ends of a paragraph, which need no placeholders, apart from what is between them."""
    start, end = 0, len(items)
    while start < end and _is_point(items[start]):
        start += 1
    while start < end and _is_point(items[end - 1]):
        end -= 1
    return items[:start], items[start:end], items[end:]


def _is_point(item: Item) -> bool:
    return isinstance(item, Mark) and item.kind in ("point", "hidden")


def _runs_by_format(items: Sequence[Item]) -> dict[Hashable, Run]:
    """For every visible formatting the run that all its texts are written as: the one with the fewest bytes of
    formatting, since each text may repeat them. The formatting that most of the text has comes first."""
    lengths: dict[Hashable, int] = {}
    runs: dict[Hashable, Run] = {}
    for item in leaves(items):
        if isinstance(item, Text):
            kind = item.run.visible_format
            lengths[kind] = lengths.get(kind, 0) + len(item.text)
            runs[kind] = min(runs.get(kind, item.run), item.run, key=lambda run: run.num_bytes)
    return {kind: runs[kind] for kind in sorted(runs, key=lambda kind: -lengths[kind])}


def _soft_breaks(items: Sequence[Item]) -> dict[int, str]:
    """The ids of line breaks that a sentence visibly runs through, with the space that its text needs there: a small
    letter or a comma stands before, a small letter behind."""
    soft: dict[int, str] = {}
    waiting: Mark | None = None
    before = ""
    for item in leaves(items):
        if isinstance(item, Mark):
            if item.kind == "break":
                is_only = waiting is None and item.is_plain_line_break and before.rstrip()[-1:] not in ("", ".")
                waiting, before = (item, before) if is_only else (None, "")
            continue
        if not item.text:
            continue
        after = item.text.lstrip()
        if waiting is not None and after:
            last = before.rstrip()[-1]
            if (last.islower() or last == ",") and after[0].islower():
                soft[id(waiting)] = "" if before[-1].isspace() or item.text[0].isspace() else " "
            waiting = None
        before = item.text if item.text.strip() or waiting is None else before
    return soft
