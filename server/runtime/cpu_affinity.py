"""On which CPUs the kernel may run a thread (`sched_setaffinity(2)`). Elsewhere than on Linux nothing changes."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Set
from typing import Final

UNKNOWN: Final = -1


def _getcpu() -> Callable[[], int]:
    """sched_getcpu(3), called with the GIL: it takes less time than giving the GIL to another thread."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError, OSError):
            found: Callable[[], int] = ctypes.PyDLL(None).sched_getcpu
            return found
    return lambda: UNKNOWN


current_cpu: Final = _getcpu()
"""The CPU on which the calling thread runs; UNKNOWN where the system does not tell."""


def keep_off(cpus: Set[int]) -> bool:
    """From now on run the calling thread on none of `cpus`; it is on another one when this returns. False, with nothing
    changed, where the process may use no others."""
    if sys.platform != "linux":
        return False
    with contextlib.suppress(OSError):
        if others := _cpus_of_process() - cpus:
            os.sched_setaffinity(0, others)
            return True
    return False


def allow_all() -> None:
    """Run the calling thread on any CPU of the process again."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, _cpus_of_process())


def _cpus_of_process() -> set[int]:
    """Those of the main thread, which is never kept off any: an operator may have changed them."""
    return os.sched_getaffinity(os.getpid())
