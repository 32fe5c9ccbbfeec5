"""Splits lines into chunks of one request each."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from server.corpus.remote import RequestRejected, ServerBusy, TooLarge

LINES = 32
"""Lines of a chunk."""
CHARACTERS = 20_000
"""Characters of a chunk, and of one text: a longer line is cut."""
SHORT = 1_000
"""A line with fewer characters is not cut after a timeout, which then only means that the server is busy."""

_BOUNDARIES = (re.compile(r"(?<=[.!?])\s+"), re.compile(r"\s+"))
"""Positions where a line may be cut: after a sentence, or after a word."""

Translate = Callable[[Sequence[str]], list[str]]


@dataclass(frozen=True, order=True)
class Chunk:
    """Consecutive lines of a file; `start` is the number of the first, from 0."""

    start: int
    lines: tuple[str, ...]


def chunks_of(lines: Iterable[str], start: int = 0, size: int = LINES) -> Iterator[Chunk]:
    """All lines in order, in chunks of at most `size` lines and CHARACTERS characters; a longer line is a chunk
    alone."""
    chunk, characters = list[str](), 0
    for line in lines:
        if chunk and (len(chunk) == size or characters + len(line) > CHARACTERS):
            yield Chunk(start, tuple(chunk))
            start, chunk, characters = start + len(chunk), [], 0
        chunk.append(line)
        characters += len(line)
    if chunk:
        yield Chunk(start, tuple(chunk))


def translate_lines(translate: Translate, lines: Sequence[str]) -> list[str]:
    """The translation of every line. A request that is too large for the server is split into halves. Raises the errors
    of `translate`, RequestRejected for a line that is too large and cannot be cut, and ServerBusy after a timeout with
    a short line."""
    if len(lines) == 1 and len(lines[0]) > CHARACTERS:
        return [_in_halves(translate, lines[0])]
    try:
        return [text.replace("\n", " ") for text in translate(lines)]  # a translation stays on its source's line
    except TooLarge as error:
        if len(lines) > 1:
            middle = len(lines) // 2
            return translate_lines(translate, lines[:middle]) + translate_lines(translate, lines[middle:])
        if len(lines[0]) < 2:
            raise RequestRejected(str(error)) from None
        if len(lines[0]) < SHORT and error.is_timeout:
            raise ServerBusy(1.0) from None
        return [_in_halves(translate, lines[0])]


def _in_halves(translate: Translate, line: str) -> str:
    return "".join(translate_lines(translate, [half])[0] for half in halves(line))


def halves(text: str) -> tuple[str, str]:
    """Cut after a sentence or a word near the middle, else in the middle. Neither half is empty."""
    middle, quarter = len(text) // 2, len(text) // 4
    for boundary in _BOUNDARIES:
        cuts = [match.end() for match in boundary.finditer(text, max(1, quarter), len(text) - quarter)]
        cuts = [cut for cut in cuts if 0 < cut < len(text)]
        if cuts:
            middle = min(cuts, key=lambda cut: abs(cut - len(text) // 2))
            break
    return text[:middle], text[middle:]
