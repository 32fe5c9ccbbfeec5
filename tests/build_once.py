"""What several processes of one run of the tests need: the first that needs it makes it."""

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path


def build_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """`folder`, filled by `make` unless another process did it; who comes meanwhile waits. Nobody may change it."""
    made = folder.with_name(f"{folder.name}.made")
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # what one that failed left behind
            folder.mkdir()
            make(folder)
            made.touch()
    return folder
