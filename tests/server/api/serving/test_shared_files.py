"""Files of two processes, here in one event loop, are counted and make room for each other as those of one process."""

import asyncio
import copy
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from server.api.requests.errors import ApiError
from server.api.serving.file_counts import BYTES, NUMBER, OWN_WORDS, SharedFileCounts, forget_files
from server.api.serving.file_jobs import FileJobs
from server.api.serving.finished_files import FileReservation, FinishedFile, FinishedFiles
from server.api.serving.shared_files import SharedFiles
from server.runtime.processes.peers import Peers
from server.runtime.processes.shared_rows import SharedRows

HOUR = 3600.0
MAX_FILES, MAX_BYTES = 3, 30


def rows_of(count: int, folder: Path, num_rows: int = 64) -> list[SharedRows]:
    """The same rows as each of `count` processes has them."""
    made = SharedRows(count, 0, OWN_WORDS, num_rows)
    forks = [copy.copy(made) for _ in range(count)]
    for fork in forks:
        fork._thread_lock, fork._known = threading.Lock(), {}
        fork.open(folder / "files.lock")
    return forks


def files_of(rows: SharedRows, slot: int) -> FinishedFiles:
    return FinishedFiles(MAX_FILES, MAX_BYTES, HOUR, f"{slot:02X}", SharedFileCounts(rows, slot))


actions = st.one_of(
    st.tuples(st.just("admit"), st.integers(0, 1), st.sampled_from(["a", "b"]), st.integers(1, 35)),
    st.tuples(st.sampled_from(["finish", "remove"]), st.integers(0, 9), st.just(""), st.integers(0, 40)),
)


FULL = [
    action for number in range(MAX_FILES) for action in (("admit", number % 2, "a", 1), ("finish", number, "", 1))
]  # finished files of one owner, in both processes


@example(work=[*FULL, ("admit", 1, "a", 1)])
@example(work=[*FULL, ("admit", 0, "a", 29)])
@given(work=st.lists(actions, min_size=3, max_size=25))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_two_processes_admit_and_forget_what_one_does(work: list[tuple[str, int, str, int]]) -> None:
    """The twin is one process without shared counts. Here each file is (that of the two, the twin's)."""

    async def run(folder: Path, peers: list[Peers]) -> None:
        rows = rows_of(2, folder)
        both = [FileJobs(files_of(rows[slot], slot), HOUR) for slot in range(2)]
        for each, other in zip(both, peers, strict=True):
            each.free_space = SharedFiles(each.files, other).free_space
            await other.open()
        twin, kept = FinishedFiles(MAX_FILES, MAX_BYTES, HOUR), list[tuple[FileReservation, FileReservation]]()
        one = FileJobs(twin, HOUR)
        for what, which, owner, size in work:
            if what == "admit":
                expected, found = await outcome(one, owner, size), await outcome(both[which], owner, size)
                if isinstance(found, FileReservation) and isinstance(expected, FileReservation):
                    kept.append((found, expected))
                else:
                    assert found == expected
            elif which < len(kept):
                for file in kept[which]:
                    if what == "remove":
                        file.files.remove(file)
                    elif file.outcome is None and file.id in file.files._reservations:
                        file.files.keep(file, FinishedFile(b"x" * size, "a.txt", "text/plain"))
            for found_file, of_twin in kept:
                assert (found_file.id in found_file.files._reservations) == (of_twin.id in twin._reservations)
        assert sum(jobs.files.num_files for jobs in both) == twin.num_files

    async def opened(folder: Path) -> None:
        peers = [Peers(folder, slot, 2) for slot in range(2)]
        try:
            await run(folder, peers)
        finally:
            for peer in peers:
                peer.close()
            await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(opened(Path(folder)))


async def outcome(jobs: FileJobs, owner: str, size: int) -> FileReservation | str:
    try:
        return await jobs.admit(owner, size)
    except ApiError as error:
        return error.message


def test_the_files_of_a_process_that_has_ended_are_not_counted(tmp_path: Path) -> None:
    a, b = rows_of(2, tmp_path)
    first, second = files_of(a, 0), files_of(b, 1)
    for _ in range(MAX_FILES):
        first.admit("a", 1)
    with pytest.raises(ApiError, match="too many files"):
        second.admit("a", 1)
    forget_files(b, 0)
    second.admit("a", 1)
    counts = SharedFileCounts(b, 1)
    with counts.locked():
        assert [counts.budget(9, word).held("a") for word in (NUMBER, BYTES)] == [1, 1]


def test_owners_for_whom_no_row_is_left_count_in_each_process(tmp_path: Path) -> None:
    a, b = rows_of(2, tmp_path, num_rows=2)
    first, second = files_of(a, 0), files_of(b, 1)
    first.admit("known", 1)
    for files, count in ((first, 2), (second, 1)):  # if it were counted in both, its third file would be refused
        for _ in range(count):
            files.admit("unknown", 1)
    known = rows_of(2, tmp_path, num_rows=3)
    first, second = files_of(known[0], 0), files_of(known[1], 1)
    first.admit("known", 1)
    for _ in range(2):
        first.admit("unknown", 1)
    with pytest.raises(ApiError, match="too many files"):
        second.admit("unknown", 1)
