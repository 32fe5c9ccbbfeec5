"""Two paths exchange their places in one step of the file system (renameat2(2) with RENAME_EXCHANGE)."""

import ctypes
import os
from pathlib import Path

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
"""fcntl.h and stdio.h of Linux."""


def exchange(first: Path, second: Path) -> bool:
    """Whether the two, which exist, were exchanged: at no moment is one of the names missing. False, with nothing
    changed, where this is not possible: on systems other than Linux, and on file systems without it (NFS)."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    status: int = rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE)
    return status == 0
