"""What of a folder would be there after a power cut: the content that files had when they were last synced, under the
names that their folder had when it was last synced. Renames and syncs are recorded, and done."""

import os
from pathlib import Path

import pytest

from model import durable
from model.exchange import exchange


class Disk:
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Begins with all that `folder` has. At every rename, what gets a name must be on the disk already."""
        self._contents: dict[int, bytes] = {}
        """By inode."""
        self._names: dict[int, set[tuple[str, int]]] = {}
        """By the folder's inode: names and inodes."""
        self.num_renames = 0
        for root, _, names in os.walk(folder):
            for path in (*(Path(root) / name for name in names), Path(root)):
                self._keep(path)
        replace, fsync = os.replace, os.fsync

        def recorded_replace(source: Path, target: Path) -> None:
            assert self._has_content(Path(source)), f"{target} gets its name before its content is on the disk"
            self.num_renames += 1
            replace(source, target)

        def recorded_exchange(first: Path, second: Path) -> bool:
            assert self._has_content(first), f"{second} gets its name before its content is on the disk"
            has_exchanged = exchange(first, second)
            self.num_renames += has_exchanged
            return has_exchanged

        def recorded_fsync(handle: int) -> None:
            fsync(handle)
            self._keep(Path(os.readlink(f"/proc/self/fd/{handle}")))

        monkeypatch.setattr(os, "replace", recorded_replace)
        monkeypatch.setattr(durable, "exchange", recorded_exchange)
        monkeypatch.setattr(os, "fsync", recorded_fsync)

    def _keep(self, path: Path) -> None:
        inode = path.stat().st_ino
        if path.is_dir():
            self._names[inode] = {(each.name, each.stat().st_ino) for each in path.iterdir()}
        else:
            self._contents[inode] = path.read_bytes()

    def _has_content(self, path: Path) -> bool:
        inode = path.stat().st_ino
        if path.is_dir():
            return inode in self._names and all(map(self.has, path.iterdir()))
        return self._contents.get(inode) == path.read_bytes()

    def has(self, path: Path) -> bool:
        """Whether all of a file or folder is on the disk as it is now."""
        name = (path.name, path.stat().st_ino)
        return name in self._names.get(path.parent.stat().st_ino, set()) and self._has_content(path)
