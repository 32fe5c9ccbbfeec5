"""XML files, parsed in pieces within bounds: no entities, no network access, no trees out of proportion."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from server.files.formats.base import Budget, DamagedFile, FileTooLarge
from server.files.formats.charsets import codec_of
from server.text.base.placeholders import PlaceholderText, without_placeholders

SOME_BYTES, BYTES_PER_CHARACTER = 16 * 2**20, 64
"""XML of one file: so many bytes, and for every permitted character so many more."""
SOME_TAGS, TAGS_PER_CHARACTER = 250_000, 2
"""Tags and attributes likewise; each may take 250 bytes of memory."""
_CHUNK = 2**16
_BEGINNING = 200
"""Bytes in which the declaration of the encoding is looked for."""
_DECLARED = re.compile(rb"""^\s*<\?xml[^>]*?\bencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_BEGINNINGS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"<\x00", "utf-16le"),
    (b"\x00<", "utf-16be"),
)
_DECLARATIONS = tuple(
    word.encode(encoding) for word in ("<!ENTITY", "<!ATTLIST") for encoding in ("ascii", "utf-16-le", "utf-16-be")
)
"""An entity may stand for a gigabyte, and a declaration may give every element a thousand attributes."""
_OVERLAP = max(map(len, _DECLARATIONS)) - 1
_NO_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class XmlBudget:
    """The XML that is taken of one file: of all its parts together."""

    def __init__(self, budget: Budget) -> None:
        self._max_bytes = self._bytes = SOME_BYTES + BYTES_PER_CHARACTER * budget.max_characters
        self._max_tags = self._tags = SOME_TAGS + TAGS_PER_CHARACTER * budget.max_characters

    @property
    def num_tags(self) -> int:
        """Tags and attributes so far; more rather than fewer."""
        return self._max_tags - self._tags

    def spend(self, data: bytes) -> None:
        """Count a piece of XML before it is parsed. Raises FileTooLarge."""
        self._bytes -= len(data)
        self._tags -= data.count(b"<") + data.count(b"=")
        if self._bytes < 0:
            raise FileTooLarge(
                f"unpacked the file has more than {self._max_bytes} bytes of XML; split it into smaller files"
            )
        if self._tags < 0:
            raise FileTooLarge(
                f"the file has more than {self._max_tags} tags and attributes; split it into smaller files"
            )


def parse(chunks: Iterable[bytes], what: str, budget: XmlBudget) -> Any:
    """The root element of the XML in `chunks`. Raises DamagedFile, FileTooLarge."""
    from lxml import etree

    parser: Any = None
    before = b""
    try:
        for chunk in chunks:
            budget.spend(chunk)
            seen = before + chunk
            if any(word in seen for word in _DECLARATIONS):
                raise DamagedFile(f"{what} declares entities or attributes of its own; save it without a DOCTYPE")
            before = seen[-_OVERLAP:]
            if parser is None:
                parser = etree.XMLParser(
                    encoding=_encoding(chunk, what),
                    resolve_entities=False,
                    no_network=True,
                    load_dtd=False,
                    huge_tree=False,
                )
            parser.feed(chunk)
        root = None if parser is None else parser.close()
    except (etree.LxmlError, ValueError, LookupError, AssertionError) as error:
        if isinstance(error, DamagedFile | FileTooLarge):
            raise
        raise DamagedFile(f"{what} is no well-formed XML: {error}") from None
    if root is None:
        raise DamagedFile(f"{what} is empty")
    return root


def in_chunks(data: bytes) -> Iterator[bytes]:
    """Pieces of `data`, for `parse`."""
    return (data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK))


def serialize(root: Any) -> bytes:
    """A whole XML file, with its declaration and what stood around the root."""
    from lxml import etree

    tree = root.getroottree()
    standalone = tree.docinfo.standalone
    return bytes(etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=standalone))


def local(element: Any) -> str:
    """A tag without its namespace; "" of a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def valid_text(text: str) -> str:
    """`text` with U+FFFD for characters that no XML may have."""
    return _NO_CHARACTERS.sub("\ufffd", text)


def _encoding(beginning: bytes, what: str) -> str:
    """The encoding, for a parser that would also take some in which nobody can count tags (UTF-7, EBCDIC)."""
    for mark, name in _BEGINNINGS:
        if beginning.startswith(mark):
            return name
    declared = _DECLARED.match(beginning[:_BEGINNING])
    if declared is None:
        return "utf-8"
    label = declared[1].decode("ascii")
    name_of = codec_of(label)
    if name_of is None:
        raise DamagedFile(f"{what} is in the encoding {label}, which is not read; save it as UTF-8")
    return "utf-8" if name_of.startswith("utf") else label


class Elements:
    """A text with marks that stand for elements, or for whatever is made one when the text is written."""

    def __init__(self) -> None:
        self.marked = PlaceholderText()
        self._elements: list[Any] = []
        self._opened: dict[int, str] = {}  # id of an element -> its name; the list keeps elements and so their ids

    def open(self, element: Any) -> None:
        name = str(len(self._elements))
        self._elements.append(element)
        self._opened[id(element)] = name
        self.marked.open(name, name)

    def close(self, element: Any) -> None:
        name = self._opened[id(element)]
        self.marked.close(name, name)

    def add_text(self, text: str) -> None:
        self.marked.add_text(without_placeholders(text))

    def add_standalone(self, element: Any) -> None:
        self._elements.append(element)
        self.marked.add_standalone(str(len(self._elements) - 1))

    def of(self, mark: str) -> Any:
        """The element that a mark stands for."""
        return self._elements[int(self.marked.raw[mark])]
