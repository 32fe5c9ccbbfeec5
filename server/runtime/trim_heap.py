"""Frees memory when nobody waits for it, and gives it back to the system."""

import ctypes
import gc
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

POLL_SECONDS: Final = 0.25
"""Seconds between two looks whether a full collection is due."""
DUE_AFTER: Final = 10
"""Collections of the middle generation, each after 7,000 new objects that stay, after which a full one is due."""
OVERDUE_AFTER: Final = 500
"""The same, after which a full collection waits for no pause: 3.5 million new objects."""
_NEVER: Final = 10**9


def collect() -> None:
    """Free what only cycles hold, and keep all that is left from later automatic collections, which else look through
    every module, model and route again while all threads wait: a quarter of a second with many requests. It takes that
    long itself: for rare moments, when a server has started or a model was unloaded."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class FullCollections:
    """Has Python's full garbage collections done while the server is idle. They look at every object while all threads
    wait, a tenth of a second with the sentences of a large request, and Python would start them in the midst of it."""

    def __init__(self, is_idle: Callable[[], bool]) -> None:
        self._is_idle = is_idle

    def start(self) -> None:
        """Leave only young objects to automatic collections, and start a thread that does the rest. It takes no
        lock."""
        gc.set_threshold(*gc.get_threshold()[:2], _NEVER)
        threading.Thread(target=self._run, name="full-collections", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(POLL_SECONDS)
            self.collect_if_due()

    def collect_if_due(self) -> None:
        """Collect if it is due."""
        rounds = gc.get_count()[2]
        if rounds >= OVERDUE_AFTER or (rounds >= DUE_AFTER and self._is_idle()):
            gc.collect()


def trim_heap() -> None:
    """`collect`, then return free memory to the system, which glibc else keeps for later."""
    collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:  # only glibc has it
            trim(0)
