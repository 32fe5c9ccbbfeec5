"""Files and folders that take the place of others and survive a power cut: what is written reaches the disk before it
gets its name, and the name reaches the disk before the caller continues (fsync(2), rename(2)). After a rename without
that, some file systems have an empty file."""

import os
import re
import shutil
from pathlib import Path

OLD = "-old"


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
    disk, and restored if renaming fails."""
    sync_folder(new)
    if not out.exists():
        os.replace(new, out)
        sync(out.parent)
        return
    old = new.with_name(f"{new.name}{OLD}")
    os.replace(out, old)
    try:
        os.replace(new, out)
    except OSError:
        os.replace(old, out)
        raise
    sync(out.parent)
    shutil.rmtree(old)


def recover_folder(out: Path) -> None:
    """Put back what `replace_folder` had moved aside when its process was killed between two renames: then nothing is
    at `out`. The new folder stood beside it: its name is a dot, that of `out`, and eight characters of tempfile."""
    if out.exists() or not out.parent.is_dir():
        return
    name = re.compile(rf"\.{re.escape(out.name)}-[a-z0-9_]{{8}}{OLD}")
    left = [path for path in out.parent.iterdir() if name.fullmatch(path.name) and path.is_dir()]
    if left:
        os.replace(max(left, key=lambda path: path.stat().st_mtime_ns), out)
        sync(out.parent)
