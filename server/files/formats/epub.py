"""Books (.epub): the text of every page, the table of contents, the title and the description are translated.

Style sheets, pictures and fonts stay byte for byte. Books that are protected against copying are refused.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from server.files.formats.archive import Archive
from server.files.formats.base import Budget, DamagedFile, FileTooLarge, OpenedFile
from server.files.formats.html import BASE_TAGS, foreign_note
from server.files.formats.ooxml.labels import Label
from server.files.formats.strings.languages import base_language
from server.files.formats.xml_files import encoding_of, valid_text
from server.files.formats.xml_labels import Labels, Seen
from server.files.formats.xml_part import Part, TextsOfFile, unpacked, written_parts
from server.files.formats.xml_places import Element, elements
from server.text.markup.escaping import escape_xml
from server.text.markup.languages import PageLanguage
from server.text.markup.markup import Markup, read_markup

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_OBFUSCATIONS = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})
"""Encryption of fonts, which protects no text."""
_PACKAGE = ("", "application/oebps-package+xml")
_PAGES, _CONTENTS, _PICTURE = ("application/xhtml+xml", "text/html"), "application/x-dtbncx+xml", "image/svg+xml"
_OF_CONTENTS = Seen(("text",), skipped=("docAuthor",))
_OF_PACKAGE = Seen(("title", "description"), languages=("language",), attributes={"reference": "title"})
_DECLARES_LANGUAGE = re.compile(r"<html\s[^<>]{0,2000}?\blang\s*=", re.IGNORECASE)
_PICTURE_TAG = re.compile(r"<(?:[\w.-]++:)?svg\s[^<>]*+>")
_HTML = re.compile(r"</?[A-Za-z][^<>]*+>|&(?:[A-Za-z]{2,8}|#\w{2,7});")
"""What a text has that is escaped twice."""
_START = 4000
"""Characters of a page in which its first tag is searched."""


def open_epub(data: bytes, language: str, budget: Budget) -> OpenedFile:
    book = _Book(Archive(data, "EPUB"), TextsOfFile(budget, language))
    book.read()
    num_foreign = sum(page.markup.num_foreign for page in book.pages.values())
    notes = [foreign_note(num_foreign)] if num_foreign else []
    if book.num_unread:
        notes.append(f"{book.num_unread} pages in the order of reading were not translated: no XHTML, or missing")

    def write(translations: Sequence[str]) -> bytes:
        texts = book.file.texts
        for description in book.descriptions:
            description.translations = translations
        changed = written_parts(book.parts, texts, translations)
        pages = ((name, page.written(texts, translations)) for name, page in book.pages.items())
        return book.archive.with_contents(changed | {name: page for name, page in pages if page is not None})

    return OpenedFile(book.file.texts, write, notes)


@dataclass(frozen=True)
class _Page:
    """A page in its encoding. `first`: the number of its first text among the book's texts."""

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


@dataclass
class _Description:
    """A description in HTML, which a label has escaped. `first`: the number of its first text among the book's texts;
    it is written for the book's `translations`."""

    label: Label
    raw: bytes
    markup: Markup
    first: int
    translations: Sequence[str] = ()

    @property
    def start(self) -> int:
        return self.label.start

    @property
    def end(self) -> int:
        return self.label.end

    @property
    def text(self) -> str:
        return self.label.text

    def written(self, translation: str) -> Iterator[bytes | tuple[int, int]]:
        ours = self.translations[self.first : self.first + len(self.markup.texts)]
        if list(ours) == list(self.markup.texts):
            yield self.raw
        else:
            yield from self.label.written(self.markup.write([valid_text(text) for text in ours], escape=escape_xml))


