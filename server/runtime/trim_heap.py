"""Garbage collection at idle times, and returning free memory to the system."""

import ctypes
import gc
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

from server.runtime.process_memory import resident_bytes

POLL_SECONDS: Final = 0.25
"""Seconds between two checks whether a full collection is due."""
DUE_AFTER: Final = 10
"""Collections of the middle generation, each after 7,000 new live objects, after which a full collection is due."""
OVERDUE_AFTER: Final = 500
"""The same, after which a full collection does not wait for an idle server: 3.5 million new live objects."""
TRIM_AFTER: Final = 32 * 2**20
"""Bytes of growth after which an idle server returns what is free."""
_NEVER: Final = 10**9


def collect() -> None:
    """Collect garbage, and freeze the remaining objects, so that later automatic collections do not examine every
    module, model and route while all threads wait: 0.25 s with many requests. It takes as long itself: for a server's
    start and after a model was unloaded."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class IdleCleanup:
    """Collects garbage and returns free memory while the server is idle.

    A full collection examines every object while all threads wait, 0.1 s with the sentences of a large request, and
    Python would start it during such a request. glibc keeps what a large request has freed: returning it takes up to
    0.07 s, during which other threads wait for memory."""

    def __init__(self, is_idle: Callable[[], bool], resident: Callable[[], int] = resident_bytes) -> None:
        """`resident`: bytes of resident memory."""
        self._is_idle, self._resident = is_idle, resident
        self._least = resident()
        """Resident bytes after the last trim, or fewer since."""

    def start(self) -> None:
        """Limit automatic collections to young objects, and start a thread for the others. It acquires no lock."""
        gc.set_threshold(*gc.get_threshold()[:2], _NEVER)
        threading.Thread(target=self._run, name="idle-cleanup", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(POLL_SECONDS)
            self.collect_if_due()
            self.trim_if_grown()

    def collect_if_due(self) -> None:
        """Collect if a full collection is due."""
        rounds = gc.get_count()[2]
        if rounds >= OVERDUE_AFTER or (rounds >= DUE_AFTER and self._is_idle()):
            gc.collect()

    def trim_if_grown(self) -> None:
        """Return free memory to the system if resident memory has grown by TRIM_AFTER and the server is idle."""
        now = self._resident()
        self._least = min(self._least, now)
        if now >= self._least + TRIM_AFTER and self._is_idle():
            trim_heap()
            self._least = self._resident()


def trim_heap() -> None:
    """Return free memory to the system, which glibc otherwise keeps."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:  # glibc only
            trim(0)
