"""Files of translation memories: TMX 1.4 and CSV are read, TMX is written."""

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
_BYTE_ORDER_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
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
    text = _text(data)
    rows = _units(text, source, target) if written == "tmx" else _lines(text, written, source, target)
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


def _text(data: bytes) -> str:
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise MalformedFile(f"the file is no {encoding.upper()} at byte {error.start}: save it as UTF-8") from None


def _units(text: str, source: str, target: str) -> Iterator[tuple[str, str]]:
    try:
        yield from read_terms(text, ROOTS["tmx"], source, target, keeps_spaces=True)
    except MalformedTerms as error:
        raise MalformedFile(f"the file is no TMX: {error}") from None


def _lines(text: str, written: FileFormat, source: str, target: str) -> Iterator[tuple[str, str]]:
    delimiter = "," if written == "csv" else "\t"
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for number, cells in enumerate(lines, 1):
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
