"""Rows that several processes share, in one process of a test."""

import copy
import threading
from pathlib import Path

from server.keys.shared_traffic import COMMON_WORDS, OWN_WORDS
from server.runtime.processes.shared_rows import SharedRows


def rows_of(count: int, folder: Path, num_rows: int = 64) -> list[SharedRows]:
    """The same rows as each of `count` processes has them."""
    made = SharedRows(count, COMMON_WORDS, OWN_WORDS, num_rows)
    forks = [copy.copy(made) for _ in range(count)]
    for fork in forks:
        fork._thread_lock, fork._known = threading.Lock(), {}
        fork.open(folder / "rows.lock")
    return forks
