"""Files and folders that take the place of others and survive a power cut: what is written reaches the disk before it
gets its name, and the name reaches the disk before the caller continues (fsync(2), rename(2)). After a rename without
that, some file systems have an empty file."""

import os
import shutil
from pathlib import Path

from model.exchange import exchange

OLD = "-old"
"""Behind the name of a folder that was moved aside."""


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    if path.is_dir() and os.name == "nt":
        return  # there folders cannot be opened, and names are written in order
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_file(new: Path, path: Path) -> None:
    """Rename the whole file `new` to `path`, in the same folder. Raises OSError; `path` is then as it was."""
    sync(new)
    os.replace(new, path)
    sync(path.parent)


def sync_folder(folder: Path) -> None:
    """Wait until all files of a folder, and of those in it, are on the disk."""
    for root, _, names in os.walk(folder, topdown=False):
        for name in names:
            sync(Path(root) / name)
        sync(Path(root))


def replace_folder(new: Path, out: Path) -> None:
    """Rename the folder `new` to `out`. The previous content of `out` is deleted afterwards, when the new one is on the
    disk, and restored if renaming fails. Where a file system exchanges folders, one of the two is at `out` at every
    moment; elsewhere nothing is between two renames, and the previous folder lies beside it under the name of `new`
    with OLD behind."""
    sync_folder(new)
    if not out.exists():
        os.replace(new, out)
        sync(out.parent)
        return
    old = new
    if not (out.is_dir() and exchange(new, out)):
        old = new.with_name(f"{new.name}{OLD}")
        os.replace(out, old)
        try:
            os.replace(new, out)
        except OSError:
            os.replace(old, out)
            raise
    sync(out.parent)
    shutil.rmtree(old)
