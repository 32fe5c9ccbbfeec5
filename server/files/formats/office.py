"""Word and PowerPoint (.docx, .pptx and their kin): paragraphs are texts; formatting and links move with their words.

Both are archives of XML. Only what was translated into something else is written anew, in place of its own bytes; what
is round it and every other part stay byte for byte.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence

from server.files.formats.archive import Archive
from server.files.formats.base import Budget, DamagedFile, OpenedFile
from server.files.formats.ooxml.languages import language_settings
from server.files.formats.ooxml.package import SHARED_PARTS, SHARED_TYPES, Kind, names_of, reading_order
from server.files.formats.ooxml.part import read_part
from server.files.formats.xml_part import Part, Shared, TextsOfFile, unpacked, written_parts

_DOCX = Kind(
    re.compile(
        r"word/(?:document|header[0-9]{0,9}|footer[0-9]{0,9}|footnotes|endnotes|comments|numbering"
        r"|glossary/document" + SHARED_PARTS + r")\.xml"
    ),
    re.compile(
        r".*(?:word(?:processingml)?\.(?:(?:document|template)(?:\.main|\.macroEnabled\.main"
        r"|\.macroEnabledTemplate\.main|\.glossary)|header|footer|footnotes|endnotes|comments|numbering)"
        + SHARED_TYPES
        + r")\+xml"
    ),
    "word/document.xml",
    "Word",
)
_PPTX = Kind(
    re.compile(
        r"ppt/(?:(?:slides/slide|notesSlides/notesSlide|slideMasters/slideMaster|slideLayouts/slideLayout"
        r"|notesMasters/notesMaster|handoutMasters/handoutMaster)[0-9]{1,9}" + SHARED_PARTS + r")\.xml"
    ),
    re.compile(
        r".*(?:presentationml\.(?:slide|notesSlide|slideMaster|slideLayout|notesMaster|handoutMaster)"
        + SHARED_TYPES
        + r")\+xml"
    ),
    "ppt/presentation.xml",
    "PowerPoint",
)
_DIAGRAM = re.compile(r".*/diagrams/[^/]*")
_MASTER = re.compile(r".*/(?:slide(?:Masters|Layouts)|notesMasters)/[^/]*")
_STYLES = re.compile(r"word/styles(?:WithEffects)?\.xml")
_INSIDE = re.compile(rb"<(?:[\w.-]{1,20}:)?(altChunk|subDoc|OLEObject|oleObj)\b")
_INSERTED = frozenset({b"altChunk", b"subDoc"})
_SLIDE_COMMENTS = re.compile(r"ppt/comments/[^/]*\.xml")


def open_docx(data: bytes, language: str, budget: Budget) -> OpenedFile:
    return _open(data, language, budget, _DOCX)


def open_pptx(data: bytes, language: str, budget: Budget) -> OpenedFile:
    return _open(data, language, budget, _PPTX)


def _open(data: bytes, language: str, budget: Budget, kind: Kind) -> OpenedFile:
    archive = Archive(data, kind.name)
    file = TextsOfFile(budget, language)
    parts: dict[str, Part] = {}
    of_diagrams: Shared = {}
    for name in sorted(names_of(archive, kind, file.xml) | ({kind.main} & archive.names), key=reading_order):
        shared = of_diagrams if _DIAGRAM.fullmatch(name) else None
        is_master = _MASTER.fullmatch(name) is not None
        parts[name] = read_part(archive.chunks(name), name, file, shared, is_master)
    for name in filter(_STYLES.fullmatch, archive.names):
        with contextlib.suppress(DamagedFile):  # it stays then
            part = unpacked(archive.chunks(name), name, file.xml)
            part.settings += language_settings(part.data, name, language)
            parts[name] = part

    def write(translations: Sequence[str]) -> bytes:
        return archive.with_contents(written_parts(parts, file.texts, translations))

    return OpenedFile(file.texts, write, list(_notes(archive, parts)))


def _notes(archive: Archive, parts: Mapping[str, Part]) -> Iterator[str]:
    """What was not translated, for the client."""
    if any(map(_SLIDE_COMMENTS.fullmatch, archive.names)):
        yield "comments were not translated"
    inside = {match[1] for part in parts.values() for match in _INSIDE.finditer(part.data)}
    if inside & _INSERTED:
        yield "files that are inserted into the text were not translated"
    if inside - _INSERTED:
        yield "embedded objects were not translated"
