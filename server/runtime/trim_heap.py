"""Garbage collection at idle times, and returning free memory to the system."""

import ctypes
import gc
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

POLL_SECONDS: Final = 0.25
"""Seconds between two checks whether a full collection is due."""
DUE_AFTER: Final = 10
"""Collections of the middle generation, each after 7,000 new live objects, after which a full collection is due."""
OVERDUE_AFTER: Final = 500
"""The same, after which a full collection does not wait for an idle server: 3.5 million new live objects."""
_NEVER: Final = 10**9


def collect() -> None:
    """Collect garbage, and freeze the remaining objects, so that later automatic collections do not visit every module,
    model and route while all threads wait: 0.25 s with many requests. It takes as long itself: for a server's start and
    after a model was unloaded."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class FullCollections:
    """Runs full garbage collections while the server is idle. A collection visits every object while all threads wait,
    0.1 s with the sentences of a large request, and Python would start it during such a request."""

    def __init__(self, is_idle: Callable[[], bool]) -> None:
        self._is_idle = is_idle

    def start(self) -> None:
        """Limit automatic collections to young objects, and start a thread for full collections. It acquires no
        lock."""
        gc.set_threshold(*gc.get_threshold()[:2], _NEVER)
        threading.Thread(target=self._run, name="full-collections", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(POLL_SECONDS)
            self.collect_if_due()

    def collect_if_due(self) -> None:
        """Collect if a full collection is due."""
        rounds = gc.get_count()[2]
        if rounds >= OVERDUE_AFTER or (rounds >= DUE_AFTER and self._is_idle()):
            gc.collect()


def trim_heap() -> None:
    """Return free memory to the system, which glibc otherwise keeps."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:  # glibc only
            trim(0)
