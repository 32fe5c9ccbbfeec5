"""OpenDocument texts, presentations and spreadsheets (.odt, .odp, .ods, their templates, .odg): paragraphs are texts.

Comments, fields, deleted text, numbers, formulas and their results stay as they are.
"""

import re
from collections.abc import Iterator, Sequence

from server.files.formats.archive import Archive
from server.files.formats.base import Budget, DamagedFile, OpenedFile
from server.files.formats.comparisons import WORDS_IN_FORMULAS
from server.files.formats.odf.reader import PartReader
from server.files.formats.sheet_names import note_on
from server.files.formats.xml_part import Part, TextsOfFile, unpacked, written_parts

_PARTS = re.compile(r"(?:[^/]{1,100}/)?(?:content|styles)\.xml|meta\.xml")
"""Of the file, and of objects in it (charts)."""
_MAIN = "content.xml"
_MANIFEST = "META-INF/manifest.xml"
_SIGNATURES = "META-INF/documentsignatures.xml"
_ENCRYPTED = re.compile(rb"<(?:[\w.-]+:)?encryption-data\b")


def open_opendocument(data: bytes, language: str, budget: Budget) -> OpenedFile:
    archive = Archive(data, "OpenDocument")
    file = TextsOfFile(budget, language)
    if _MANIFEST in archive.names and _ENCRYPTED.search(unpacked(archive.chunks(_MANIFEST), _MANIFEST, file.xml).data):
        raise DamagedFile("the file is encrypted; save it without a password")
    if _MAIN not in archive.names:
        raise DamagedFile(f"the file is no OpenDocument file: it has no {_MAIN}")
    parts: dict[str, Part] = {}
    readers: list[PartReader] = []
    for name in sorted(filter(_PARTS.fullmatch, archive.names), key=lambda name: (name != _MAIN, name)):
        parts[name] = unpacked(archive.chunks(name), name, file.xml)
        readers.append(PartReader(parts[name], name, file))
        readers[-1].read()
    compared = {word for reader in readers for word in reader.compared}
    for reader in readers:
        reader.number_texts(compared)

    def write(translations: Sequence[str]) -> bytes:
        return archive.with_contents(written_parts(parts, file.texts, translations))

    return OpenedFile(file.texts, write, list(_notes(archive, readers)))


def _notes(archive: Archive, readers: Sequence[PartReader]) -> Iterator[str]:
    """What was not translated, for the client."""
    if num_kept := sum(reader.num_kept for reader in readers):
        yield f"{num_kept} cells were kept: formulas, filters or conditions compare with their words"
    if any(reader.has_words_in_formulas for reader in readers):
        yield WORDS_IN_FORMULAS
    if num_fields := sum(reader.num_fields for reader in readers):
        fields = "the words of 1 field were" if num_fields == 1 else f"the words of {num_fields} fields were"
        yield f"{fields} not translated: programs compute them, or readers fill them in"
    yield from note_on(name for reader in readers for name in reader.sheet_names)
    if any(reader.has_comments for reader in readers):
        yield "comments were not translated"
    if _SIGNATURES in archive.names:
        yield "the signature of the file does not fit its translation"
