"""Books (.epub): the text of every page, the table of contents, the title and the description are translated.

Style sheets, pictures and fonts stay byte for byte. Books that are protected against copying are refused.
"""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from server.files.formats.archive import Archive
from server.files.formats.base import Budget, DamagedFile, FileTooLarge, OpenedFile
from server.files.formats.html import BASE_TAGS, foreign_note
from server.files.formats.xml_files import encoding_of, valid_text
from server.files.formats.xml_labels import Labels
from server.files.formats.xml_part import Part, TextsOfFile, unpacked, written_parts
from server.files.formats.xml_places import Element, elements
from server.text.markup.markup import Markup, escape_xml, read_markup

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_OBFUSCATIONS = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})
"""Of fonts; they protect no text."""
_PAGE, _CONTENTS, _PICTURE = "application/xhtml+xml", "application/x-dtbncx+xml", "image/svg+xml"


def open_epub(data: bytes, language: str, budget: Budget) -> OpenedFile:
    book = _Book(Archive(data, "EPUB"), TextsOfFile(budget, language))
    book.read()
    num_foreign = sum(page.markup.num_foreign for page in book.pages.values())
    notes = [foreign_note(num_foreign)] if num_foreign else []

    def write(translations: Sequence[str]) -> bytes:
        texts = book.file.texts
        changed = written_parts(book.parts, texts, translations)
        pages = ((name, page.written(texts, translations)) for name, page in book.pages.items())
        return book.archive.with_contents(changed | {name: page for name, page in pages if page is not None})

    return OpenedFile(book.file.texts, write, notes)


@dataclass(frozen=True)
class _Page:
    """A page in its encoding, whose texts begin with the number `first` of those of the book."""

    markup: Markup
    encoding: str
    bom: bytes
    first: int

    def written(self, texts: Sequence[str], translations: Sequence[str]) -> bytes | None:
        """The page with the book's `translations`; None if it stays as it is."""
        ours = slice(self.first, self.first + len(self.markup.texts))
        if list(texts[ours]) == list(translations[ours]):
            return None
        page = self.markup.write([valid_text(text) for text in translations[ours]], escape=escape_xml)
        return self.bom + page.encode(self.encoding, "xmlcharrefreplace")


class _Book:
    """The parts of a book that have text."""

    def __init__(self, archive: Archive, file: TextsOfFile) -> None:
        self.archive, self.file = archive, file
        self.pages: dict[str, _Page] = {}
        self.parts: dict[str, Part] = {}
        self._num_tags = 0

    def read(self) -> None:
        """Raises DamagedFile, FileTooLarge."""
        if _CONTAINER not in self.archive.names:
            raise DamagedFile(f"the file is no EPUB file: it has no {_CONTAINER}")
        self._refuse_protected()
        for name in self._packages():
            pages, contents = _names(self._elements(name, "item", "itemref"), posixpath.dirname(name))
            for page in pages:
                if page in self.archive.names and page not in self.pages:
                    self._read_page(page)
            numbers = {text: number for number, text in reversed(list(enumerate(self.file.texts)))}
            for part in contents:
                if part in self.archive.names:
                    self._read_labels(part, ("text",), numbers)
            self._read_labels(name, ("title", "description"), numbers)

    def _refuse_protected(self) -> None:
        if _ENCRYPTION not in self.archive.names:
            return
        for item in self._elements(_ENCRYPTION, "EncryptedData"):
            methods = {
                method.attributes.get("Algorithm") for method in item.children() if method.name == "EncryptionMethod"
            }
            if not methods or not methods <= _OBFUSCATIONS:
                raise DamagedFile(
                    "the book is encrypted against copying (DRM); only a copy without it can be translated"
                )

    def _packages(self) -> list[str]:
        """The parts that list the others. Raises DamagedFile."""
        names = dict.fromkeys(file.attributes.get("full-path", "") for file in self._elements(_CONTAINER, "rootfile"))
        packages = [name for name in names if name in self.archive.names]
        if not packages:
            raise DamagedFile("the file is no EPUB file: the list of its parts is missing")
        return packages

    def _elements(self, part: str, *names: str) -> list[Element]:
        return elements(unpacked(self.archive.chunks(part), part, self.file.xml).data, part, *names)

    def _read_page(self, name: str) -> None:
        data = bytearray()
        for chunk in self.archive.chunks(name):
            self.file.xml.spend(chunk)
            data += chunk
        encoding = encoding_of(bytes(data[:200]), name)
        bom = next((bom for bom in (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff") if data.startswith(bom)), b"")
        if encoding == "utf-16":
            encoding = "utf-16-le" if bom == b"\xff\xfe" else "utf-16-be"
        try:
            text = data[len(bom) :].decode(encoding)
        except UnicodeError:
            raise DamagedFile(f"{name} is not in the encoding that it declares; save the book again") from None
        self._num_tags += text.count("<")
        if self._num_tags > BASE_TAGS + self.file.budget.max_characters:
            raise FileTooLarge(f"the book has more than {BASE_TAGS + self.file.budget.max_characters} tags; split it")
        markup = read_markup(text, "html", language=self.file.language)
        self.pages[name] = _Page(markup, encoding, bom, len(self.file.texts))
        for text in markup.texts:
            self.file.budget.spend(text)
            self.file.add(text)

    def _read_labels(self, name: str, names: Sequence[str], numbers: dict[str, int]) -> None:
        """Texts that a page of the book has, too, are translated as there."""
        part = self.parts[name] = unpacked(self.archive.chunks(name), name, self.file.xml)
        for label in Labels(part, name, names, ("language",), self.file.language).labels:
            number = numbers.get(label.text)
            if number is None:
                self.file.budget.spend(label.text)
                number = numbers[label.text] = self.file.add(label.text)
            part.edits.append((label, number))


def _names(entries: Sequence[Element], folder: str) -> tuple[list[str], list[str]]:
    """The pages of a book, those of its reading order first, pictures among these, and its tables of contents."""
    items = {entry.attributes.get("id", ""): entry.attributes for entry in entries if entry.name == "item"}
    references = (entry.attributes.get("idref", "") for entry in entries if entry.name == "itemref")
    order = [items[reference] for reference in references if reference in items]
    pages, contents = (
        dict.fromkeys(
            posixpath.normpath(posixpath.join(folder, unquote(item.get("href", "").partition("#")[0])))
            for item, is_read in [*((item, True) for item in order), *((item, False) for item in items.values())]
            if item.get("media-type") == media_type or (is_read and item.get("media-type") == picture)
        )
        for media_type, picture in ((_PAGE, _PICTURE), (_CONTENTS, None))
    )
    return list(pages), list(contents)
