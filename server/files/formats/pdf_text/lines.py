"""The lines of a PDF file, in the order in which they are drawn."""

import io
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from server.files.formats.base import DamagedFile, FileError, FileTooLarge

MAX_PAGES = 2000
EDGE = 0.1
"""Of a page's height, at its top and bottom: where lines that are on several pages are no text."""
HEADING = 1.15
"""Size of a heading's letters, as a multiple of most letters' size, at least."""
_REPEATED = 3
"""Pages with the same line at the edge, at least; two if it has the same place there."""
_SAME_PLACE = 2.0
"""Points within which two lines have the same height."""
_DIGITS = re.compile(r"\d+")
_NUMBERED = re.compile(r"(?P<first>\d{1,4})\b\W{0,5}\s.{0,100}[^.,;:!?]|.{1,100}\s\W{0,5}\b(?P<last>\d{1,4})")
"""A title with a page number."""
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
    same, numbered = _Places(lines, lambda line: line.text if _key(line) else ""), _Places(lines, _first_number)
    largest = HEADING * body_size(lines)
    for line in lines:
        key = _key(line)
        if not key or line.size >= largest:  # a heading may have a number and stand at the top of two pages
            yield counts.get(key, 0) >= _REPEATED
            continue
        is_number = pages > 1 and _PAGE_NUMBER.fullmatch(line.text) is not None
        yield is_number or same.are_several(line) or numbered.are_several(line) or counts[key] >= _REPEATED


def body_size(lines: Sequence[Line]) -> float:
    """The size of most letters."""
    sizes = Counter[float]()
    for line in lines:
        sizes[round(line.size, 1)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


class _Places:
    """The pages that have a line of a kind at a height; lines of the kind "" are of none."""

    def __init__(self, lines: Sequence[Line], kind: Callable[[Line], str]) -> None:
        self._kind = kind
        self._pages: dict[tuple[str, int], set[int]] = {}
        for line in lines:
            if found := kind(line):
                self._pages.setdefault((found, round(line.y / _SAME_PLACE)), set()).add(line.page)

    def are_several(self, line: Line) -> bool:
        """Whether another page has a line of this one's kind at its height."""
        kind, height = self._kind(line), round(line.y / _SAME_PLACE)
        near = (self._pages.get((kind, place), ()) for place in (height - 1, height, height + 1))
        return bool(kind) and any(page != line.page for pages in near for page in pages)


def _first_number(line: Line) -> str:
    """For a title with a number: the number of the file's first page if the title has the page's; else ""."""
    match = _NUMBERED.fullmatch(line.text) if _key(line) else None
    return "" if match is None else str(int(match["first"] or match["last"]) - line.page)


def _key(line: Line) -> str:
    """What is the same on other pages; "" if the line is not at an edge."""
    is_at_edge = not EDGE < line.edge < 1 - EDGE
    return f"{line.edge > 0.5} {_DIGITS.sub('#', line.text)}" if is_at_edge else ""
