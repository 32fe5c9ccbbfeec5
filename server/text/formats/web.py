"""HTML files: cut at their blocks (`server.text.markup`)."""

import codecs
import re
from collections.abc import Sequence

from server.text.formats.opened import DamagedFile, OpenedFile, decode
from server.text.marks import TooManyMarks
from server.text.markup import read_markup

_CHARSET = re.compile(rb"""<meta[^>]{0,300}?charset\s*=\s*["']?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)


def open_html(data: bytes, language: str) -> OpenedFile:
    """Characters that the page's own encoding lacks are written as references."""
    charset = _charset(data)
    text, name, mark = (data.decode(charset, errors="replace"), charset, b"") if charset else _unicode(data)
    try:
        page = read_markup(text, "html", language=language)
    except TooManyMarks as error:
        raise DamagedFile(str(error)) from None

    def write(translations: Sequence[str]) -> bytes:
        return mark + page.write(translations).encode(name, errors="xmlcharrefreplace")

    return OpenedFile(page.texts, write)


def _charset(data: bytes) -> str | None:
    """What the page declares, if it is another encoding than Unicode's."""
    found = _CHARSET.search(data, 0, 2048)
    if found is None or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return None
    try:
        name = codecs.lookup(found[1].decode("ascii")).name
    except LookupError:
        return None
    return None if name.startswith("utf") else name


def _unicode(data: bytes) -> tuple[str, str, bytes]:
    text, encoding = decode(data)
    return text, encoding.name, encoding.mark
