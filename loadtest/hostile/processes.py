"""Memory and processor time of a process and its descendants, from Linux's /proc."""

import contextlib
import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 0.01
_TICKS = os.sysconf("SC_CLK_TCK")


def memory_of(pid: int, name: str = "VmRSS") -> int:
    """Bytes of VmRSS or VmHWM; 0 if the process has ended."""
    with contextlib.suppress(OSError):
        match = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
        if match is not None:
            return int(match[1]) * 1024
    return 0


def reset_peak(pid: int) -> bool:
    """Reset VmHWM; False if that is not permitted."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
        return True
    return False


def processor_seconds(pid: int) -> float:
    """Of the process and its living descendants."""
    return sum(map(_processor_seconds, (pid, *descendants(pid))))


def _processor_seconds(pid: int) -> float:
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS
    return 0.0


def descendants(pid: int) -> list[int]:
    """Children, their children, and so on."""
    pids: list[int] = []
    for task in _tasks(pid):
        with contextlib.suppress(OSError, ValueError):
            for child in map(int, (task / "children").read_text(encoding="ascii").split()):
                pids += [child, *descendants(child)]
    return pids


def _tasks(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


@dataclass
class Peaks:
    """Bytes."""

    own: int = 0
    children: int = 0


class MemoryWatch:
    """Watches the memory of a process and its descendants until `close`. Kills the process if they take more than
    `most` bytes, so that no input exhausts the memory of the measuring machine."""

    def __init__(self, pid: int, most: int) -> None:
        self.peaks = Peaks()
        self.killed = False
        self._pid, self._most = pid, most
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._has_own_peak = reset_peak(pid)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            own, children = memory_of(self._pid), sum(map(memory_of, descendants(self._pid)))
            self.peaks = Peaks(max(self.peaks.own, own), max(self.peaks.children, children))
            if own + children > self._most and not self.killed:
                self.killed = True
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._pid, 9)

    def close(self) -> Peaks:
        self._ended.set()
        self._thread.join()
        if self._has_own_peak:
            self.peaks.own = max(self.peaks.own, memory_of(self._pid, "VmHWM"))
        return self.peaks
