"""A lock on a folder that ends with the process that holds it, however that ends (flock(2))."""

import os
from pathlib import Path


def lock_folder(folder: Path) -> int | None:
    """Lock a folder until the returned number is closed (`unlock`), or the process ends. None where the system or the
    file system has no such locks. Raises BlockingIOError where another process has locked it, and FileNotFoundError
    where it is gone, or is another folder by now."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(handle), os.stat(folder)):
            raise FileNotFoundError(f"{folder} was replaced")
    except (BlockingIOError, FileNotFoundError):
        os.close(handle)
        raise
    except OSError:  # such as NFS without locks
        os.close(handle)
        return None
    return handle


def unlock(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)
