"""Usable cores, from cgroup files as in containers."""

import os
from pathlib import Path

import pytest

from server.runtime.cpu_cores import cpu_quota, usable_cores


def files(folder: Path, contents: dict[str, str]) -> Path:
    for name, text in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="ascii")
    return folder


V2 = "0::/\n"
V2_DEEP = "0::/kubepods/pod1/box\n"
V1 = "12:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n1:name=systemd:/docker/x\n"
DEEP = "cpu,cpuacct/docker/x"
CASES: list[tuple[str, dict[str, str], float | None]] = [
    (V2, {"cpu.max": "150000 100000\n"}, 1.5),
    (V2, {"cpu.max": "max 100000\n"}, None),
    (V2, {"cpu.max": "nonsense"}, None),
    (V2, {"cpu.max": "0 100000\n"}, None),
    (V2, {}, None),
    ("", {"cpu.max": "100000 100000\n"}, None),
    # The quota of the group, of a group above, and the smaller one of both.
    (V2_DEEP, {"kubepods/pod1/box/cpu.max": "300000 100000\n"}, 3),
    (V2_DEEP, {"kubepods/pod1/box/cpu.max": "max 100000\n", "kubepods/cpu.max": "200000 100000\n"}, 2),
    (V2_DEEP, {"kubepods/pod1/box/cpu.max": "100000 100000\n", "kubepods/cpu.max": "200000 100000\n"}, 1),
    # The path is the host's, the mount is the container's.
    (V2_DEEP, {"cpu.max": "50000 100000\n"}, 0.5),
    ("0::/../../escaped\n", {"escaped/cpu.max": "50000 100000\n"}, 0.5),
    (V1, {f"{DEEP}/cpu.cfs_quota_us": "250000\n", f"{DEEP}/cpu.cfs_period_us": "100000\n"}, 2.5),
    (V1, {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
    (V1, {"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "50000\n"}, 2),
    (V1 + V2, {"unified/cpu.max": "400000 100000\n"}, 4),
]  # fmt: skip


@pytest.mark.parametrize(("listed", "contents", "quota"), CASES)
def test_quotas(tmp_path: Path, listed: str, contents: dict[str, str], quota: float | None) -> None:
    groups, own = files(tmp_path / "groups", contents), files(tmp_path, {"own": listed}) / "own"
    assert cpu_quota(groups, own) == quota
    whole = 16 if quota is None else max(1, -(-quota // 1))
    assert usable_cores(groups, own, affinity=16) == whole
    assert usable_cores(groups, own, affinity=1) == 1


def test_without_groups_it_is_the_affinity(tmp_path: Path) -> None:
    assert usable_cores(tmp_path / "none", tmp_path / "none", affinity=3) == 3
    mine = usable_cores()
    assert 1 <= mine <= (os.cpu_count() or 1)
    if hasattr(os, "sched_getaffinity"):
        assert mine <= len(os.sched_getaffinity(0))