class _Book:
    """The parts of a book that have text."""

    def __init__(self, archive: Archive, file: TextsOfFile) -> None:
        self.archive, self.file = archive, file
        self.pages: dict[str, _Page] = {}
        self.parts: dict[str, Part] = {}
        self.descriptions: list[_Description] = []
        self.num_unread = 0
        """Pages in the order of reading that are no pages, or not there."""
        self._language = ""
        """The base language that the book declares first."""
        self._num_tags = 0

    def read(self) -> None:
        """Raises DamagedFile, FileTooLarge."""
        if _CONTAINER not in self.archive.names:
            raise DamagedFile(f"the file is no EPUB file: it has no {_CONTAINER}")
        self._refuse_protected()
        packages = self._packages()
        declared = [element for name in packages for element in self._elements(name, "language")]
        self._language = next((base_language(text) for text in map(_content, declared) if text), "")
        for name in packages:
            pages, contents, num_others = self._names(name)
            self.num_unread += num_others
            for page in pages:
                if page not in self.pages:
                    self._read_page(page, pages[page])
            numbers = {text: number for number, text in reversed(list(enumerate(self.file.texts)))}
            for part in contents:
                self._read_labels(part, _OF_CONTENTS, numbers)
            self._read_labels(name, _OF_PACKAGE, numbers)

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
        files = [file.attributes for file in self._elements(_CONTAINER, "rootfile")]
        paths = [file.get("full-path", "") for file in files if file.get("media-type", "") in _PACKAGE]
        packages = list(dict.fromkeys(name for path in paths if (name := self._existing("", path))))
        if not packages:
            raise DamagedFile("the file is no EPUB file: the list of its parts is missing")
        return packages

    def _elements(self, part: str, *names: str) -> list[Element]:
        return elements(unpacked(self.archive.chunks(part), part, self.file.xml).data, part, *names)

    def _existing(self, folder: str, reference: str) -> str:
        """The part that a reference in a part of `folder` names, written as a URL or as it is; "" if there is none."""
        path = reference.partition("#")[0]
        for name in (path, unquote(path)) if path else ():
            whole = name.lstrip("/") if name.startswith("/") else posixpath.normpath(posixpath.join(folder, name))
            if whole in self.archive.names:
                return whole
        return ""

    def _names(self, package: str) -> tuple[dict[str, bool], list[str], int]:
        """The pages of a book, those of its reading order first, and whether each is a picture; its tables of contents;
        and the number of pages in the reading order that are no pages, or not there."""
        folder = posixpath.dirname(package)
        entries = self._elements(package, "item", "itemref")
        items = {entry.attributes.get("id", ""): entry.attributes for entry in entries if entry.name == "item"}
        references = [entry.attributes.get("idref", "") for entry in entries if entry.name == "itemref"]
        pages: dict[str, bool] = {}
        contents: dict[str, None] = {}
        num_others = 0
        for number, key in enumerate([*references, *items]):
            item = items.get(key, {})
            media_type, name = item.get("media-type", ""), self._existing(folder, item.get("href", ""))
            is_read = number < len(references)
            if name and (media_type in _PAGES or (is_read and media_type == _PICTURE)):
                pages.setdefault(name, media_type == _PICTURE)
            elif name and media_type == _CONTENTS:
                contents[name] = None
            else:
                num_others += is_read
        return pages, list(contents), num_others

    def _read_page(self, name: str, is_picture: bool) -> None:
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
        if is_picture:  # its first tag is no page's
            language = PageLanguage(self._language, self.file.language)
            text = _PICTURE_TAG.sub(lambda match: language.written(match[0], "html"), text, count=1)
        own = "" if not is_picture and _DECLARES_LANGUAGE.search(text[:_START]) else self._language
        markup = read_markup(text, "html", language=self.file.language, source_language=own)
        self.pages[name] = _Page(markup, encoding, bom, len(self.file.texts))
        for text in markup.texts:
            self.file.budget.spend(text)
            self.file.add(text)

    def _read_labels(self, name: str, seen: Seen, numbers: dict[str, int]) -> None:
        """Texts that a page of the book has, too, are translated as there."""
        part = self.parts[name] = unpacked(self.archive.chunks(name), name, self.file.xml)
        for label in Labels(part, name, seen, self._language, self.file.language).labels:
            if _HTML.search(label.text):
                self._read_description(label, part)
                continue
            number = numbers.get(label.text)
            if number is None:
                self.file.budget.spend(label.text)
                number = numbers[label.text] = self.file.add(label.text)
            part.edits.append((label, number))

    def _read_description(self, label: Label, part: Part) -> None:
        markup = read_markup(label.text, "html", language=self.file.language)
        raw = bytes(part.data[label.start : label.end])
        description = _Description(label, raw, markup, len(self.file.texts))
        for text in markup.texts:
            self.file.budget.spend(text)
            self.file.add(text)
        self.descriptions.append(description)
        part.settings.append(description)


def _content(element: Element) -> str:
    return "".join(part for part in element.content if isinstance(part, str)).strip()
