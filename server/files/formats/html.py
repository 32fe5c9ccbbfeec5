"""HTML files, split at their blocks (`server.text.markup.markup`)."""

import re
from collections.abc import Sequence

from server.files.formats.base import Budget, FileTooLarge, OpenedFile, decode
from server.files.formats.charsets import codec_of
from server.text.markup.markup import read_markup

BASE_TAGS = 100_000
"""Tags that a page may have, plus one for every permitted character."""
_CHARSET = re.compile(rb"""<meta[^>]{0,300}?charset\s*=\s*["']?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)


def open_html(data: bytes, language: str, budget: Budget) -> OpenedFile:
    """Characters that the encoding of the page lacks are written as references."""
    charset = _charset(data)
    text, name, bom = (data.decode(charset, errors="replace"), charset, b"") if charset else _unicode(data)
    if text.count("<") > BASE_TAGS + budget.max_characters:
        raise FileTooLarge(
            f"the page has more than {BASE_TAGS + budget.max_characters} tags; split it into smaller files"
        )
    page = read_markup(text, "html", language=language)

    def write(translations: Sequence[str]) -> bytes:
        return bom + page.write(translations).encode(name, errors="xmlcharrefreplace")

    return OpenedFile(page.texts, write)


def _charset(data: bytes) -> str | None:
    """The encoding that the page declares, if it is an encoding of the web other than UTF-8 and UTF-16."""
    match = _CHARSET.search(data, 0, 2048)
    if match is None or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return None
    name = codec_of(match[1].decode("ascii"))
    return None if name is None or name.startswith("utf") else name


def _unicode(data: bytes) -> tuple[str, str, bytes]:
    text, encoding = decode(data)
    return text, encoding.name, encoding.bom
