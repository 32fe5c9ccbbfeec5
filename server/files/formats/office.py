"""Word and PowerPoint (.docx, .pptx): paragraphs are texts; formatting, links and pictures move with their words.

Both formats are archives of XML. Only the parts with text are replaced; every other part stays byte for byte.
"""

import copy
import functools
import itertools
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from server.files.formats.archive import Archive
from server.files.formats.base import Budget, DamagedFile, FileTooLarge, OpenedFile
from server.files.formats.xml_files import Elements, XmlBudget, local_name, parse, serialize, valid_text
from server.text.base.placeholders import is_closing, is_opening, is_placeholder, nested, split_at_placeholders
from server.text.base.words import has_letters

MAX_NESTING = 10
"""Depth of nested paragraphs (text boxes), at most. A paragraph is moved once for every paragraph around it."""
MAX_PROPERTIES = 1000
"""Elements and attributes of the properties of one run, at most."""
BASE_COPIES, COPIES_PER_TAG = 100_000, 10
"""Every piece of text is written with a copy of its properties. Elements and attributes of all copies: at most 100,000
plus 10 for every tag of the file."""
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_BREAKS = {"br": "\n", "cr": "\n", "tab": "\t"}
_NO_FORMAT = ("lang", "altLang", "dirty", "err", "noProof", "bookmark")
"""Properties that are not visible, although programs split words into runs by them."""


@dataclass(frozen=True)
class _Kind:
    namespace: str
    parts: re.Pattern[str]
    main: str
    name: str


_DOCX = _Kind(
    _WORD,
    re.compile(r"word/(?:document|header[0-9]{0,9}|footer[0-9]{0,9}|footnotes|endnotes)\.xml"),
    "word/document.xml",
    "Word",
)
_PPTX = _Kind(
    _DRAWING,
    re.compile(r"ppt/(?:slides/slide|notesSlides/notesSlide)[0-9]{1,9}\.xml"),
    "ppt/presentation.xml",
    "PowerPoint",
)


def open_docx(data: bytes, language: str, budget: Budget) -> OpenedFile:
    return _open(data, budget, _DOCX)


def open_pptx(data: bytes, language: str, budget: Budget) -> OpenedFile:
    return _open(data, budget, _PPTX)


def _open(data: bytes, budget: Budget, kind: _Kind) -> OpenedFile:
    archive = Archive(data, kind.name)
    if kind.main not in archive.names:
        raise DamagedFile(f"the file is no {kind.name} file: it has no {kind.main}")
    xml = XmlBudget(budget)
    copies = _Copies(xml)
    roots: dict[str, Any] = {}
    paragraphs: list[_Paragraph] = []
    for name in sorted((name for name in archive.names if kind.parts.fullmatch(name)), key=_reading_order):
        roots[name] = parse(archive.chunks(name), name, xml)
        for element in roots[name].iter(kind.namespace + "p"):
            if (
                sum(1 for _ in itertools.islice(element.iterancestors(kind.namespace + "p"), MAX_NESTING))
                == MAX_NESTING
            ):
                raise DamagedFile(f"{name} has paragraphs inside each other, more than {MAX_NESTING} deep")
            if runs := _runs_with_letters(element, copies):
                paragraphs.append(_Paragraph(element, kind.namespace, runs))
                budget.spend(paragraphs[-1].text)

    def write(translations: Sequence[str]) -> bytes:
        for paragraph, translation in zip(paragraphs, translations, strict=True):
            paragraph.write(valid_text(translation))
        return archive.replace_parts({name: functools.partial(serialize, root) for name, root in roots.items()})

    return OpenedFile([paragraph.text for paragraph in paragraphs], write)


def _reading_order(name: str) -> tuple[str, int]:
    number = re.search(r"([0-9]+)\.xml", name)
    return re.sub(r"[0-9]+", "", name), int(number[1]) if number else 0


