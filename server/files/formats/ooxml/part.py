"""Reads a part of an Office file: its paragraphs, labels of charts and alternative texts, with the places of their
bytes. Nothing is changed by reading: what is written is the part's bytes with other bytes for what was translated."""

from collections.abc import Iterable

from server.files.formats.base import DamagedFile
from server.files.formats.expat_parser import MAX_DEPTH, expat_parser, parse_with, tag_end, too_deep
from server.files.formats.ooxml.labels import LABELLED, Label, is_prose, labels_of
from server.files.formats.ooxml.nodes import CHART, DRAWING, MATH, SHEET, WORD, Node, named
from server.files.formats.ooxml.paragraph import read_paragraph
from server.files.formats.xml_part import Edit, Part, Shared, TextNumber, TextsOfFile, unpacked
from server.text.base.words import has_letters

MAX_NESTING = 10
"""Paragraphs inside each other: boxes with text. Each is moved once for every one around it."""
MAX_PROPERTIES = 1000
"""Elements and attributes of the formatting of one run."""
_LOOKED_INTO = frozenset({
    "r", "hyperlink", "ins", "moveTo", "smartTag", "customXml", "sdt", "sdtContent", "fldSimple", "dir", "bdo", "ruby",
    "rubyBase",
})  # fmt: skip
"""Elements in paragraphs that text is found in."""
_TEXTS = ("t", "instrText")
_PARAGRAPHS = ((WORD, "p"), (DRAWING, "p"), (SHEET, "si"), (SHEET, "is"))
_REMOVED = ("del", "moveFrom")
"""What holds text that a reader does not see."""
_ALTERNATIVES, _FALLBACK = "AlternateContent", "Fallback"
_CACHES = ("strCache", "strLit")
_OFF = frozenset({"0", "off", "false"})
_SHAPES = ("sp", "pic", "graphicFrame")
_PLACE = "ph"
"""In a shape of a master or layout: what it says is shown nowhere, slides have their own text at its place."""


def read_part(
    chunks: Iterable[bytes], name: str, file: TextsOfFile, shared: Shared | None = None, is_master: bool = False
) -> Part:
    """The part `name`, whose bytes are `chunks`. What is to be translated is added to the texts of the file; what
    `shared` has already is not added again. `is_master`: slides fill its places with text of their own. Raises
    DamagedFile, FileTooLarge."""
    return read_unpacked(unpacked(chunks, name, file.xml), name, file, shared, is_master)


def read_unpacked(
    part: Part, name: str, file: TextsOfFile, shared: Shared | None = None, is_master: bool = False
) -> Part:
    """As `read_part`, for a part whose bytes are there."""
    _Reader(part, name, file, shared, is_master).read()
    return part


