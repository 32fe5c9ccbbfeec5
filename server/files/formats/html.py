"""HTML files, split at their blocks (`server.text.markup.markup`)."""

import contextlib
import re
from collections.abc import Sequence

from server.files.formats.base import (
    Budget,
    DamagedFile,
    Encoding,
    FileOptions,
    FileTooLarge,
    OpenedFile,
    decode,
    shown,
)
from server.files.formats.charsets import codec_of
from server.files.formats.front_matter import front_matter
from server.files.formats.xml_files import DECLARED
from server.text.markup.markup import read_markup

BASE_TAGS = 100_000
"""Tags that a page may have, plus one for every permitted character."""
_CHARSET = re.compile(rb"""<meta[^>]{0,300}?charset\s*=\s*["']?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)


def open_html(data: bytes, language: str, budget: Budget, options: FileOptions) -> OpenedFile:
    """Characters that the encoding of the page lacks are written as references."""
    text, encoding = _decode(data)
    if text.count("<") > BASE_TAGS + budget.max_characters:
        raise FileTooLarge(
            f"the page has more than {BASE_TAGS + budget.max_characters} tags; split it into smaller files"
        )
    front = front_matter(text)
    encoding.notes.extend(front.notes)
    page = read_markup(text[len(front.raw) :], "html", language=language, source_language=options.source_language)

    if page.num_foreign:
        encoding.notes.append(foreign_note(page.num_foreign))

    def write(translations: Sequence[str]) -> bytes:
        first = len(front.texts)
        settings = front.write(translations[:first], options.source_language, language)
        try:
            before = settings.encode(encoding.name)
        except UnicodeEncodeError:
            encoding.notes.append(f"the front matter is not translated: {shown(encoding.name)} lacks characters of it")
            before = front.raw.encode(encoding.name)
        body = page.write(translations[first:]).encode(encoding.name, errors="xmlcharrefreplace")
        return encoding.bom + before + body

    return OpenedFile([*front.texts, *page.texts], write, encoding.notes)


def foreign_note(count: int) -> str:
    elements = "1 element stays: it declares" if count == 1 else f"{count} elements stay: they declare"
    return f"{elements} another language than the page"


def _decode(data: bytes) -> tuple[str, Encoding]:
    """The page, in the encoding that it declares if it is one of the web. Browsers read Latin-1 as Windows-1252."""
    match = _CHARSET.search(data, 0, 2048) or DECLARED.match(data[:200])
    name = codec_of(match[1].decode("ascii")) if match else None
    if name in ("iso8859-1", "ascii"):
        with contextlib.suppress(DamagedFile):
            return decode(data, "cp1252")
    return decode(data, name)
