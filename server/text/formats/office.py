"""Word and PowerPoint (.docx, .pptx): paragraphs are texts; formatting, links and pictures move with their words.

Both are archives of XML. Only the parts with text are written again; every other part stays byte for byte.
"""

import copy
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from server.text.formats.opened import MAX_UNPACKED_BYTES, DamagedFile, FileTooLarge, OpenedFile
from server.text.formats.xml_files import Elements, local, parse, serialize
from server.text.marks import is_closing, is_mark, is_opening, nested, split_at_marks
from server.text.words import has_letters

MAX_PARTS = 10_000
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_BREAKS = {"br": "\n", "cr": "\n", "tab": "\t"}
_NO_FORMAT = ("lang", "altLang", "dirty", "err", "noProof", "bookmark")
"""Properties that are no visible formatting, although programs divide words into runs by them."""


@dataclass(frozen=True)
class _Kind:
    namespace: str
    parts: re.Pattern[str]
    main: str
    name: str


_DOCX = _Kind(
    _WORD, re.compile(r"word/(?:document|header\d*|footer\d*|footnotes|endnotes)\.xml"), "word/document.xml", "Word"
)
_PPTX = _Kind(
    _DRAWING, re.compile(r"ppt/(?:slides/slide|notesSlides/notesSlide)\d+\.xml"), "ppt/presentation.xml", "PowerPoint"
)


def open_docx(data: bytes, language: str) -> OpenedFile:
    return _open(data, _DOCX)


def open_pptx(data: bytes, language: str) -> OpenedFile:
    return _open(data, _PPTX)


def _open(data: bytes, kind: _Kind) -> OpenedFile:
    parts = _unpack(data, kind.name)
    if kind.main not in parts:
        raise DamagedFile(f"the file is no {kind.name} file: it has no {kind.main}")
    names = sorted((name for name in parts if kind.parts.fullmatch(name)), key=_reading_order)
    roots = {name: parse(parts[name], name) for name in names}
    paragraphs = [
        paragraph
        for root in roots.values()
        for element in root.iter(kind.namespace + "p")
        if (paragraph := _Paragraph(element, kind.namespace)).has_text
    ]

    def write(translations: Sequence[str]) -> bytes:
        for paragraph, translation in zip(paragraphs, translations, strict=True):
            paragraph.write(translation)
        return _pack(data, {name: serialize(root) for name, root in roots.items()})

    return OpenedFile([paragraph.text for paragraph in paragraphs], write)


def _reading_order(name: str) -> tuple[str, int]:
    number = re.search(r"(\d+)\.xml", name)
    return re.sub(r"\d+", "", name), int(number[1]) if number else 0


def _unpack(data: bytes, name: str) -> dict[str, bytes]:
    """Every part. Raises DamagedFile, FileTooLarge."""
    if data.startswith(_OLE):
        raise DamagedFile(f"the file is encrypted or older than 2007; save it as a {name} file without a password")
    parts: dict[str, bytes] = {}
    room = MAX_UNPACKED_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            if len(infos) > MAX_PARTS or sum(info.file_size for info in infos) > room:
                raise FileTooLarge(f"unpacked the file has more than {room // 2**20} MB or {MAX_PARTS} parts")
            for info in infos:
                if info.flag_bits & 1:
                    raise DamagedFile("the file is encrypted; save it without password")
                with archive.open(info) as part:
                    parts[info.filename] = part.read(room + 1)  # sizes in the archive's list may lie
                room -= len(parts[info.filename])
                if room < 0:
                    raise FileTooLarge(f"unpacked the file has more than {MAX_UNPACKED_BYTES // 2**20} MB")
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, KeyError) as error:
        raise DamagedFile(f"the file is no {name} file, or broken off: {error}") from None
    return parts


