"""How many processes there are, and what each gets."""

import dataclasses

import pytest

from server.cli.process_shape import blas_threads, described, divided, num_processes
from server.runtime.setting_fields import SettingsError
from server.settings import EngineSettings, Settings

SHARED = Settings(context_store="sqlite:///a.db")


@pytest.mark.parametrize(("cores", "count"), [(1, 1), (2, 1), (4, 1), (5, 2), (8, 2), (64, 16), (2000, 256)])
def test_auto_is_one_process_for_every_four_cores(cores: int, count: int) -> None:
    assert num_processes(dataclasses.replace(SHARED, processes="auto"), cores) == count


def test_several_processes_need_a_store_that_they_share() -> None:
    assert num_processes(Settings(), 64) == 1
    assert num_processes(Settings(processes="auto"), 4) == 1
    for wanted in ("2", "auto"):
        with pytest.raises(SettingsError, match="--context-store sqlite:///PATH or redis://"):
            num_processes(Settings(processes=wanted), 64)
    with pytest.raises(SettingsError, match="at most 256"):
        num_processes(dataclasses.replace(SHARED, processes="257"), 64)


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_say_what_to_do(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", platform)
    with pytest.raises(SettingsError, match="on Linux only; here, start servers on ports of their own"):
        num_processes(dataclasses.replace(SHARED, processes="2"), 8)


@pytest.mark.parametrize("wrong", ["0", "-1", "two", "1000", "1.5", ""])
def test_what_is_no_number_of_processes_is_refused(wrong: str) -> None:
    with pytest.raises(SettingsError, match="processes"):
        Settings(processes=wrong)


@pytest.mark.parametrize(
    ("count", "cores", "threads", "slots"), [(2, 2, 1, 16), (2, 8, 4, 32), (16, 64, 4, 32), (4, 2, 1, 8), (3, 8, 2, 16)]
)
def test_threads_and_slots_follow_the_cores_of_a_process(count: int, cores: int, threads: int, slots: int) -> None:
    share = divided(SHARED, count, cores)
    assert (share.engine.num_workers, share.engine.slots) == (threads, slots)
    assert f"{threads} decoding threads and {slots} slots" in described(share, count, cores)


def test_what_is_set_is_divided() -> None:
    engine = dataclasses.replace(EngineSettings(), num_workers=63, slots=100)
    share = divided(dataclasses.replace(SHARED, engine=engine, max_connections=1001), 4, 8)
    assert (share.engine.num_workers, share.engine.slots) == (16, 25)
    assert share.max_connections == 251


def test_limits_of_a_key_are_those_of_all_processes_together() -> None:
    share = divided(dataclasses.replace(SHARED, max_files=3), 4, 8)
    assert (share.max_files, share.max_files_bytes) == (3, SHARED.max_files_bytes)


def test_each_process_takes_the_largest_request() -> None:
    share = divided(SHARED, 16, 64)
    assert share.max_bodies_bytes >= SHARED.max_body_bytes
    assert share.max_files_bytes > SHARED.max_file_bytes
    assert share.engine.max_waiting == SHARED.engine.max_waiting


@pytest.mark.parametrize(
    ("words", "environ", "expected"),
    [
        (["--processes", "4"], {}, {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}),
        (["--processes=auto"], {"OMP_NUM_THREADS": "3"}, {"OPENBLAS_NUM_THREADS": "1"}),
        (["--port", "1"], {"RINGMT_PROCESSES": "2"}, {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}),
        (["--processes", "1"], {"RINGMT_PROCESSES": "2"}, {}),
        ([], {}, {}),
    ],
)
def test_blas_has_no_threads_of_its_own_in_several_processes(
    words: list[str], environ: dict[str, str], expected: dict[str, str]
) -> None:
    assert blas_threads(words, environ) == expected
