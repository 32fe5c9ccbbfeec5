"""Reads a part of an OpenDocument file: paragraphs and labels, with the places of their bytes."""

import html
import re
from collections.abc import Mapping

from server.files.formats.base import DamagedFile
from server.files.formats.comparisons import as_compared, compared_words, have_words
from server.files.formats.expat_parser import MAX_DEPTH, expat_parser, parse_with, tag_end, too_deep
from server.files.formats.odf import names
from server.files.formats.odf.inline import Frame, Role
from server.files.formats.odf.languages import language_settings, of_document
from server.files.formats.ooxml.content import Item, Text, leaves
from server.files.formats.ooxml.labels import Label, attribute_places, is_prose
from server.files.formats.ooxml.nodes import Node
from server.files.formats.ooxml.paragraph import Paragraph
from server.files.formats.ooxml.part import MAX_NESTING
from server.files.formats.ooxml.reading import merged
from server.files.formats.xml_part import Edit, Part, Setting, Shared, TextNumber, TextsOfFile
from server.text.base.words import has_letters

_INLINE: tuple[Role, ...] = ("paragraph", "span", "base")
_CELLS = ("table:table-cell", "table:covered-table-cell")
_OUTSIDE, _COMPUTED, _WORDS, _BOOK = Frame("outside"), Frame("outside"), Frame("outside"), Frame("outside")
"""Elements outside of paragraphs: any, a cell whose text is computed, a cell of words, and what holds sheets."""
_COMPUTED.cell, _WORDS.cell = "computed", "words"
_WHOLE = re.compile(b"[^<]++")
_AROUND_NUMBERS = re.compile(b"(?:[^%<]|%(?![0-9]{1,2}%))++")
_WORD = re.compile(r"[^\W\d_]{3,}")
_SPACES = re.compile(r"[ \t\r\n]+")