def _pack(data: bytes, changed: dict[str, bytes]) -> bytes:
    """The archive with the `changed` parts, in its order."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(packed, "w") as after:
        for info in before.infolist():
            after.writestr(info, changed.get(info.filename) or before.read(info))
    return packed.getvalue()


class _Paragraph:
    """A paragraph's runs as a text. The formatting of most of it counts as plain; other formatting gets marks."""

    def __init__(self, element: Any, namespace: str) -> None:
        self._element, self._namespace = element, namespace
        self._elements = Elements()
        self._runs = list(_pieces(element))
        self._plain = self._most_common()
        for container, runs in self._containers():
            if container is None:
                self._read(runs)
            else:
                self._elements.open(container)
                self._read(runs)
                self._elements.close(container)

    @property
    def text(self) -> str:
        return self._elements.marked.text

    @property
    def has_text(self) -> bool:
        return has_letters("".join(text for _, _, text in self._runs if isinstance(text, str)))

    def write(self, translation: str) -> None:
        """Replace the paragraph's runs with runs for the translation."""
        ends = [one for one in self._element if local(one) == "endParaRPr"]
        for child in list(self._element):
            if local(child) != "pPr":
                self._element.remove(child)
        around, formats = [self._element], [self._plain]
        for part in nested(split_at_marks(translation)):
            if not is_mark(part):
                self._append_text(around[-1], formats[-1], part)
            elif is_closing(part):
                formats.pop()
                around.pop()
            else:
                self._enter(self._elements.of(part), is_opening(part), around, formats)
        self._element.extend(ends)

    def _enter(self, element: Any, is_span: bool, around: list[Any], formats: list[Any]) -> None:
        """Add a container or a lone element to the paragraph; run properties apply to the text that follows."""
        is_format = local(element) in ("rPr", "none")
        if not is_format:
            if is_span:
                for child in list(element):
                    element.remove(child)
            around[-1].append(element)
        if is_span:
            around.append(around[-1] if is_format else element)
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
            if local(properties) == "rPr":
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

    def _containers(self) -> Iterator[tuple[Any, list[tuple[Any, Any, Any]]]]:
        """Runs in groups of neighbours that are in the same container (a hyperlink, for example), or in none."""
        index = 0
        while index < len(self._runs):
            container, end = self._runs[index][0], index
            while end < len(self._runs) and self._runs[end][0] is container:
                end += 1
            yield container, self._runs[index:end]
            index = end

    def _read(self, runs: Sequence[tuple[Any, Any, Any]]) -> None:
        open_format: Any = None
        for _, properties, piece in runs:
            is_text = isinstance(piece, str)
            if open_format is not None and (not is_text or _look(properties) != _look(open_format)):
                self._elements.close(open_format)
                open_format = None
            if not is_text:
                self._elements.add_lone(piece)
                continue
            if open_format is None and _look(properties) != _look(self._plain):
                open_format = copy.deepcopy(properties)
                self._elements.open(open_format)
            self._elements.add_text(piece)
        if open_format is not None:
            self._elements.close(open_format)

    def _most_common(self) -> Any:
        """The properties of most of the text."""
        lengths: dict[bytes, int] = {}
        first: dict[bytes, Any] = {}
        for _, properties, piece in self._runs:
            if isinstance(piece, str):
                look = _look(properties)
                lengths[look] = lengths.get(look, 0) + len(piece)
                first.setdefault(look, properties)
        best = max(lengths, key=lambda look: lengths[look], default=None)
        return self._element.makeelement("none") if best is None else copy.deepcopy(first[best])


def _pieces(paragraph: Any, container: Any = None) -> Iterator[tuple[Any, Any, Any]]:
    """(container, run properties, text or lone element) in order; `container` is a hyperlink or the like, or None."""
    for child in list(paragraph):
        name = local(child)
        if name in ("pPr", "endParaRPr", "proofErr", "lastRenderedPageBreak", ""):
            continue
        if name == "r":
            yield from _of_run(child, container)
        elif name == "br":
            yield container, child.makeelement("none"), "\n"
        elif container is None and name in ("hyperlink", "ins", "smartTag") and child.find(".//{*}t") is not None:
            yield from _pieces(child, child)
        else:
            yield container, None, child


def _of_run(run: Any, container: Any) -> Iterator[tuple[Any, Any, Any]]:
    properties = run.find("{*}rPr")
    if properties is None:
        properties = run.makeelement("none")
    for child in run:
        name = local(child)
        if name == "t":
            yield container, properties, child.text or ""
        elif name in _BREAKS and not child.attrib:
            yield container, properties, _BREAKS[name]
        elif name not in ("rPr", "lastRenderedPageBreak", ""):
            lone = run.makeelement(run.tag)
            if local(properties) == "rPr":
                lone.append(copy.deepcopy(properties))
            lone.append(child)
            yield container, None, lone


def _look(properties: Any) -> bytes:
    """Run properties without those that cannot be seen, in a form that can be compared."""
    from lxml import etree

    if local(properties) != "rPr":
        return b""
    seen = copy.deepcopy(properties)
    seen.tail = None
    for name in _NO_FORMAT:
        seen.attrib.pop(name, None)
    for child in list(seen):
        if local(child) in _NO_FORMAT:
            seen.remove(child)
    return b"" if not len(seen) and not seen.attrib else bytes(etree.tostring(seen, method="c14n"))
