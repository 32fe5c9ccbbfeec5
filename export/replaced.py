"""Folders that are written beside their place and take it when they are whole. What a killed process left is put back
or removed by the next one."""

import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from model.durable import OLD, replace_folder
from server.artifact.folder_lock import lock_folder, unlock
from server.artifact.interrupted import put_back

UNFINISHED = ".unfinished-"
"""Behind a dot and the folder's name; tempfile adds eight characters."""
LEFTOVER = re.compile(rf"\.(.+?){re.escape(UNFINISHED)}[a-z0-9_]{{8}}({OLD})?", re.DOTALL)


@contextlib.contextmanager
def replaced(out: Path, holding: str | None = None) -> Iterator[Path]:
    """A new folder that takes the place of `out` at the end; after an error `out` is as it was, also where a process
    was killed while it replaced `out`. Where `out` is a link, what it names is replaced. `holding`: a file that every
    folder of its kind has. Raises NotADirectoryError where `out` is a file, and FileExistsError where it is a folder of
    another kind, such as one of several artifacts."""
    out = Path(os.path.realpath(out))
    put_back(out)
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file, where a folder is to be written: name another folder")
    if holding is not None and out.exists() and any(out.iterdir()) and not (out / holding).is_file():
        raise FileExistsError(f"{out} has other content (no {holding}), which would be lost: name another folder")
    with unfinished(out) as new:
        yield new
        new.chmod(0o755)
        replace_folder(new, out)


@contextlib.contextmanager
def unfinished(out: Path) -> Iterator[Path]:
    """A new folder beside `out`, removed at the end if it is still there. Those that killed processes left there are
    removed first."""
    out.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(out.parent)
    new, lock = _locked_folder(out)
    try:
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)
        unlock(lock)


def remove_leftovers(parent: Path) -> None:
    """Remove the folders in `parent` that killed processes did not finish: those that no process has locked. On systems
    without such locks they stay."""
    for path in sorted(parent.iterdir()):
        match = LEFTOVER.fullmatch(path.name)
        if match is None or path.is_symlink() or (match[2] and not (parent / match[1]).exists()):
            continue  # what was moved aside is put back when its name is used
        with contextlib.suppress(OSError):  # a process writes it, or removes it, or may
            lock = lock_folder(path)
            if lock is not None:
                shutil.rmtree(path, ignore_errors=True)
                unlock(lock)
                print(f"ringmt: removed what an interrupted command had left: {path}", file=sys.stderr)


def _locked_folder(out: Path) -> tuple[Path, int | None]:
    """A new folder beside `out`, and its lock, where the system has locks. Another process may take a folder for a
    leftover before it is locked; then there is another one."""
    while True:
        new = Path(tempfile.mkdtemp(prefix=f".{out.name}{UNFINISHED}", dir=out.parent))
        with contextlib.suppress(BlockingIOError, FileNotFoundError):
            return new, lock_folder(new)
