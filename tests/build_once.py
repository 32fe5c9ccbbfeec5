"""Shared test data of parallel test processes: the first process that needs it builds it."""

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path


def build_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """`folder`, filled by `make` unless another process did so; other processes wait. Tests only read it."""
    made = folder.with_name(f"{folder.name}.made")
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # left by a process that failed
            folder.mkdir()
            make(folder)
            made.touch()
    return folder
