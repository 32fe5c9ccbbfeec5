"""Excel files (.xlsx and their kin): words in cells, text boxes, charts and messages are texts.

Headers and footers of pages are texts, too. Numbers, formulas, names of sheets and comments stay. A cell stays, too, if
a formula, a filter or a list of permitted values has its words: they would not be equal any more.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from server.files.formats.archive import Archive
from server.files.formats.base import Budget, OpenedFile
from server.files.formats.comparisons import SEPARATOR, WORDS_IN_FORMULAS, as_compared, compared_words, have_words
from server.files.formats.expat_parser import tag_end
from server.files.formats.ooxml.package import SHARED_PARTS, SHARED_TYPES, Kind, names_of
from server.files.formats.ooxml.part import read_part, read_unpacked
from server.files.formats.page_headers import header_texts
from server.files.formats.sheet_names import note_on
from server.files.formats.xml_part import Part, Setting, Shared, TextNumber, TextsOfFile, unpacked, written_parts

_XLSX = Kind(
    re.compile(r"xl/(?:sharedStrings|worksheets/sheet[0-9]{1,9}|tables/table[0-9]{1,9}" + SHARED_PARTS + r")\.xml"),
    re.compile(
        r".*(?:spreadsheetml\.(?:sharedStrings|worksheet|table)|officedocument\.drawing" + SHARED_TYPES + r")\+xml"
    ),
    "xl/workbook.xml",
    "Excel",
)
_SHEET = re.compile(r".*/worksheets/[^/]*")
_TABLE = re.compile(r".*/tables/[^/]*")
_PIVOT = re.compile(r"xl/pivotCache/pivotCacheDefinition[0-9]{1,9}\.xml")
_COMMENTS = re.compile(r"xl/(?:comments|threadedComments)[^/]*(?:/[^/]*)?\.xml")
_EMBEDDED = "xl/embeddings/"
_HAS_TEXTS = re.compile(rb"<(?:[\w.-]+:)?is\b|\s(?:prompt|promptTitle|error|errorTitle|tooltip)\s*=")
_FORMULA = re.compile(rb"<(?:[\w.-]+:)?(?:f|formula|formula[12]|definedName)(?:\s[^<>]*)?>([^<]*)<")
_CELL_FORMULA = re.compile(rb"<(?:[\w.-]+:)?f(?:\s[^<>]*)?>([^<]*)<")
_COMPARES = re.compile(rb"[\"&\[]")
"""What formulas have that name words or columns."""
_FILTER = re.compile(rb"""<(?:[\w.-]+:)?(?:filter|customFilter)\s[^<>]{0,500}?\bval\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")
_SHEET_NAME = re.compile(rb"""<(?:[\w.-]+:)?sheet\s[^<>]{0,500}?\bname\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")
_FIELD = re.compile(rb"""<(?:[\w.-]+:)?cacheField\s[^<>]{0,500}?\bname\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")
_WORDS_OF_FORMULA = re.compile(rb"""\st\s*=\s*["']str["']""")
_CALCULATION = re.compile(rb"<(?:[\w.-]+:)?calcPr\b")


def open_xlsx(data: bytes, language: str, budget: Budget) -> OpenedFile:
    workbook = _Workbook(Archive(data, "Excel"), TextsOfFile(budget, language))
    workbook.read()
    kept = workbook.kept_numbers()
    texts = workbook.file.texts
    offered = [number for number in range(len(texts)) if number not in kept]

    def write(translations: Sequence[str]) -> bytes:
        if len(translations) != len(offered):
            raise ValueError(f"{len(translations)} translations of {len(offered)} texts")
        all_texts = list(texts)
        for number, translation in zip(offered, translations, strict=True):
            all_texts[number] = translation
        workbook.keep_equal_columns(all_texts)
        return workbook.archive.with_contents(written_parts(workbook.parts, texts, all_texts))

    return OpenedFile([texts[number] for number in offered], write, workbook.notes(len(kept)))


@dataclass
class _Workbook:
    """The parts of a file. `compared`: words that a cell keeps."""

    archive: Archive
    file: TextsOfFile
    parts: dict[str, Part] = field(default_factory=dict)
    compared: set[str] = field(default_factory=set)
    shared: Shared = field(default_factory=dict)
    has_computed_words: bool = False
    has_words_in_formulas: bool = False
    has_structured_references: bool = False
    names: list[str] = field(default_factory=list)
    """Of the sheets."""

    def read(self) -> None:
        """Raises DamagedFile, FileTooLarge."""
        names = names_of(self.archive, _XLSX, self.file.xml)
        for name in sorted(names, key=lambda name: (bool(_TABLE.fullmatch(name)), bool(_SHEET.fullmatch(name)), name)):
            if _TABLE.fullmatch(name):
                self._read_table(name)
            elif _SHEET.fullmatch(name):
                self._read_sheet(name)
            else:
                self.parts[name] = read_part(self.archive.chunks(name), name, self.file, self.shared)
        for name in sorted(filter(_PIVOT.fullmatch, self.archive.names)):
            part = unpacked(self.archive.chunks(name), name, self.file.xml)
            self.compared.update(map(as_compared, _values(_FIELD, part.data)))
        if _XLSX.main in self.archive.names:
            self._read_main()
        self._keep_columns()

    def _read_sheet(self, name: str) -> None:
        part = unpacked(self.archive.chunks(name), name, self.file.xml)
        self._read_formulas(part.data)
        self.has_computed_words |= bool(_WORDS_OF_FORMULA.search(part.data))
        self.has_words_in_formulas |= have_words(_values(_CELL_FORMULA, part.data))
        if _HAS_TEXTS.search(part.data):
            self.parts[name] = read_unpacked(part, name, self.file, self.shared)
        for header in header_texts(part.data):
            if (number := self.shared.get(header.text)) is None:
                self.file.budget.spend(header.text)
                number = self.shared[header.text] = TextNumber()
                number.value = self.file.add(header.text)
            part.edits.append((header, number.value))
            self.parts[name] = part
        part.edits.sort(key=lambda edit: edit[0].start)

    def _read_table(self, name: str) -> None:
        part = unpacked(self.archive.chunks(name), name, self.file.xml)
        self._read_formulas(part.data)
        known = set(self.shared)
        self.parts[name] = read_unpacked(part, name, self.file, self.shared)
        # the names of columns must be the words of their cells, which are no plain words then
        self.compared.update(as_compared(edit.text) for edit, _ in part.edits if edit.text not in known)

    def _read_main(self) -> None:
        """Let programs compute formulas again whose results have words."""
        part = unpacked(self.archive.chunks(_XLSX.main), _XLSX.main, self.file.xml)
        self._read_formulas(part.data)
        self.names = list(_values(_SHEET_NAME, part.data))
        if (match := _CALCULATION.search(part.data)) and self.has_computed_words:
            end = tag_end(part.data, match.start())
            if b"fullCalcOnLoad" not in part.data[match.start() : end]:
                part.settings.append(Setting(match.end(), match.end(), b' fullCalcOnLoad="1"'))
                self.parts[_XLSX.main] = part

    def _read_formulas(self, data: bytearray) -> None:
        formulas = SEPARATOR.encode().join(raw for raw in _FORMULA.findall(data) if _COMPARES.search(raw))
        self.compared.update(compared_words(html.unescape(formulas.decode(errors="replace"))))
        self.has_structured_references |= b"[" in formulas
        self.compared.update(map(as_compared, _values(_FILTER, data)))

    def _keep_columns(self) -> None:
        """Columns of tables keep their names where formulas use them."""
        if self.has_structured_references:
            self.compared.update(as_compared(edit.text) for part in self._tables() for edit, _ in part.edits)

    def _tables(self) -> Iterator[Part]:
        return (part for name, part in self.parts.items() if _TABLE.fullmatch(name))

    def kept_numbers(self) -> set[int]:
        """The texts that stay."""
        return {number for number, text in enumerate(self.file.texts) if as_compared(text) in self.compared}

    def keep_equal_columns(self, translations: list[str]) -> None:
        """Give the columns of a table their own names back where two translations are equal, empty or have lines."""
        for part in self._tables():
            numbers = {number for _, number in part.edits}
            names = [translations[number].casefold() for number in numbers]
            if len(set(names)) < len(names) or any(not 0 < len(name.strip()) < 256 or "\n" in name for name in names):
                for number in numbers:
                    translations[number] = self.file.texts[number]

    def notes(self, num_kept: int) -> list[str]:
        """What was not translated, for the client."""
        notes = []
        if num_kept:
            notes.append(
                f"{num_kept} different texts of cells were kept: formulas, filters, lists, tables or pivot tables"
                " compare with them"
            )
        if self.has_words_in_formulas:
            notes.append(WORDS_IN_FORMULAS)
        notes += note_on(self.names)
        if any(map(_COMMENTS.fullmatch, self.archive.names)):
            notes.append("comments were not translated")
        if any(name.startswith(_EMBEDDED) for name in self.archive.names):
            notes.append("embedded objects were not translated")
        if any(map(_PIVOT.fullmatch, self.archive.names)):
            notes.append("pivot tables show their old words until they are refreshed")
        return notes


def _values(pattern: re.Pattern[bytes], data: bytearray) -> Iterator[str]:
    """The texts of the first group of every match that has any."""
    for match in pattern.finditer(data):
        raw = next((group for group in match.groups() if group is not None), b"")
        yield html.unescape(raw.decode(errors="replace"))
