"""The parser processes that there are, as the system lists them."""

import os
from pathlib import Path

NAME = b"server.files.parser_process"


def parsers_of(parent: int | None = None) -> list[int]:
    """The ids of the parser processes that a process (default: this one) has, those included that have ended and are
    still listed."""
    return [pid for pid in _pids() if _parent(pid) == (parent or os.getpid()) and (_is_parser(pid) or _has_ended(pid))]


def is_running(pid: int) -> bool:
    """Whether there is a parser process with this id that has not ended."""
    return _is_parser(pid) and not _has_ended(pid)


BUSY_TICKS = 90
"""Ticks that a process has computed more when it is certainly at a file: it takes 25 to 60 to start."""


def cpu_ticks(pid: int) -> int:
    """What the process has computed so far, in ticks of the system; 0 where it is gone."""
    fields = _stat(pid)
    return int(fields[11]) + int(fields[12]) if fields else 0


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _is_parser(pid: int) -> bool:
    try:
        return NAME in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _has_ended(pid: int) -> bool:
    return _stat(pid)[:1] in (["Z"], ["X"])


def _parent(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def _stat(pid: int) -> list[str]:
    """The fields after the process's name: its state, its parent, ..."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
