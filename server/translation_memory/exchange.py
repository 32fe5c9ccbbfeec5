"""Files of translation memories: TMX 1.4 and CSV are read, TMX is written."""

import codecs
import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal
from xml.sax.saxutils import escape, quoteattr

from server.glossaries.tbx_tmx import ROOTS, MalformedTerms, read_terms
from server.runtime.checkpoints import checkpoint
from server.text.base.language_tags import base_language
from server.translation_memory.entries import RefusedPair, checked
from server.translation_memory.pairs import Pair

FileFormat = Literal["tmx", "csv", "tsv"]
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"", "utf-8"),
)
PART_BYTES = 2**16
"""Bytes that are decoded at once: no other thread runs meanwhile."""
MAX_LINE_CHARS: Final = 2**19
"""Characters of a line of CSV: more than a pair and its languages may have (131,072 a cell)."""
TMX_TYPE: Final = "application/x-tmx+xml"
TMX_END: Final = "</body>\n</tmx>\n"


class MalformedFile(ValueError):
    """A file that cannot be read; the message says why."""


@dataclass
class ReadPairs:
    """The pairs of a file, and how many could not be kept, by the reason."""

    pairs: list[Pair] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)


def read_pairs(data: bytes, written: FileFormat, source: str, target: str, most: float = math.inf) -> ReadPairs:
    """Up to `most` pairs from `source` to `target`, in their order. A file is UTF-8, or UTF-16 with a byte order mark.
    A line of CSV or TSV is a source, its translation, and perhaps both languages; quotes and all else as in RFC 4180.
    Codes inside the segments of TMX are left out. Linear in the length of the file. Raises MalformedFile, also for a
    file with more pairs."""
    text = as_utf8(data)
    rows = _units(text, source, target) if written == "tmx" else _rows(text, written, source, target)
    read = ReadPairs()
    for source_text, target_text in rows:
        checkpoint()
        if len(read.pairs) >= most:
            raise MalformedFile(f"the file has more than {most} pairs: divide it")
        try:
            read.pairs.append(checked(source_text, target_text))
        except RefusedPair as error:
            read.refused[str(error)] += 1
    return read


def as_utf8(data: bytes) -> bytes:
    """A text in UTF-8 without a byte order mark, out of UTF-8 or UTF-16. Decodes PART_BYTES at once. Raises
    MalformedFile."""
    mark, encoding = next(known for known in _BYTE_ORDER_MARKS if data.startswith(known[0]))
    decoder = codecs.getincrementaldecoder(encoding)()
    parts: list[bytes] = []
    for start in range(len(mark), len(data), PART_BYTES):
        checkpoint()
        part, num_undecoded = data[start : start + PART_BYTES], len(decoder.getstate()[0])
        try:
            text = decoder.decode(part, final=start + len(part) == len(data))
        except UnicodeDecodeError as error:
            at = start - num_undecoded + error.start
            raise MalformedFile(f"the file is no {encoding.upper()} at byte {at}: save it as UTF-8") from None
        if encoding != "utf-8":
            parts.append(text.encode())
    return b"".join(parts) if parts else data[len(mark) :]


def _units(text: bytes, source: str, target: str) -> Iterator[tuple[str, str]]:
    try:
        yield from read_terms(text, ROOTS["tmx"], source, target, keeps_spaces=True)
    except MalformedTerms as error:
        raise MalformedFile(f"the file is no TMX: {error}") from None


def _rows(text: bytes, written: FileFormat, source: str, target: str) -> Iterator[tuple[str, str]]:
    delimiter = "," if written == "csv" else "\t"
    rows = csv.reader(_lines(text), delimiter=delimiter, strict=True)
    try:
        for number, cells in enumerate(rows, 1):
            if not any(map(str.strip, cells)):
                continue
            languages = [base_language(cell) for cell in cells[2:]]
            if len(cells) not in (2, 4) or (languages and languages != [source, target]):
                raise MalformedFile(
                    f"line {number} of the file must be a source and its translation, or these and {source}, {target}; "
                    f"it has {len(cells)} cells"
                )
            yield cells[0], cells[1]
    except csv.Error as error:
        raise MalformedFile(f"the file is no {written.upper()}: {error}") from None


def _lines(text: bytes) -> Iterator[str]:
    """Lines with their ends, as csv takes them."""
    lines = io.TextIOWrapper(io.BytesIO(text), "utf-8", newline="")
    while line := lines.readline(MAX_LINE_CHARS):
        checkpoint()
        if len(line) == MAX_LINE_CHARS:
            raise MalformedFile(f"a line of the file has {MAX_LINE_CHARS} characters or more")
        yield line


def tmx_beginning(source: str, version: str) -> str:
    """The beginning of a file of TMX 1.4b; `tmx_units` and TMX_END follow."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
        f'<header creationtool="RingMT" creationtoolversion={quoteattr(version)} segtype="sentence" o-tmf="RingMT" '
        f'adminlang="en" srclang={quoteattr(source)} datatype="plaintext"/>\n<body>\n'
    )


def tmx_units(pairs: Iterable[Pair], source: str, target: str) -> Iterator[str]:
    """The pairs as units of TMX, a line each."""

    def variant(language: str, text: str) -> str:
        return f"<tuv xml:lang={quoteattr(language)}><seg>{escape(text, {chr(13): '&#13;'})}</seg></tuv>"

    for pair in pairs:
        checkpoint()
        yield f"<tu>{variant(source, pair.source)}{variant(target, pair.target)}</tu>\n"
