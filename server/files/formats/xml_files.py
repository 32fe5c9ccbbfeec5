"""What XML files share: limits on their size, their encodings, and texts whose placeholders stand for elements."""

import re
from typing import Any

from server.files.formats.base import Budget, DamagedFile, FileTooLarge
from server.files.formats.charsets import codec_of
from server.text.base.placeholders import PlaceholderText, without_placeholders

BASE_BYTES, BYTES_PER_CHARACTER = 16 * 2**20, 64
"""Bytes of XML that a file may have, plus 64 for every permitted character."""
BASE_TAGS, TAGS_PER_CHARACTER = 250_000, 2
"""Tags and attributes that a file may have, plus 2 for every permitted character; each may take 250 bytes of memory."""
_BEGINNING = 200
"""Bytes in which the declaration of the encoding is searched."""
DECLARED = re.compile(rb"""^\s*<\?xml[^>]*?\bencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_UTF_32 = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff", b"<\x00\x00\x00", b"\x00\x00\x00<")
"""How files in UTF-32 begin: with the mark of its order of bytes, or with a tag."""
_BEGINNINGS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"<\x00", "utf-16le"),
    (b"\x00<", "utf-16be"),
)
_INVALID_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class XmlBudget:
    """The limits of the XML of one file, all parts together."""

    def __init__(self, budget: Budget) -> None:
        self._max_bytes = self._bytes_left = BASE_BYTES + BYTES_PER_CHARACTER * budget.max_characters
        self._max_tags = self._tags_left = BASE_TAGS + TAGS_PER_CHARACTER * budget.max_characters

    @property
    def num_tags(self) -> int:
        """Tags and attributes so far, an upper bound."""
        return self._max_tags - self._tags_left

    def spend(self, data: bytes) -> None:
        """Count a chunk of XML before it is parsed. Raises FileTooLarge."""
        self._bytes_left -= len(data)
        self._tags_left -= data.count(b"<") + data.count(b"=")
        if self._bytes_left < 0:
            raise FileTooLarge(
                f"unpacked the file has more than {self._max_bytes} bytes of XML; split it into smaller files"
            )
        if self._tags_left < 0:
            raise FileTooLarge(
                f"the file has more than {self._max_tags} tags and attributes; split it into smaller files"
            )


def valid_text(text: str) -> str:
    """`text` with U+FFFD in place of characters that XML forbids."""
    return _INVALID_CHARACTERS.sub("\ufffd", text)


def encoding_of(beginning: bytes, what: str) -> str:
    """The encoding. The parser would also accept encodings in which tags cannot be counted (UTF-7, EBCDIC)."""
    if beginning.startswith(_UTF_32):
        raise _not_read(what, "UTF-32")
    for bom, name in _BEGINNINGS:
        if beginning.startswith(bom):
            return name
    declared = DECLARED.match(beginning[:_BEGINNING])
    if declared is None:
        return "utf-8"
    label = declared[1].decode("ascii")
    name_of = codec_of(label)
    if name_of is None:
        raise _not_read(what, label)
    return "utf-8" if name_of.startswith("utf") else label


def _not_read(what: str, encoding: str) -> DamagedFile:
    return DamagedFile(f"{what} is in the encoding {encoding}, which is not read; save it as UTF-8")


class Elements:
    """Builds a text with placeholders for elements, or for objects that become elements when the text is written."""

    def __init__(self) -> None:
        self.placeholder_text = PlaceholderText()
        self._elements: list[Any] = []
        self._opened: dict[int, str] = {}  # id of an element -> its name; `_elements` keeps the ids unique

    def open(self, element: Any) -> None:
        name = str(len(self._elements))
        self._elements.append(element)
        self._opened[id(element)] = name
        self.placeholder_text.open(name, name)

    def close(self, element: Any) -> None:
        name = self._opened[id(element)]
        self.placeholder_text.close(name, name)

    def add_text(self, text: str) -> None:
        self.placeholder_text.add_text(without_placeholders(text))

    def add_standalone(self, element: Any) -> None:
        self._elements.append(element)
        self.placeholder_text.add_standalone(str(len(self._elements) - 1))

    def add_value(self, element: Any) -> None:
        """Add an element in whose place readers see a word or a number."""
        self._elements.append(element)
        self.placeholder_text.add_value(str(len(self._elements) - 1))

    def of(self, placeholder: str) -> Any:
        """The element of a placeholder."""
        return self._elements[int(self.placeholder_text.raw[placeholder])]

    def get(self, part: str) -> Any:
        """The element of a part of a translation; None for a text and for a placeholder of no element."""
        name = self.placeholder_text.raw.get(part)
        return None if name is None else self._elements[int(name)]
