"""CPU cores that this process may use: its affinity, and the quotas of its cgroups, which containers set."""

import math
import os
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
PROCESS_GROUPS = Path("/proc/self/cgroup")


def usable_cores(cgroups: Path = CGROUPS, process_groups: Path = PROCESS_GROUPS, affinity: int | None = None) -> int:
    """Cores that this process may use, at least 1. A quota of 1.5 cores counts as 2, the second idle half of the time.

    `cgroups`: the mount point of control groups; `process_groups`: the file that lists the process' groups; `affinity`:
    cores that it may be scheduled on, by default read from the system. A file that cannot be read sets no limit.
    """
    if affinity is None:  # other systems than Linux have none
        affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota(cgroups, process_groups)
    return max(1, affinity if quota is None else min(affinity, math.ceil(quota)))


def cpu_quota(cgroups: Path, process_groups: Path) -> float | None:
    """The smallest quota, in cores, of the process' cgroups and those above them; None without any."""
    quotas = []
    for folder in _folders(cgroups, _text(process_groups)):
        quota = _quota_v2(folder) if (folder / "cpu.max").exists() else _quota_v1(folder)
        if quota is not None:
            quotas.append(quota)
    return min(quotas, default=None)


def _folders(cgroups: Path, listed: str) -> list[Path]:
    """Folders of the groups in lines such as `0::/a/b` (version 2) and `4:cpu,cpuacct:/a/b` (version 1), from the
    group up to the mount. In a container the path may be the host's: then only the mount exists."""
    folders: dict[Path, None] = {}
    for line in listed.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            mounts = [cgroups, cgroups / "unified"]
        elif "cpu" in controllers.split(","):
            mounts = [cgroups / controllers, cgroups / "cpu", cgroups / "cpu,cpuacct"]
        else:
            continue
        parts = [part for part in path.split("/") if part not in ("", ".", "..")]
        for mount in mounts:
            folders.update(dict.fromkeys(mount.joinpath(*parts[:depth]) for depth in range(len(parts), -1, -1)))
    return list(folders)


def _quota_v2(folder: Path) -> float | None:
    """`cpu.max` has "150000 100000" (microseconds in each period), or "max 100000"."""
    words = _text(folder / "cpu.max").split()
    return _ratio(words[0], words[1]) if len(words) == 2 else None


def _quota_v1(folder: Path) -> float | None:
    """A quota of -1 is no quota."""
    return _ratio(_text(folder / "cpu.cfs_quota_us").strip(), _text(folder / "cpu.cfs_period_us").strip())


def _ratio(quota: str, period: str) -> float | None:
    if not (quota.isascii() and quota.isdecimal() and period.isascii() and period.isdecimal()):
        return None
    return int(quota) / int(period) if int(quota) and int(period) else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
