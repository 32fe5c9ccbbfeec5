"""Rows of numbers by name, in memory that all processes of a server share."""

import contextlib
import hashlib
import mmap
import os
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

_DIGEST_WORDS = 2
_HEAD_WORDS = 1


class SharedRows:
    """A row has `common` words of all processes, and `own` words of each of `count` processes; a word is 8 bytes, an
    integer in `integers` and a float in `floats`. Rows begin with zeros and stay. Make it before the processes are
    forked; each opens it then. A lock that a process holds is free when the process ends, however it ends."""

    def __init__(self, count: int, common: int, own: int, num_rows: int = 2**14) -> None:
        self.count, self._common, self._own, self._num_rows = count, common, own, num_rows
        self._width = _DIGEST_WORDS + common + own * count
        memory = memoryview(mmap.mmap(-1, 8 * (_HEAD_WORDS + self._width * num_rows)))
        self.integers, self.floats = memory.cast("q"), memory.cast("d")
        self._thread_lock = threading.Lock()
        self._file = -1
        self._known: dict[tuple[int, int], int] = {}
        """Digest -> row, of the rows that this process has seen."""

    def open(self, file: Path) -> None:
        """`file` is empty and only locked; the same for all processes."""
        if self._file >= 0:  # the supervisor's, whose lock would be this process' as well
            os.close(self._file)
        self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """A block in which no other process reads or writes; for some microseconds."""
        import fcntl

        with self._thread_lock:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def find(self, name: str) -> int | None:
        """Where the common words of this name begin; a new row if there is none. Within `locked`. None if all rows are
        taken."""
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
        wanted: tuple[int, int] = struct.unpack("<qq", digest[:16])
        for row in self.rows(len(self._known)):
            self._known[self.integers[row - 2], self.integers[row - 1]] = row
        if wanted not in self._known:
            number = self.integers[0]
            if number == self._num_rows:
                return None
            row = self._row(number)
            self.integers[row - 2], self.integers[row - 1] = wanted
            self.integers[0] = number + 1
            self._known[wanted] = row
        return self._known[wanted]

    def own(self, row: int, slot: int) -> int:
        """Where a process' words of a row begin."""
        return row + self._common + self._own * slot

    def rows(self, first: int = 0) -> Iterator[int]:
        """All rows from number `first` on. Within `locked`."""
        return map(self._row, range(first, self.integers[0]))

    def _row(self, number: int) -> int:
        return _HEAD_WORDS + self._width * number + _DIGEST_WORDS


class FileLock:
    """A lock of processes; within one process, of one thread. It is free when its process ends."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def acquire(self) -> None:
        """Blocks."""
        import fcntl

        fcntl.flock(self._file, fcntl.LOCK_EX)

    def try_acquire(self) -> bool:
        import fcntl

        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        import fcntl

        fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Forks that have it as well keep what was acquired."""
        os.close(self._file)
