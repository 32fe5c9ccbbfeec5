"""What a worker knows of the processes to which it belongs."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from server.runtime.processes.board import Board
from server.runtime.processes.connection_channel import ConnectionChannel
from server.runtime.processes.shared_rows import FileLock, SharedRows

_FAILURE = "failure"


@dataclass(frozen=True)
class WorkerProcess:
    """`slot` of `board.count`; `rows` of keys, `file_rows` of clients' files; `folder`: of files and
    sockets that all processes share."""

    slot: int
    board: Board
    channel: ConnectionChannel
    rows: SharedRows
    file_rows: SharedRows
    folder: Path

    @property
    def count(self) -> int:
        return self.board.count

    @property
    def why_not_started(self) -> Path:
        """A file with the reason why a worker could not start."""
        return self.folder / _FAILURE

    @staticmethod
    def reason_in(folder: Path) -> str | None:
        """What a worker wrote to `why_not_started`."""
        file = folder / _FAILURE
        return file.read_text() if file.exists() else None


_PREFIX, _NEW = "ringmt-processes-", ".new"
_LOCK = "lock"


@contextlib.contextmanager
def shared_folder() -> Iterator[Path]:
    """A folder that other users cannot enter; removed at the end, but not by forks of this process. Folders of servers
    that were killed are removed, too: their file is not locked any more."""
    maker, root = os.getpid(), Path(tempfile.gettempdir())
    for left in root.glob(f"{_PREFIX}*"):
        if not left.name.endswith(_NEW):
            _remove_if_left(left)
    new = Path(tempfile.mkdtemp(prefix=_PREFIX, suffix=_NEW))
    lock = FileLock(new / _LOCK)
    lock.acquire()
    folder = new.rename(new.with_suffix(""))
    try:
        yield folder
    finally:
        if os.getpid() == maker:
            shutil.rmtree(folder, ignore_errors=True)
            lock.close()


def _remove_if_left(folder: Path) -> None:
    with contextlib.suppress(OSError):  # another server removes it
        if folder.stat().st_uid != os.getuid():
            return
        lock = FileLock(folder / _LOCK)
        if lock.try_acquire():
            shutil.rmtree(folder, ignore_errors=True)
        lock.close()
