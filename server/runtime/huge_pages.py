"""Moves a process's memory to huge pages (Linux), so that a step that reads all weights misses the TLB less often.

See `madvise(2)` and the kernel's admin-guide/mm/transhuge. Other systems, and those that never use huge pages, keep
what they have.
"""

import contextlib
import ctypes
import errno
import functools
import mmap
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from server.runtime.process_memory import resident_bytes

SYSTEM_SETTINGS: Final = Path("/sys/kernel/mm/transparent_hugepage")
MAPS: Final = Path("/proc/self/maps")
MIN_RESIDENT: Final = 7 / 8
"""Part of a huge page that must be resident: the rest becomes resident, too."""
LARGE_BYTES: Final = 4 * 2**20
MADV_HUGEPAGE: Final = 14
"""The kernel moves the memory in the background, 16 MiB in 10 seconds by default."""
MADV_COLLAPSE: Final = 25
"""The kernel moves the memory before the call returns; from Linux 6.1 on."""

Range = tuple[int, int]
"""Addresses: the first one, and the one behind the last."""


@contextlib.contextmanager
def huge_pages() -> Iterator[None]:
    """Around what loads a model: afterwards its memory is in huge pages, and the rest of the process's, too, if it has
    grown by LARGE_BYTES."""
    before = resident_bytes()
    yield
    if resident_bytes() - before >= LARGE_BYTES:
        move_to_huge_pages()


def move_to_huge_pages() -> int:
    """Move what is resident of this process's private anonymous memory, where a huge page would be MIN_RESIDENT full
    or more. Takes about 3 ms for each that was none before. Returns the bytes for which the kernel agreed."""
    size = huge_page_bytes()
    if not size:
        return 0
    agreed = 0
    for start in huge_page_starts(anonymous_ranges(), size, _resident_of):
        failure = _advise(start, size, MADV_COLLAPSE)
        if failure == errno.EINVAL:  # an older kernel
            failure = _advise(start, size, MADV_HUGEPAGE)
        agreed += 0 if failure else size
    return agreed


def huge_page_bytes() -> int:
    """Bytes of a huge page; 0 where the system has none or never uses them."""
    if sys.platform != "linux":
        return 0
    try:
        if "[never]" in (SYSTEM_SETTINGS / "enabled").read_text(encoding="ascii"):
            return 0
        return int((SYSTEM_SETTINGS / "hpage_pmd_size").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def anonymous_ranges() -> Iterator[Range]:
    """The private memory of this process that can be written and belongs to no file; none where /proc has no maps."""
    try:
        lines = MAPS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        addresses, permissions, _, _, inode, *name = line.split(maxsplit=5)
        if permissions == "rw-p" and inode == "0" and name in ([], ["[heap]"]):
            start, end = (int(address, 16) for address in addresses.split("-"))
            yield start, end


def huge_page_starts(ranges: Iterator[Range], size: int, resident_bytes: Callable[[int, int], int]) -> Iterator[int]:
    """Addresses where huge pages of `size` bytes fit into a range and are full enough. `resident_bytes(start, size)`
    tells how many bytes are resident."""
    for first, end in ranges:
        for start in range(-(-first // size) * size, end - size + 1, size):
            if resident_bytes(start, size) >= MIN_RESIDENT * size:
                yield start


def _resident_of(start: int, size: int) -> int:
    """0 where the range is not mapped any more."""
    page = mmap.PAGESIZE
    resident = ctypes.create_string_buffer(size // page)
    if _libc().mincore(ctypes.c_void_p(start), ctypes.c_size_t(size), resident):
        return 0
    return sum(status & 1 for status in resident.raw) * page


def _advise(start: int, size: int, advice: int) -> int:
    """0, or the error's number."""
    failed = _libc().madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), advice)
    return ctypes.get_errno() if failed else 0


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
