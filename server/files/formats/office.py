"""Word and PowerPoint (.docx, .pptx and their kin): paragraphs are texts; formatting and links move with their words.

Both are archives of XML. Only what was translated into something else is written anew, in place of its own bytes; what
is round it and every other part stay byte for byte.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from server.files.formats.archive import Archive
from server.files.formats.base import Budget, DamagedFile, OpenedFile
from server.files.formats.ooxml.part import read_part
from server.files.formats.xml_files import XmlBudget, local_name, parse
from server.files.formats.xml_part import Part, Shared, TextsOfFile

_TYPES = "[Content_Types].xml"


@dataclass(frozen=True)
class _Kind:
    """A kind of files. `parts`: what the parts with text are called where the list of types says nothing; `types`: how
    the types of their contents end."""

    parts: re.Pattern[str]
    types: re.Pattern[str]
    main: str
    name: str


_SHARED_TYPES = r"|drawingml\.(?:chart|chartshapes|diagramData)|ms-office\.(?:drawingml\.diagramDrawing|chartex)"
_SHARED_PARTS = r"|(?:charts/chart|drawings/drawing|diagrams/data|diagrams/drawing)[0-9]{1,9}"
_DOCX = _Kind(
    re.compile(
        r"word/(?:document|header[0-9]{0,9}|footer[0-9]{0,9}|footnotes|endnotes|comments" + _SHARED_PARTS + r")\.xml"
    ),
    re.compile(
        r".*(?:word(?:processingml)?\.(?:(?:document|template)(?:\.main|\.macroEnabled\.main"
        r"|\.macroEnabledTemplate\.main)|header|footer|footnotes|endnotes|comments)" + _SHARED_TYPES + r")\+xml"
    ),
    "word/document.xml",
    "Word",
)
_PPTX = _Kind(
    re.compile(r"ppt/(?:(?:slides/slide|notesSlides/notesSlide)[0-9]{1,9}" + _SHARED_PARTS + r")\.xml"),
    re.compile(r".*(?:presentationml\.(?:slide|notesSlide)" + _SHARED_TYPES + r")\+xml"),
    "ppt/presentation.xml",
    "PowerPoint",
)
_DIAGRAM = re.compile(r".*/diagrams/[^/]*")


def open_docx(data: bytes, language: str, budget: Budget) -> OpenedFile:
    return _open(data, language, budget, _DOCX)


def open_pptx(data: bytes, language: str, budget: Budget) -> OpenedFile:
    return _open(data, language, budget, _PPTX)


def _open(data: bytes, language: str, budget: Budget, kind: _Kind) -> OpenedFile:
    archive = Archive(data, kind.name)
    file = TextsOfFile(budget, language)
    parts: dict[str, Part] = {}
    of_diagrams: Shared = {}
    for name in sorted(_names(archive, kind, file.xml), key=_reading_order):
        shared = of_diagrams if _DIAGRAM.fullmatch(name) else None
        parts[name] = read_part(archive.chunks(name), name, file, shared)

    def write(translations: Sequence[str]) -> bytes:
        if len(translations) != len(file.texts):
            raise ValueError(f"{len(translations)} translations of {len(file.texts)} texts")
        written = {name: part.written(file.texts, translations) for name, part in parts.items()}
        changed = {name: content for name, content in written.items() if content is not None}
        return archive.replace_parts({name: _giving(content) for name, content in changed.items()}) if changed else data

    return OpenedFile(file.texts, write)


def _giving(content: bytes) -> Callable[[], bytes]:
    return lambda: content


def _names(archive: Archive, kind: _Kind, xml: XmlBudget) -> set[str]:
    """The parts with text. Raises DamagedFile."""
    names = {name for name in archive.names if kind.parts.fullmatch(name)}
    if _TYPES in archive.names:
        types = _types(archive, xml)
        names -= types.keys()  # it says what they are
        names |= {
            name for name, content_type in types.items() if kind.types.fullmatch(content_type) and name in archive.names
        }
    if kind.main not in archive.names and not names:
        raise DamagedFile(f"the file is no {kind.name} file: it has no {kind.main}")
    return names


def _types(archive: Archive, xml: XmlBudget) -> dict[str, str]:
    """The types of those parts that the archive names one by one."""
    root: Any = parse(archive.chunks(_TYPES), _TYPES, xml)
    overrides = (element for element in root if local_name(element) == "Override")
    return {element.get("PartName", "").removeprefix("/"): element.get("ContentType", "") for element in overrides}


def _reading_order(name: str) -> tuple[str, int]:
    number = re.search(r"([0-9]+)\.xml", name)
    return re.sub(r"[0-9]+", "", name), int(number[1]) if number else 0
