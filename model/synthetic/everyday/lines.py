"""Tables that people write by hand: a line each, empty ones and those that begin with # left out."""

from collections.abc import Iterator
from pathlib import Path


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number in the file, counted from 1; line). Raises OSError."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line and not line.startswith("#"):
            yield number, line
