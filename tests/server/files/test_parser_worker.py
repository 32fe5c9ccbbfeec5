"""A parser process that crashes, ends, gets signals, or is started in another folder."""

import os
import signal
from dataclasses import replace
from typing import Any

import pytest

from server.files.formats.base import DamagedFile, FileError, FileTooLarge
from server.files.parsing import Failure
from tests.server.files.pools import BUSY_FILE, SMALL, assert_works, busy_with, needs_proc, parsers, pool_of, run, until
from tests.server.files.processes import is_running
from tests.server.files.some import BUSY

pytestmark = needs_proc


@pytest.mark.parametrize(
    ("number", "error", "failure"),
    [
        (signal.SIGSEGV, DamagedFile, "crash"),
        (signal.SIGABRT, DamagedFile, "crash"),
        (signal.SIGKILL, FileTooLarge, "memory"),
    ],
)
def test_a_process_that_breaks_down_is_the_file_s_error(
    number: signal.Signals, error: type[FileError], failure: Failure
) -> None:
    async def scenario() -> None:
        async with pool_of(failures=[failure]) as pool:
            reading, pid = await busy_with(pool, BUSY_FILE)
            os.kill(pid, number)
            with pytest.raises(error):
                await reading
            await assert_works(pool)

    run(scenario())


def test_a_process_that_ended_while_idle_costs_no_file() -> None:
    async def scenario() -> None:
        async with pool_of() as pool:
            await pool.texts(SMALL)
            [pid] = parsers()
            os.kill(pid, signal.SIGKILL)
            await until(lambda: not is_running(pid), "it has ended")
            await assert_works(pool)

    run(scenario())


def test_signals_for_the_whole_group_leave_work_alone() -> None:
    """Ctrl-C and a service manager's stop reach every process; the server is to finish what is in flight."""

    async def scenario() -> None:
        async with pool_of() as pool:
            file = replace(BUSY_FILE, data=BUSY[: len(BUSY) // 5])
            reading, pid = await busy_with(pool, file)
            os.kill(pid, signal.SIGTERM)
            os.kill(pid, signal.SIGINT)
            assert len(await reading) == 24_000

    run(scenario())


def test_the_package_is_the_server_s_own_wherever_it_was_started(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "server").mkdir()
    (tmp_path / "server/__init__.py").write_text("raise SystemExit('another package of this name')")
    (tmp_path / "json.py").write_text("raise SystemExit('not the standard library')")
    monkeypatch.chdir(tmp_path)

    async def scenario() -> None:
        async with pool_of() as pool:
            await assert_works(pool)

    run(scenario())
