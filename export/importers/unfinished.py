"""Files that a download or a clone has not finished."""

from collections.abc import Iterable
from pathlib import Path

PARTIAL = (".part", ".partial", ".incomplete", ".crdownload", ".download", ".aria2", ".tmp")
"""Ends of names that programs give to what they have not downloaded to its end."""
_POINTER = b"version https://git-lfs.github.com/"


def is_partial(name: str) -> bool:
    return name.lower().endswith(PARTIAL)


def is_pointer(path: Path) -> bool:
    """Whether a file is what Git keeps in place of a large file, which Git LFS downloads."""
    with path.open("rb") as file:
        return file.read(len(_POINTER)) == _POINTER


def unreadable(path: Path) -> str:
    """What is wrong with a file that cannot be read, behind its name."""
    if is_pointer(path):
        return "is a pointer of Git LFS in place of the file: run `git lfs pull`"
    return "cannot be read, so that it is damaged or not whole"


def partial_hint(names: Iterable[str]) -> str:
    """What to do about names of which some are not downloaded to their end; "" where none is."""
    partial = sorted(filter(is_partial, names))
    return f"; {partial[0]} is not downloaded to its end: download it again" if partial else ""
