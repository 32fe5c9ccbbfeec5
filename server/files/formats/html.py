"""HTML files, split at their blocks (`server.text.markup.markup`)."""

import contextlib
import re
from collections.abc import Sequence

from server.files.formats.base import Budget, DamagedFile, Encoding, FileOptions, FileTooLarge, OpenedFile, decode
from server.files.formats.charsets import codec_of
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
    page = read_markup(text, "html", language=language, source_language=options.source_language)

    def write(translations: Sequence[str]) -> bytes:
        return encoding.bom + page.write(translations).encode(encoding.name, errors="xmlcharrefreplace")

    return OpenedFile(page.texts, write, encoding.notes)


def _decode(data: bytes) -> tuple[str, Encoding]:
    """The page, in the encoding that it declares if it is one of the web. Browsers read Latin-1 as Windows-1252."""
    match = _CHARSET.search(data, 0, 2048) or DECLARED.match(data[:200])
    name = codec_of(match[1].decode("ascii")) if match else None
    if name in ("iso8859-1", "ascii"):
        with contextlib.suppress(DamagedFile):
            return decode(data, "cp1252")
    return decode(data, name)
