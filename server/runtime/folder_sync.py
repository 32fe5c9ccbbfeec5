"""Names of files that survive a power cut."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Wait until a folder's list of names is on the disk (fsync(2)): a file that was created or renamed before has its
    name there. Raises OSError."""
    if os.name == "nt":
        return  # there folders cannot be opened
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