class _Copies:
    """Counts the copies of properties in the written file."""

    def __init__(self, xml: XmlBudget) -> None:
        self._xml, self._num_copies = xml, 0

    def spend(self, size: int, pieces: int) -> None:
        """Raises FileTooLarge."""
        self._num_copies += size * pieces
        if self._num_copies > BASE_COPIES + COPIES_PER_TAG * self._xml.num_tags:
            raise FileTooLarge(
                "the formatting of the file's texts is far longer than they are; remove formatting and save it again"
            )


class _Standalone(NamedTuple):
    """An element between texts: a child of the paragraph, or, with `run`, a child of a run with properties."""

    element: Any
    properties: Any
    run: Any

    def build(self) -> Any:
        """The element to write; it is moved, not copied."""
        if self.run is None:
            return self.element
        run = self.run.makeelement(self.run.tag)
        if local_name(self.properties) == "rPr":
            run.append(copy.deepcopy(self.properties))
        run.append(self.element)
        return run


class _Piece(NamedTuple):
    """A piece of a paragraph: a text with the run's properties and their comparable form `look`, or a standalone
    element. `container`: the hyperlink or similar element around it, or None."""

    container: Any
    properties: Any
    look: Hashable
    content: str | _Standalone


class _Paragraph:
    """A paragraph's runs as a text. The most common formatting is plain; other formatting gets placeholders. The tree
    is not changed before `write`, because paragraphs may be nested (text boxes)."""

    def __init__(self, element: Any, namespace: str, runs: Sequence[_Piece]) -> None:
        self._element, self._namespace = element, namespace
        self._elements = Elements()
        self._plain, look = _most_common(runs)
        for _, group in itertools.groupby(runs, key=lambda piece: id(piece.container)):
            pieces = list(group)
            if pieces[0].container is None:
                self._read(pieces, look)
            else:
                self._elements.open(pieces[0].container)
                self._read(pieces, look)
                self._elements.close(pieces[0].container)

    @property
    def text(self) -> str:
        return self._elements.placeholder_text.text

    def write(self, translation: str) -> None:
        """Replace the paragraph's runs with runs for the translation."""
        ends = [child for child in self._element if local_name(child) == "endParaRPr"]
        for child in list(self._element):
            if local_name(child) != "pPr":
                self._element.remove(child)
        open_elements, formats = [self._element], [self._plain]
        for part in nested(split_at_placeholders(translation)):
            if not is_placeholder(part):
                self._append_text(open_elements[-1], formats[-1], part)
            elif is_closing(part):
                formats.pop()
                open_elements.pop()
            else:
                self._enter(self._elements.of(part), is_opening(part), open_elements, formats)
        self._element.extend(ends)

    def _enter(self, element: Any, is_span: bool, open_elements: list[Any], formats: list[Any]) -> None:
        """Add a container or a standalone element to the paragraph, or apply run properties to the following text."""
        if isinstance(element, _Standalone):
            element = element.build()
        is_format = local_name(element) in ("rPr", "none")
        if not is_format:
            if is_span:
                for child in list(element):
                    element.remove(child)
            open_elements[-1].append(element)
        if is_span:
            open_elements.append(open_elements[-1] if is_format else element)
            formats.append(element if is_format else formats[-1])

    def _append_text(self, parent: Any, properties: Any, text: str) -> None:
        for part in re.split("([\n\t])", text):
            if not part:
                continue
            is_drawing = self._namespace == _DRAWING
            if part == "\n" and is_drawing:
                parent.append(parent.makeelement(self._namespace + "br"))
                continue
            run = parent.makeelement(self._namespace + "r")
            if local_name(properties) == "rPr":
                run.append(copy.deepcopy(properties))
            if part in "\n\t" and not is_drawing:
                run.append(run.makeelement(self._namespace + {"\n": "br", "\t": "tab"}[part]))
            else:
                leaf = run.makeelement(self._namespace + "t")
                leaf.text = part
                if not is_drawing:
                    leaf.set(_SPACE, "preserve")
                run.append(leaf)
            parent.append(run)

    def _read(self, pieces: Sequence[_Piece], plain: Hashable) -> None:
        """Add the pieces of one container. `plain`: the look of text without placeholders."""
        open_format: Any = None
        open_look: Hashable = None
        for _, properties, look, content in pieces:
            if open_format is not None and (isinstance(content, _Standalone) or look != open_look):
                self._elements.close(open_format)
                open_format = None
            if isinstance(content, _Standalone):
                self._elements.add_standalone(content)
                continue
            if open_format is None and look != plain:
                open_format, open_look = properties, look
                self._elements.open(open_format)
            self._elements.add_text(content)
        if open_format is not None:
            self._elements.close(open_format)


