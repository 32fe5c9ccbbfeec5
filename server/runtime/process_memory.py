"""Memory of this process."""

import os
from pathlib import Path


def resident_bytes() -> int:
    """Resident memory in bytes; 0 where the system has no such figure."""
    return _statm(1)


def address_space_bytes() -> int:
    """Size of the address space in bytes; 0 where the system has no such figure."""
    return _statm(0)


def _statm(column: int) -> int:
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[column]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
