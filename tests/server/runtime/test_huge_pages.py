"""Memory in huge pages."""

import ctypes
import errno
import mmap
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.runtime import huge_pages
from server.runtime.huge_pages import MADV_COLLAPSE, MADV_HUGEPAGE, MIN_RESIDENT

ROOT = Path(__file__).parents[3]
MIB = 2**20
can_collapse = pytest.mark.skipif(
    not huge_pages.huge_page_bytes() or tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (6, 1),
    reason="this system moves no memory at once",
)


class Memory:
    """Private memory that belongs to no file, resident but for its last part."""

    def __init__(self, resident: int, absent: int = 0) -> None:
        self.content = os.urandom(resident)
        self.map = mmap.mmap(-1, resident + absent, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.map.madvise(mmap.MADV_DONTFORK)  # a range of its own: no other memory is like it
        self.map[:resident] = self.content
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.end = self.start + resident + absent

    @property
    def huge_bytes(self) -> int:
        total, overlaps = 0, False
        for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
            if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
                start, end = (int(each, 16) for each in found.groups())
                overlaps = start < self.end and self.start < end
            elif overlaps and (found := re.match(r"AnonHugePages:\s+(\d+) kB", line)):
                total += int(found[1]) * 1024
        return total


@can_collapse
def test_memory_is_moved_and_stays_as_it_is() -> None:
    size = huge_pages.huge_page_bytes()
    memory = Memory(4 * size)
    assert huge_pages.move_to_huge_pages() >= 3 * size
    assert memory.huge_bytes >= 3 * size
    assert memory.map[:] == memory.content


@can_collapse
def test_memory_of_which_little_is_used_is_not_made_resident() -> None:
    size = huge_pages.huge_page_bytes()
    memory = Memory(size, absent=16 * size)
    for part in range(1, 17):
        memory.map[part * size + size // 2] = 1
    if memory.huge_bytes:
        pytest.skip("this system has huge pages without being asked")
    huge_pages.move_to_huge_pages()
    assert sum(huge_pages._resident_of(start, size) for start in range(memory.start, memory.end, size)) <= 3 * size


@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), max_size=5),
    st.integers(1, 16),
    st.sets(st.integers(0, 400)),
)
def test_huge_pages_fit_into_ranges_and_are_nearly_full(
    ranges: list[tuple[int, int]], size: int, resident: set[int]
) -> None:
    """Beside every page at every address."""

    def resident_bytes(start: int, count: int) -> int:
        return len(resident & set(range(start, start + count)))

    spans = [(start, start + length) for start, length in ranges]
    expected = [
        start
        for first, end in spans
        for start in range(0, 401)
        if start % size == 0
        and first <= start
        and start + size <= end
        and resident_bytes(start, size) >= MIN_RESIDENT * size
    ]
    assert list(huge_pages.huge_page_starts(iter(spans), size, resident_bytes)) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="/proc lists the ranges")
def test_files_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_bytes(bytes(4 * MIB))
    own = Memory(4 * MIB)
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0, flags=mmap.MAP_PRIVATE) as mapped:
        mapped[:] = bytes(4 * MIB)
        holder = ctypes.c_char.from_buffer(mapped)
        address = ctypes.addressof(holder)
        ranges = list(huge_pages.anonymous_ranges())
        assert not any(start <= address < end for start, end in ranges)
        assert any(start <= own.start < end for start, end in ranges)
        del holder


def test_a_sandbox_that_does_not_list_its_memory_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(huge_pages, "MAPS", tmp_path / "maps")
    assert huge_pages.move_to_huge_pages() == 0


@pytest.fixture
def advised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """What a kernel that refuses MADV_COLLAPSE is asked to do with three huge pages."""
    (tmp_path / "enabled").write_text("always [madvise] never\n")
    (tmp_path / "hpage_pmd_size").write_text("2097152\n")
    monkeypatch.setattr(huge_pages, "SYSTEM_SETTINGS", tmp_path)
    monkeypatch.setattr(huge_pages, "anonymous_ranges", lambda: iter([(0, 6 * MIB)]))
    monkeypatch.setattr(huge_pages, "_resident_of", lambda start, size: size)
    asked: list[int] = []

    def advise(start: int, size: int, advice: int) -> int:
        asked.append(advice)
        return errno.EINVAL if advice == MADV_COLLAPSE else 0

    monkeypatch.setattr(huge_pages, "_advise", advise)
    return asked


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is advised elsewhere")
def test_older_kernels_move_it_in_the_background(advised: list[int]) -> None:
    assert huge_pages.move_to_huge_pages() == 6 * MIB
    assert advised == [MADV_COLLAPSE, MADV_HUGEPAGE] * 3


@pytest.mark.parametrize("missing", ["enabled", "hpage_pmd_size"])
def test_a_system_that_has_none_is_not_asked(advised: list[int], missing: str) -> None:
    (huge_pages.SYSTEM_SETTINGS / missing).unlink()
    assert huge_pages.move_to_huge_pages() == 0
    assert advised == []


def test_a_system_that_never_uses_them_is_not_asked(advised: list[int]) -> None:
    (huge_pages.SYSTEM_SETTINGS / "enabled").write_text("always madvise [never]\n")
    assert huge_pages.move_to_huge_pages() == 0
    assert advised == []


@pytest.mark.parametrize(("grown", "moves"), [(0, False), (4 * MIB - 1, False), (4 * MIB, True)])
def test_small_models_move_nothing(monkeypatch: pytest.MonkeyPatch, grown: int, moves: bool) -> None:
    moved: list[bool] = []
    sizes = iter([100 * MIB, 100 * MIB + grown])
    monkeypatch.setattr(huge_pages, "resident_bytes", lambda: next(sizes))
    monkeypatch.setattr(huge_pages, "move_to_huge_pages", lambda: moved.append(True))
    with huge_pages.huge_pages():
        assert not moved
    assert bool(moved) == moves


LOAD = """
import re
from pathlib import Path
from server.artifact.artifact import Artifact
from server.backends.load import load_backend
def huge():
    return int(re.search(r"AnonHugePages:\\s+(\\d+)", Path("/proc/self/smaps_rollup").read_text())[1])
before = huge()
backend = load_backend(Artifact.load(Path("server/bundled/en-de")), "onnx", "int8")
print(huge() - before)
"""


@can_collapse
def test_weights_of_a_model_are_in_huge_pages() -> None:
    """Those of the bundled one are 9 MB at int8, of the encoder and of a step."""
    run = subprocess.run([sys.executable, "-c", LOAD], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert int(run.stdout) * 1024 >= 8 * MIB
