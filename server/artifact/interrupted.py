"""Folders whose replacement was interrupted between two renames, where a file system cannot exchange two folders (see
model/durable.py and export/replaced.py): nothing has their name, and what had it lies beside it under another one."""

import logging
import os
import re
from collections.abc import Iterable
from pathlib import Path

from server.artifact.folder_lock import lock_folder, unlock

logger = logging.getLogger("ringmt")

ASIDE = re.compile(r"(\.(.+?)(?:\.unfinished)?-[a-z0-9_]{8})-old", re.DOTALL)
"""The name of the folder that was to take the place: a dot, the place's name, and eight characters of tempfile; older
versions left "unfinished" out."""


def put_back(folder: Path, holding: str = ".") -> bool:
    """Where nothing has the name of `folder`, rename the newest folder that was moved aside, and holds the file
    `holding`, back to it; returns whether there is one. Where it cannot be renamed, a warning says so."""
    if os.path.lexists(folder) or not folder.parent.is_dir():
        return False
    return bool(put_back_in(folder.parent, os.listdir(folder.parent), holding, only=folder.name))


def put_back_in(parent: Path, names: Iterable[str], holding: str, only: str | None = None) -> list[str]:
    """As `put_back`, of all folders in `parent`, or only of one; `names` are those in `parent`. Returns the names of
    the folders that are back."""
    aside: dict[str, list[Path]] = {}
    for name in names:
        match = ASIDE.fullmatch(name)
        if match is None or only not in (None, match[2]) or not (parent / name / holding).exists():
            continue
        if not _is_at_work(parent / match[1]):
            aside.setdefault(match[2], []).append(parent / name)
    return [name for name, folders in aside.items() if _is_back(parent / name, folders)]


def _is_at_work(new: Path) -> bool:
    """Whether the process that replaces a folder by `new` still lives: then it is about to do so."""
    try:
        unlock(lock_folder(new))
    except BlockingIOError:
        return True
    except OSError:  # it is gone
        return False
    return False


def _is_back(folder: Path, aside: list[Path]) -> bool:
    if os.path.lexists(folder):
        return False
    newest = max(aside, key=lambda path: path.stat().st_mtime_ns)
    try:
        os.replace(newest, folder)
    except OSError as error:
        logger.warning(
            "nothing is at %s: its replacement was interrupted, and its content lies at %s: rename that (%s)",
            folder, newest, error,
        )  # fmt: skip
        return False
    logger.warning("%s is back: its replacement was interrupted, and had left it at %s", folder, newest)
    return True
