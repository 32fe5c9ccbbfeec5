"""Lines as paragraphs and headings, by their distances and the size of their letters."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from server.files.formats.pdf_text.lines import HEADING, Line, body_size

_NEW_PARAGRAPH = 1.35
"""Distance of the lines of two paragraphs, as a multiple of the usual one, at least."""
_LONGEST_HEADING = 120
_MAX_LEVEL = 3
_BULLET = re.compile(r"[\u2022\u2023\u25e6\u25aa\u25cf\u2043\uf0b7][ \t]*|[-*\u2013] +")
_NUMBERED = re.compile(r"(?:\d{1,3}[.)]|[a-z]\)|\(\w{1,3}\)) ")
_END = re.compile(r"[.!?:;\u3002\uff01\uff1f][\"'\u201d\u2019\u00bb)]?$")
_LEADERS = re.compile(r"(?:\.[ \u00a0]?){4,}+")
"""Between an entry of a table of contents and its page."""
_HYPHEN = re.compile(r"[^\W\d_]([-\u00ad\u2010])$")
_COMPOUND = re.compile(r"(?<![^\W\d_])[^\W\d_]++-[^\W\d_]++")
"""Only from the beginning of a word: a word without a hyphen is read once."""
_SUSPENDED = re.compile(r"(?:und|oder|bzw|and|or|et|ou|y|o|e|en|of)\b")
"""Words behind a hyphen that stands for the end of a compound: "in- and output"."""


@dataclass
class Paragraph:
    """`level` of a heading from 1 on, 0 for text; `is_item` of a list."""

    level: int
    is_item: bool
    lines: list[Line] = field(default_factory=list)
    text: str = ""


def paragraphs_of(lines: Sequence[Line]) -> list[Paragraph]:
    """The paragraphs, their lines joined."""
    sizes = {round(line.size, 1) for line in lines}
    body = body_size(lines)
    headings = sorted((size for size in sizes if size >= HEADING * body), reverse=True)
    levels = {size: min(level, _MAX_LEVEL) for level, size in enumerate(headings, 1)}
    distances = Counter(
        round(before.y - line.y)
        for before, line in pairwise(lines)
        if before.page == line.page and 0 < before.y - line.y < 3 * line.size
    )
    usual = float(max(distances, key=lambda distance: (distances[distance], -distance), default=0))
    paragraphs: list[Paragraph] = []
    for line in lines:
        level, bullet = _level(line, levels, body), _BULLET.match(line.text)
        if paragraphs and not bullet and _continues(paragraphs[-1], line, level, usual):
            paragraphs[-1].lines.append(line)
        else:
            paragraphs.append(Paragraph(level, bullet is not None, [line]))
    known = {word for line in lines for word in _COMPOUND.findall(line.text)}
    for paragraph in paragraphs:
        paragraph.text = _LEADERS.sub("\u2026 ", _joined(paragraph.lines, known))
        if paragraph.level and len(paragraph.text) > _LONGEST_HEADING:
            paragraph.level = 0
    return paragraphs


def _level(line: Line, levels: dict[float, int], body: float) -> int:
    level = levels.get(round(line.size, 1), 0)
    if not level and line.is_bold and round(line.size, 1) >= body and not _END.search(line.text):
        return min(len(levels) + 1, _MAX_LEVEL)
    return level


def _continues(paragraph: Paragraph, line: Line, level: int, usual: float) -> bool:
    """Whether the line belongs to the paragraph."""
    last = paragraph.lines[-1]
    if (
        _LEADERS.search(last.text)
        or level != paragraph.level
        or abs(line.size - last.size) > 0.5
        or _NUMBERED.match(line.text)
    ):
        return False
    distance = last.y - line.y
    if line.page != last.page or distance < -0.5 * line.size:  # in the next column or on the next page
        return (
            not paragraph.level and not _END.search(last.text) and (line.text[0].islower() or _is_hyphened(last, line))
        )
    if distance > _NEW_PARAGRAPH * max(usual, line.size):
        return False
    is_short = len(last.text) < 0.7 * max(len(translation.text) for translation in (*paragraph.lines[:20], line))
    is_indented = line.x - last.x > line.size and len(paragraph.lines) > 1
    return not ((is_short or is_indented) and bool(_END.search(last.text)))


def _is_hyphened(last: Line, line: Line) -> bool:
    return _HYPHEN.search(last.text) is not None and line.text[0].islower()


def _joined(lines: Sequence[Line], known: set[str]) -> str:
    return "".join(_pieces(lines, known))


def _pieces(lines: Sequence[Line], known: set[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        bullet = _BULLET.match(line.text) if number == 0 else None
        text = line.text[bullet.end() :] if bullet else line.text
        following = lines[number + 1] if number + 1 < len(lines) else None
        if following is None:
            yield text
        elif not _is_hyphened(line, following) or _SUSPENDED.match(following.text):
            yield text + " "
        else:
            word = text.rpartition(" ")[2] + following.text.split(" ")[0].rstrip(".,;:!?)")
            yield text if word in known else text[:-1]