def _runs_with_letters(paragraph: Any, copies: _Copies) -> list[_Piece]:
    """The pieces of a paragraph; none if it has no letters. Raises DamagedFile, FileTooLarge."""
    pieces = list(_pieces(paragraph, copies))
    return pieces if has_letters("".join(piece.content for piece in pieces if isinstance(piece.content, str))) else []


def _most_common(pieces: Sequence[_Piece]) -> tuple[Any, Hashable]:
    """The properties of most of the text, and their look."""
    lengths: dict[Hashable, int] = {}
    first: dict[Hashable, Any] = {}
    for piece in pieces:
        if isinstance(piece.content, str):
            lengths[piece.look] = lengths.get(piece.look, 0) + len(piece.content)
            first.setdefault(piece.look, piece.properties)
    best = max(lengths, key=lambda look: lengths[look])
    return first[best], best


def _pieces(paragraph: Any, copies: _Copies, container: Any = None) -> Iterator[_Piece]:
    """In order; `container` is a hyperlink or a similar element, or None."""
    for child in paragraph:
        name = local_name(child)
        if name in ("pPr", "endParaRPr", "proofErr", "lastRenderedPageBreak", ""):
            continue
        if name == "r":
            yield from _pieces_of_run(child, copies, container)
        elif name == "br":
            yield _Piece(container, _no_properties(), None, "\n")
        elif container is None and name in ("hyperlink", "ins", "smartTag") and child.find(".//{*}t") is not None:
            yield from _pieces(child, copies, child)
        else:
            yield _Piece(container, None, None, _Standalone(child, None, None))


def _pieces_of_run(run: Any, copies: _Copies, container: Any) -> Iterator[_Piece]:
    properties = run.find("{*}rPr")
    if properties is None:
        properties = _no_properties()
    size = _size(properties)
    look = _look(properties)
    for child in run:
        name = local_name(child)
        if name == "t":
            text = child.text or ""
            copies.spend(size, 1 + 2 * (text.count("\n") + text.count("\t")))
            yield _Piece(container, properties, look, text)
        elif name in _BREAKS and not child.attrib:
            copies.spend(size, 1)
            yield _Piece(container, properties, look, _BREAKS[name])
        elif name not in ("rPr", "lastRenderedPageBreak", ""):
            copies.spend(size, 1)
            yield _Piece(container, None, None, _Standalone(child, properties, run))


@functools.cache
def _no_properties() -> Any:
    """The properties of a run without properties."""
    from lxml import etree

    return etree.Element("none")


def _size(properties: Any) -> int:
    """Elements and attributes of the properties. Raises DamagedFile."""
    size = 0
    for element in properties.iter():
        size += 1 + len(element.attrib)
        if size > MAX_PROPERTIES:
            raise DamagedFile(f"a run has formatting of more than {MAX_PROPERTIES} elements; clear its formatting")
    return size


def _look(properties: Any) -> Hashable:
    """The visible run properties in a comparable form; None if there are none."""
    if local_name(properties) != "rPr":
        return None
    attributes = sorted((name, value) for name, value in properties.items() if name not in _NO_FORMAT)
    children = [_comparable(child) for child in properties if local_name(child) not in _NO_FORMAT]
    return (tuple(attributes), tuple(children)) if attributes or children else None


def _comparable(element: Any) -> Hashable:
    """An element with its attributes, text and children in a comparable form."""
    children = tuple(map(_comparable, element))
    return str(element.tag), tuple(sorted(element.items())), (element.text or "").strip(), children
