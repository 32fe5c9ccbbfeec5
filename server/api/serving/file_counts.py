"""The files of clients, counted together by all processes of a server, in memory that all see."""

import contextlib
from collections.abc import Iterator

from server.runtime.processes.shared_rows import SharedRows
from server.scheduling.shared_budget import SharedBudget

NUMBER, BYTES = 0, 1
"""Words of each process in a row: files, and their bytes."""
OWN_WORDS = 2
_ALL = ""
"""The row of all owners together; an owner's begins with ":"."""


class SharedFileBudget(SharedBudget):
    """A SharedBudget of all processes: what each holds is in one word of an owner's row. Within `rows.locked`. When all
    rows are taken, the owners that are left count in each process by itself."""

    def __init__(self, limit: int, rows: SharedRows, slot: int, word: int) -> None:
        super().__init__(limit)
        self._rows, self._slot, self._word = rows, slot, word

    def held(self, owner: str) -> int:
        row = self._rows.find(f":{owner}")
        return super().held(owner) if row is None else self._sum(row)

    @property
    def of_all(self) -> int:
        row = self._rows.find(_ALL)
        return self.total if row is None else self._sum(row)

    def _sum(self, row: int) -> int:
        places = (self._rows.own(row, slot) + self._word for slot in range(self._rows.count))
        return sum(self._rows.integers[place] for place in places)

    def acquire(self, owner: str, amount: int) -> None:
        super().acquire(owner, amount)
        self._add(owner, amount)

    def release(self, owner: str, amount: int) -> None:
        super().release(owner, amount)
        self._add(owner, -amount)

    def _add(self, owner: str, amount: int) -> None:
        for name in (_ALL, f":{owner}"):
            row = self._rows.find(name)
            if row is not None:
                self._rows.integers[self._rows.own(row, self._slot) + self._word] += amount


def forget_files(rows: SharedRows, slot: int) -> None:
    """The process of this slot has ended, and its files with it."""
    with rows.locked():
        for row in rows.rows():
            own = rows.own(row, slot)
            rows.integers[own + NUMBER] = rows.integers[own + BYTES] = 0


class SharedFileCounts:
    """Use it from one thread."""

    def __init__(self, rows: SharedRows, slot: int) -> None:
        self._rows, self._slot, self._is_locked = rows, slot, False

    def budget(self, limit: int, word: int) -> SharedBudget:
        return SharedFileBudget(limit, self._rows, self._slot, word)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """No other process counts meanwhile; a block within it changes nothing."""
        if self._is_locked:
            yield
            return
        with self._rows.locked():
            self._is_locked = True
            try:
                yield
            finally:
                self._is_locked = False