class _Reader:
    """Reads one part once. Only elements that text may be found in are kept, each paragraph's until it ends."""

    def __init__(
        self, part: Part, name: str, file: "TextsOfFile", shared: Shared | None, is_master: bool = False
    ) -> None:
        self._part, self._name, self._file, self._shared, self._is_master = part, name, file, shared, is_master
        self._are_places: list[bool] = []
        """Of every open shape of a master, whether it is a place for the slides' text."""
        self._labels: Shared = {} if shared is None else shared
        self._edits: list[tuple[Edit, TextNumber] | None] = []
        self._stack: list[tuple[Node | None, bool]] = [(None, False)]
        """For every open element the innermost one that is kept, and whether that is it."""
        self._paragraphs: list[tuple[Node, int]] = []
        """Every open paragraph, and its place among the edits."""
        self._alternatives: list[Shared] = []
        """For every open choice of alternatives, the texts of the outermost one."""
        self._is_in_words = False
        """Whether the open run of an equation is text."""
        self._num_removed = self._num_fallbacks = self._num_caches = self._num_properties = 0

    def read(self) -> None:
        """Raises DamagedFile, FileTooLarge."""
        self._parser = expat_parser(self._name, self._start, self._end, self._characters)
        parse_with(self._parser, self._part.data, self._name)
        for edit, number in (numbered for numbered in self._edits if numbered is not None):
            if number.value < 0:
                number.value = self._file.add(edit.text)
            self._part.edits.append((edit, number.value))

    def _start(self, expanded: str, attributes: dict[str, str]) -> None:
        if len(self._stack) > MAX_DEPTH:
            raise too_deep(self._name)
        kind, name = named(expanded)
        parent, is_own = self._stack[-1]
        if self._is_master and name in _SHAPES:
            self._are_places.append(False)
        elif name == _PLACE and self._are_places:
            self._are_places[-1] = True
        if name in _REMOVED and kind == WORD:
            self._num_removed += 1
        elif not kind and name == _ALTERNATIVES:
            self._alternatives.append(self._alternatives[0] if self._alternatives else {})
        elif not kind and name == _FALLBACK:
            self._num_fallbacks += 1
        elif kind == CHART and name in _CACHES:
            self._num_caches += 1
        if name in LABELLED and attributes and not self._num_removed:
            start = self._parser.CurrentByteIndex
            for label in labels_of(name, attributes, self._part.data, start, tag_end(self._part.data, start)):
                self._add(label, self._labels, len(self._edits))
        if (kind, name) in _PARAGRAPHS and not self._num_removed:
            self._start_paragraph(kind, attributes, parent if is_own else None)
        elif parent is not None and is_own and parent.children is not None:
            kind = expanded.rpartition(" ")[0] if parent.is_property else kind
            self._stack.append((self._child(kind, name, attributes, parent), True))
        elif (kind == CHART and name == "v" and self._num_caches) or (
            kind == MATH and name == "t" and self._is_in_words and not self._num_removed
        ):
            node = self._node(kind, name, attributes)
            node.texts = []
            self._stack.append((node, True))
        else:
            if kind == MATH and name in ("r", "nor"):
                self._is_in_words = name == "nor" and not _OFF.intersection(attributes.values())
            if parent is not None and (name == "anchor" or "position:absolute" in attributes.get("style", "")):
                parent.is_floating = True
            self._stack.append((parent, False))

    def _start_paragraph(self, kind: str, attributes: dict[str, str], parent: Node | None) -> None:
        if len(self._paragraphs) == MAX_NESTING:
            raise DamagedFile(f"{self._name} has paragraphs inside each other, more than {MAX_NESTING} deep")
        node = self._node(kind, "p", attributes)
        node.children = []
        if parent is not None and parent.children is not None:
            parent.children.append(node)
        self._paragraphs.append((node, len(self._edits)))
        self._edits.append(None)
        self._stack.append((node, True))

    def _child(self, kind: str, name: str, attributes: dict[str, str], parent: Node) -> Node:
        node = self._node(kind, name, attributes)
        assert parent.children is not None
        parent.children.append(node)
        if parent.is_property or (name == "rPr" and parent.name == "r"):
            self._num_properties = 1 + len(attributes) + (self._num_properties if parent.is_property else 0)
            if self._num_properties > MAX_PROPERTIES:
                raise DamagedFile(f"a run has formatting of more than {MAX_PROPERTIES} elements; clear its formatting")
            node.children = []
            node.is_property = True
        elif kind and name in _TEXTS and (parent.name == "r" or (kind == SHEET and parent.name == "p")):
            node.texts = []
        elif (kind == WORD and name in _LOOKED_INTO) or (kind in (DRAWING, SHEET) and name == "r"):
            node.children = [] if not (name == "r" and parent.name == "r") else None
        return node

    def _node(self, kind: str, name: str, attributes: dict[str, str]) -> Node:
        start = self._parser.CurrentByteIndex
        return Node(kind, name, start, tag_end(self._part.data, start), attributes)

    def _characters(self, text: str) -> None:
        node, is_own = self._stack[-1]
        if is_own and node is not None and node.texts is not None:
            node.texts.append(text)

    def _end(self, expanded: str) -> None:
        node, is_own = self._stack.pop()
        kind, name = named(expanded)
        if is_own and node is not None:
            data = self._part.data
            if data[node.inner - 2] != 0x2F:  # "/>"
                node.inner_end = self._parser.CurrentByteIndex
                node.end = data.index(b">", node.inner_end) + 1
            if self._paragraphs and self._paragraphs[-1][0] is node:
                self._end_paragraph(node)
            elif node.kind in (CHART, MATH) and node.texts is not None:
                label = Label(node.inner, node.inner_end, node.text)
                if has_letters(label.text) and (node.kind == CHART or is_prose(label.text)):
                    self._add(label, self._labels, len(self._edits))
        if self._is_master and name in _SHAPES:
            self._are_places.pop()
        if name in _REMOVED and kind == WORD:
            self._num_removed -= 1
        elif not kind and name == _ALTERNATIVES:
            self._alternatives.pop()
        elif not kind and name == _FALLBACK:
            self._num_fallbacks -= 1
        elif kind == CHART and name in _CACHES:
            self._num_caches -= 1

    def _end_paragraph(self, node: Node) -> None:
        _, place = self._paragraphs.pop()
        paragraph = read_paragraph(node, self._part.data, self._file.copies, self._file.language)
        if paragraph is None or any(self._are_places):
            return
        shared = self._shared
        if shared is None and self._alternatives:
            shared = self._alternatives[-1]
            if not self._num_fallbacks:  # what comes twice among the alternatives themselves is two texts
                shared.setdefault(paragraph.text, self._add(paragraph, None, place))
                return
        self._add(paragraph, shared, place)

    def _add(self, edit: Edit, shared: Shared | None, place: int) -> TextNumber:
        """Add something to translate at its place; what `shared` has is the same text."""
        text = edit.text
        number = None if shared is None else shared.get(text)
        if number is None:
            self._file.budget.spend(text)
            number = TextNumber()
            if shared is not None:
                shared[text] = number
        if place == len(self._edits):
            self._edits.append(None)
        self._edits[place] = (edit, number)
        return number
