"""Gives memory that is free back to the system."""

import ctypes
import gc
import sys


def give_back() -> None:
    """Free what only cycles hold, then return free memory to the system, which glibc else keeps for later. It takes a
    fraction of a second, in which no other Python code runs: for rare moments after which much memory is free."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:  # only glibc has it
            trim(0)