class PartReader:
    """Reads `part`, whose name is `name`, once."""

    def __init__(self, part: Part, name: str, file: TextsOfFile) -> None:
        self._part, self._name, self._file = part, name, file
        self._edits: list[tuple[Edit, TextNumber] | None] = []
        self._stack = [_OUTSIDE]
        self._paragraphs: list[tuple[Frame, int]] = []
        """Every open paragraph, and its place among the edits."""
        self._labels: Shared = {}
        self._num_skipped = 0
        self._in_cells: set[int] = set()
        """Places of paragraphs in cells."""
        self.has_comments = False
        self.has_words_in_formulas = False
        self.num_fields = 0
        """Fields with words."""
        self.sheet_names: list[str] = []
        self.num_kept = 0
        """Cells that stay."""
        self.compared: set[str] = set()
        """Words that formulas compare with the words in cells."""

    def read(self) -> None:
        """Raises DamagedFile, FileTooLarge."""
        self._parser = expat_parser(self._name, self._start, self._end, self._characters)
        parse_with(self._parser, self._part.data, self._name)

    def number_texts(self, compared: set[str]) -> None:
        """Add what was read to the texts of the file, except cells with `compared` words."""
        for place, numbered in enumerate(self._edits):
            if numbered is None:
                continue
            edit, number = numbered
            if place in self._in_cells and as_compared(edit.text) in compared:
                self.num_kept += 1
                continue
            if number.value < 0:
                number.value = self._file.add(edit.text)
            self._part.edits.append((edit, number.value))

    def _start(self, expanded: str, attributes: dict[str, str]) -> None:
        if len(self._stack) > MAX_DEPTH:
            raise too_deep(self._name)
        name, parent = names.named(expanded), self._stack[-1]
        is_inline = parent.role in _INLINE
        if name in names.COMPARISONS:
            self._compare(name, attributes)
        if name in names.SEEN and attributes:
            self._add_attributes(names.SEEN[name], _WHOLE)
        elif name in names.NUMBERED and attributes:
            self._add_attributes(names.AROUND_NUMBERS, _AROUND_NUMBERS)
        if self._num_skipped or name in names.SKIPPED:
            self._num_skipped += 1
            self.has_comments |= name == "office:annotation"
            if is_inline:
                self._open("mark", name, attributes)
            else:
                self._stack.append(_OUTSIDE)
        elif name in names.PARAGRAPHS:
            self._start_paragraph(name, attributes)
        elif is_inline:
            self._open("span" if name in names.SPANS else "mark", name, attributes).is_field = (
                name in names.WORDS_OF_FIELDS
            )
        elif parent.role == "ruby" and name == "text:ruby-base":
            parent.inner = tag_end(self._part.data, self._parser.CurrentByteIndex)
            self._open("base", name, attributes)
        elif name == "office:spreadsheet":
            self._stack.append(_BOOK)
        elif name == "table:table" and parent is _BOOK:
            self.sheet_names += (value for key, value in attributes.items() if names.named(key) == "table:name")
            self._stack.append(_OUTSIDE)
        elif name in names.LABELS or name == "dc:language":
            self._open("label", name, attributes)
        else:
            if name == "style:text-properties":
                self._part.settings += language_settings(self._part.data, self._parser.CurrentByteIndex, self._file)
            self._stack.append(self._cell(attributes) if name in _CELLS else _OUTSIDE)

    def _open(self, role: Role, name: str, attributes: Mapping[str, str]) -> Frame:
        start = self._parser.CurrentByteIndex
        role = "ruby" if name == "text:ruby" and role == "span" else role
        frame = Frame(role, start, tag_end(self._part.data, start), name)
        anchor = next((value for key, value in attributes.items() if key.endswith(" anchor-type")), "")
        frame.is_floating = anchor in names.FLOATING
        if name == "text:s":
            count = next(iter(attributes.values()), "1")
            frame.num_spaces = int(count) if count.isascii() and count.isdecimal() and len(count) < 9 else 1
        frame.around = frame if role == "paragraph" else self._stack[-1].around
        self._stack.append(frame)
        return frame

    def _start_paragraph(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._stack[-1].cell:
            if self._stack[-1].cell == "computed":
                self._stack.append(_OUTSIDE)
                return
            self._in_cells.add(len(self._edits))
        if len(self._paragraphs) == MAX_NESTING:
            raise DamagedFile(f"{self._name} has paragraphs inside each other, more than {MAX_NESTING} deep")
        self._paragraphs.append((self._open("paragraph", name, attributes), len(self._edits)))
        self._edits.append(None)

    def _cell(self, attributes: Mapping[str, str]) -> Frame:
        value = ""
        for key, attribute in attributes.items():
            match names.named(key):
                case "office:value-type" if attribute != "string":
                    return _COMPUTED
                case "table:formula":
                    return _COMPUTED
                case "office:string-value":
                    value = attribute
        if has_letters(value):
            self._add_value(value)
        return _WORDS

    def _add_attributes(self, seen: tuple[str, ...], pieces: re.Pattern[bytes]) -> None:
        """Add those attributes of the element that begins here which a reader sees, each in `pieces`."""
        data, start = self._part.data, self._parser.CurrentByteIndex
        for attribute, place in attribute_places(data, start, tag_end(data, start)):
            if attribute in seen:
                for match in pieces.finditer(data, *place):
                    raw = html.unescape(match[0].decode())
                    if has_letters(raw) and (pieces is _WHOLE or _WORD.search(raw)):
                        self._add(Label(*match.span(), raw), self._labels, len(self._edits))

    def _add_value(self, value: str) -> None:
        """Add the value of a cell, which its attribute has, too."""
        start = self._parser.CurrentByteIndex
        for attribute, place in attribute_places(self._part.data, start, tag_end(self._part.data, start)):
            if attribute.rpartition(":")[2] == "string-value":
                self._in_cells.add(len(self._edits))
                self._add(Label(*place, value), self._labels, len(self._edits))

    def _compare(self, name: str, attributes: Mapping[str, str]) -> None:
        for key, value in attributes.items():
            if names.named(key) in names.COMPARISONS[name]:
                self.compared.update(compared_words(value))
                self.has_words_in_formulas |= name == "table:table-cell" and have_words([value])
                if names.named(key) == "table:value":
                    self.compared.add(as_compared(value))

    def _characters(self, text: str) -> None:
        frame = self._stack[-1]
        if frame.role in _INLINE:
            frame.add_text(_SPACES.sub(" ", text))
        elif frame.role == "label":
            frame.texts.append(text)
        elif frame.is_field and has_letters(text):
            frame.is_field = False  # it is counted once
            self.num_fields += 1

    def _end(self, expanded: str) -> None:
        frame = self._stack.pop()
        self._num_skipped -= bool(self._num_skipped)
        if frame.role == "outside":
            return
        self._end_bytes(frame)
        if frame.role == "paragraph":
            self._end_paragraph(frame)
        elif frame.role == "label":
            self._end_label(frame)
        elif frame.role == "base":
            self._stack[-1].inner_end = frame.inner_end
            self._stack[-1].items = frame.items
        around = self._stack[-1]
        if frame.name in names.SETTINGS and around.role == "span" and not around.items:
            around.inner = frame.end
        elif around.role in _INLINE:
            around.add(frame)

    def _end_bytes(self, frame: Frame) -> None:
        data = self._part.data
        if data[frame.end - 2] != 0x2F:  # "/>"
            inner_end = self._parser.CurrentByteIndex
            frame.end = data.index(b">", inner_end) + 1
            if frame.role != "ruby":
                frame.inner_end = inner_end

    def _end_paragraph(self, frame: Frame) -> None:
        _, place = self._paragraphs.pop()
        items: list[Item] = merged(frame.items)
        if not has_letters("".join(item.text for item in leaves(items) if isinstance(item, Text))):
            return
        self._file.copies.spend(1)
        node = Node("", "p", frame.start, frame.inner, {})
        node.end = frame.end
        paragraph = Paragraph(node, self._part.data, items, frame.inner, frame.inner_end, self._file.language)
        self._add(paragraph, self._labels if place in self._in_cells else None, place)

    def _end_label(self, frame: Frame) -> None:
        text = "".join(frame.texts)
        if frame.name == "dc:language":
            if text.strip():
                self._part.settings.append(Setting(frame.inner, frame.inner_end, of_document(self._file.language)))
        elif has_letters(text) and (is_prose(text) or frame.name not in names.ALTERNATIVE_TEXTS):
            self._add(Label(frame.inner, frame.inner_end, text), self._labels, len(self._edits))

    def _add(self, edit: Edit, shared: Shared | None, place: int) -> None:
        number = None if shared is None else shared.get(edit.text)
        self._file.budget.spend(edit.text)
        if number is None:
            number = TextNumber()
            if shared is not None:
                shared[edit.text] = number
        if place == len(self._edits):
            self._edits.append(None)
        self._edits[place] = (edit, number)
