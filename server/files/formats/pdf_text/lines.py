"""The lines of a PDF file, in the order in which they are drawn."""

import io
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from server.files.formats.base import DamagedFile, FileError, FileTooLarge

MAX_PAGES = 2000
EDGE = 0.1
"""Of a page's height, at its top and bottom: where lines that are on several pages are no text."""
_REPEATED = 3
"""Pages with the same line at the edge, at least."""
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"\W{0,5}(?:\w{1,8}\W{1,2})?[\divxlc]{1,6}(?:\W{1,3}(?:\w{1,4}\W)?\d{1,5})?\W{0,5}", re.IGNORECASE
)


@dataclass(frozen=True)
class Line:
    """A line of a page; `x` and `y` of its beginning and `size` of its letters in points, `is_bold` if all of it is.
    `edge` is the place in the page's height, from 0 at the bottom to 1."""

    page: int
    text: str
    x: float
    y: float
    size: float
    is_bold: bool
    edge: float


@dataclass(frozen=True)
class Lines:
    """The lines of a file without those that are on several pages, of which there are `num_left_out`;
    `num_empty_pages` have no text."""

    lines: Sequence[Line]
    num_left_out: int
    num_empty_pages: int


def read_lines(data: bytes) -> Lines:
    """Raises DamagedFile, FileTooLarge."""
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it logs what it repairs
    lines: list[Line] = []
    num_empty = 0
    try:
        for number, page in enumerate(_pages(data)):
            before = len(lines)
            lines += _lines_of(number, page)
            num_empty += len(lines) == before
    except FileError:
        raise
    except MemoryError:
        raise
    except Exception as error:  # the library raises errors of every kind for damaged files
        raise DamagedFile(f"the file is no PDF file, or damaged: {error or type(error).__name__}") from None
    if not lines:
        raise DamagedFile(
            "there is no text in the PDF file: its pages are pictures; have their text recognised (OCR) first"
        )
    kept = [line for line, is_repeated in zip(lines, _repeated(lines), strict=True) if not is_repeated]
    return Lines(kept, len(lines) - len(kept), num_empty)


def _pages(data: bytes) -> Sequence[Any]:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted:
        try:
            is_open = bool(reader.decrypt(""))
        except DependencyError:
            is_open = False
        if not is_open:
            raise DamagedFile("the PDF file is encrypted; save it without a password")
    if len(reader.pages) > MAX_PAGES:
        raise FileTooLarge(f"the PDF file has more than {MAX_PAGES} pages; split it")
    return reader.pages


def _lines_of(number: int, page: Any) -> Iterator[Line]:
    bottom, top = float(page.mediabox.bottom), float(page.mediabox.top)
    pieces: list[tuple[str, float, float, float, bool]] = []

    def visit(text: str, user: Any, matrix: Any, font: Mapping[str, Any] | None, size: float) -> None:
        x = matrix[4] * user[0] + matrix[5] * user[2] + user[4]
        y = matrix[4] * user[1] + matrix[5] * user[3] + user[5]
        scale = abs(matrix[3] * user[3]) or abs(matrix[1] * user[2]) or 1.0
        pieces.append((text, x, y, size * scale, "bold" in str((font or {}).get("/BaseFont", "")).lower()))

    page.extract_text(visitor_text=visit)
    line: list[tuple[str, float, float, float, bool]] = []
    for text, *place in pieces:
        first, *others = text.split("\n")
        line.append((first, *place))  # type: ignore[arg-type]
        for other in others:
            yield from _line(number, line, bottom, top)
            line = [(other, *place)]  # type: ignore[list-item]
    yield from _line(number, line, bottom, top)


def _line(
    number: int, pieces: Sequence[tuple[str, float, float, float, bool]], bottom: float, top: float
) -> Iterator[Line]:
    text = " ".join("".join(piece[0] for piece in pieces).split())
    seen = [piece for piece in pieces if piece[0].strip()]
    if text:
        _, x, y, _, _ = seen[0]
        size = max(piece[3] for piece in seen)
        edge = (y - bottom) / (top - bottom) if top > bottom else 0.5
        yield Line(number, text, x, y, size, all(piece[4] for piece in seen), edge)


def _repeated(lines: Sequence[Line]) -> Iterator[bool]:
    """Of every line, whether it is at the edges of several pages: a running title or a page number."""
    pages = len({line.page for line in lines})
    counts = Counter(key for key in map(_key, lines) if key)
    for line in lines:
        key = _key(line)
        is_number = pages > 1 and bool(key) and _PAGE_NUMBER.fullmatch(line.text) is not None
        yield is_number or counts.get(key, 0) >= _REPEATED


def _key(line: Line) -> str:
    """What is the same on other pages; "" if the line is not at an edge."""
    is_at_edge = not EDGE < line.edge < 1 - EDGE
    return f"{line.edge > 0.5} {_DIGITS.sub('#', line.text)}" if is_at_edge else ""
