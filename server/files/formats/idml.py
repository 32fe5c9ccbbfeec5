"""InDesign files (.idml): the paragraphs of all stories are texts.

Notes, deleted text and variables stay. Text in links and in tagged elements of a paragraph is translated by itself.
Special characters of InDesign (<?ACE 18?>: the number of the page) stay in the text that they are in.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from server.files.formats.archive import Archive
from server.files.formats.base import Budget, DamagedFile, OpenedFile
from server.files.formats.expat_parser import MAX_DEPTH, expat_parser, parse_with, tag_end, too_deep
from server.files.formats.ooxml.content import Atom, Item, Mark, Run, Text
from server.files.formats.ooxml.labels import Label, attribute_places, is_prose
from server.files.formats.ooxml.nodes import Node
from server.files.formats.ooxml.paragraph import Paragraph
from server.files.formats.ooxml.part import MAX_NESTING
from server.files.formats.xml_part import Edit, Part, TextsOfFile, unpacked, written_parts
from server.text.base.words import has_letters

_STORY = re.compile(r"Stories/Story_(\w{1,40})\.xml")
_LAID_OUT = re.compile(r"(?:Spreads/Spread|MasterSpreads/MasterSpread)_\w{1,40}\.xml")
_MAIN = "designmap.xml"
_ORDER = re.compile(rb"""\sStoryList\s*=\s*["']([\w ]{1,100000})["']""")
_PARAGRAPH, _RUN, _TEXT, _BREAK, _PROPERTIES = (
    "ParagraphStyleRange", "CharacterStyleRange", "Content", "Br", "Properties",
)  # fmt: skip
_ALTERNATIVE, _ALTERNATIVES = "ObjectExportOption", ("CustomAltText", "CustomActualText")
"""The element, and its attributes, with what is read in place of a picture."""
_SKIPPED = ("Note", "HiddenText")
_DELETED = ("Change", "DeletedText")
_LINE_END = re.compile(rb"\xe2\x80\xa8|&#(?:x0*2028|0*8232);", re.IGNORECASE)
"""A line break that ends no paragraph."""
_CHARACTER = "ACE"
_SHOWN = ("4", "18", "19")
"""Special characters that a reader sees: the number of a footnote or of the page, the name of the section."""
_TAB = "8"
"""The tab to the right edge; others are places between words."""


def open_idml(data: bytes, language: str, budget: Budget) -> OpenedFile:
    archive = Archive(data, "InDesign")
    file = TextsOfFile(budget, language)
    if _MAIN not in archive.names:
        raise DamagedFile(f"the file is no InDesign file: it has no {_MAIN}")
    match = _ORDER.search(unpacked(archive.chunks(_MAIN), _MAIN, file.xml).data)
    order = {story: place for place, story in enumerate(match[1].decode().split())} if match else {}
    stories = {name: result[1] for name in archive.names if (result := _STORY.fullmatch(name))}
    parts: dict[str, Part] = {}
    num_kept = 0
    for name in sorted(stories, key=lambda name: (order.get(stories[name], len(order)), name)):
        parts[name] = unpacked(archive.chunks(name), name, file.xml)
        story = _Story(parts[name], name, file)
        story.read()
        num_kept += story.num_kept
    for name in sorted(filter(_LAID_OUT.fullmatch, archive.names)):  # they have no text but that of pictures
        parts[name] = unpacked(archive.chunks(name), name, file.xml)
        _Story(parts[name], name, file).read()

    def write(translations: Sequence[str]) -> bytes:
        return archive.with_contents(written_parts(parts, file.texts, translations))

    notes = [f"{num_kept} texts with special characters (variables) inside were kept"] if num_kept else []
    return OpenedFile(file.texts, write, notes)


class _Frame:
    """An open element; `items` are those of a paragraph, `run` is that of a run in a paragraph."""

    __slots__ = (
        "attributes",
        "characters",
        "end",
        "inner",
        "inner_end",
        "items",
        "name",
        "place",
        "run",
        "start",
        "texts",
    )

    def __init__(self, name: str, start: int, inner: int, attributes: Mapping[str, str]) -> None:
        self.name, self.start, self.inner, self.attributes = name, start, inner, attributes
        self.end = self.inner_end = inner
        self.items: list[Item] = []
        self.texts: list[str] = []
        self.characters: list[tuple[int, str, int, int]] = []
        """Special characters: how many of `texts` stand before each, what it is, and its first and last byte."""
        self.run: Run | None = None
        self.place = -1


class _Story:
    """Reads one story once."""

    def __init__(self, part: Part, name: str, file: TextsOfFile) -> None:
        self._part, self._name, self._file = part, name, file
        self._stack = [_Frame("", 0, 0, {})]
        self._edits: list[Edit | None] = []
        self._num_skipped = self._num_paragraphs = 0
        self.num_kept = 0
        """Texts that stay: those with special characters inside."""

    def read(self) -> None:
        """Raises DamagedFile, FileTooLarge."""
        self._parser = expat_parser(self._name, self._start, self._end, self._characters, separator=None)
        self._parser.ProcessingInstructionHandler = self._instruction
        parse_with(self._parser, self._part.data, self._name)
        for edit in self._edits:
            if edit is not None:
                self._file.budget.spend(edit.text)
                self._part.edits.append((edit, self._file.add(edit.text)))

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._stack) > MAX_DEPTH:
            raise too_deep(self._name)
        start, parent = self._parser.CurrentByteIndex, self._stack[-1]
        frame = _Frame(name, start, tag_end(self._part.data, start), attributes)
        self._stack.append(frame)
        is_deleted = name == _DELETED[0] and attributes.get("ChangeType") == _DELETED[1]
        if self._num_skipped or name in _SKIPPED or is_deleted:
            self._num_skipped += 1
        elif name == _ALTERNATIVE:
            self._add_alternatives(frame)
        elif name == _PARAGRAPH:
            self._num_paragraphs += 1
            if self._num_paragraphs > MAX_NESTING:
                raise DamagedFile(f"{self._name} has paragraphs inside each other, more than {MAX_NESTING} deep")
            frame.place = len(self._edits)
            self._edits.append(None)
        elif name == _RUN and parent.place >= 0:
            node = Node("", name, start, frame.inner, attributes)
            frame.run = Run(node, None, tuple(sorted(attributes.items())), _TEXT.encode())

    def _add_alternatives(self, frame: _Frame) -> None:
        for attribute, place in attribute_places(self._part.data, frame.start, frame.inner):
            if attribute in _ALTERNATIVES and has_letters(text := frame.attributes[attribute]) and is_prose(text):
                self._edits.append(Label(*place, text))

    def _characters(self, text: str) -> None:
        self._stack[-1].texts.append(text)

    def _instruction(self, target: str, content: str) -> None:
        start, frame = self._parser.CurrentByteIndex, self._stack[-1]
        if target == _CHARACTER and frame.name == _TEXT:
            end = self._part.data.index(b"?>", start) + 2
            frame.characters.append((len(frame.texts), content.strip(), start, end))

    def _end(self, name: str) -> None:
        frame, is_skipped = self._stack.pop(), bool(self._num_skipped)
        self._num_skipped -= is_skipped
        if self._part.data[frame.inner - 2] != 0x2F:  # "/>"
            frame.inner_end = self._parser.CurrentByteIndex
            frame.end = self._part.data.index(b">", frame.inner_end) + 1
        parent = self._stack[-1]
        if parent.run is not None:
            self._end_in_run(frame, parent, parent.run, is_skipped)
        elif parent.place >= 0:
            self._end_in_paragraph(frame, parent)
        elif name == _TEXT and not is_skipped:
            self._add_label(frame)
        if frame.place >= 0:
            self._num_paragraphs -= 1
            self._end_paragraph(frame)

    def _end_in_run(self, frame: _Frame, parent: _Frame, run: Run, is_skipped: bool) -> None:
        """What stands in a run: its properties, text, line breaks, and what is neither."""
        atom = Atom(run, frame.start, frame.end)
        if frame.name == _PROPERTIES and not parent.items:
            node = Node("", _PROPERTIES, frame.start, frame.inner, frame.attributes)
            node.end = frame.end
            written = bytes(self._part.data[frame.start : frame.end])
            parent.run = Run(run.node, node, (run.visible_format, written), run.text_name)
        elif frame.name == _TEXT and self._is_plain(frame):
            for item in self._items_of(frame, run):
                self._file.copies.spend(1 + run.num_bytes // 64)
                parent.items.append(item)
        elif frame.name == _BREAK:
            parent.items.append(Mark("break", (atom,), True, "\n"))
        else:
            self.num_kept += frame.name == _TEXT and has_letters("".join(frame.texts))
            parent.items.append(Mark("point" if is_skipped else "content", (atom,)))

    def _is_plain(self, frame: _Frame) -> bool:
        """Whether an element of text has text and special characters alone."""
        return self._part.data.count(b"<", frame.inner, frame.inner_end) == len(frame.characters)

    def _items_of(self, frame: _Frame, run: Run) -> Iterator[Item]:
        """The text and the special characters of an element of text, each of which is written in one of its own."""
        at = 0
        opening, closing = Atom(run, frame.start, frame.inner), Atom(run, frame.inner_end, frame.end)
        line_ends = _LINE_END.finditer(self._part.data, frame.inner, frame.inner_end)
        for place, code, start, end in (*frame.characters, (len(frame.texts), "", 0, 0)):
            first, *others = "".join(frame.texts[at:place]).split("\u2028")
            if first:
                yield Text(run, first, Atom(run, frame.start, frame.end))
            for text in others:
                line_end = next(line_ends).span()
                yield Mark("break", (opening, Atom(run, *line_end), closing), True, "\n", True)
                if text:
                    yield Text(run, text, Atom(run, frame.start, frame.end))
            at = place
            if end:
                atoms = (opening, Atom(run, start, end), closing)
                if code == _TAB:
                    yield Mark("break", atoms, True, "\t")
                else:
                    yield Mark("content" if code in _SHOWN else "point", atoms, code not in _SHOWN)

    def _end_in_paragraph(self, frame: _Frame, parent: _Frame) -> None:
        if frame.name == _TEXT:
            self._add_label(frame)
        if frame.run is None or not frame.items:
            parent.items.append(Mark("point", (Atom(None, frame.start, frame.end),), True))
            return
        frame.run.node.inner_end, frame.run.node.end = frame.inner_end, frame.end
        parent.items += frame.items

    def _end_paragraph(self, frame: _Frame) -> None:
        if not has_letters("".join(item.text for item in frame.items if isinstance(item, Text))):
            return
        node = Node("", "p", frame.start, frame.inner, {})
        node.end = frame.end
        self._edits[frame.place] = Paragraph(
            node, self._part.data, frame.items, frame.inner, frame.inner_end, self._file.language, keeps_lines=True
        )

    def _add_label(self, frame: _Frame) -> None:
        """Text of an element inside of a run or round runs."""
        text = "".join(frame.texts)
        if has_letters(text) and self._part.data.find(b"<", frame.inner, frame.inner_end) < 0:
            self._edits.append(Label(frame.inner, frame.inner_end, text))
