"""Limits of a parser process: time, memory, size, rights."""

import os
import signal
from dataclasses import replace

import pytest

from server.files.formats.base import FileTooLarge
from server.files.limits import FileLimits
from server.files.parsing import Failure, SourceFile
from tests.server.files.pools import AMPLE, BUSY_FILE, SMALL, assert_works, needs_proc, parsers, pool_of, run

pytestmark = needs_proc


@pytest.mark.parametrize(
    ("limits", "message", "failure"),
    [
        (replace(AMPLE, cpu_seconds=0.5), "more than 0.5 seconds of processor time; split it", "cpu_time"),
        (replace(AMPLE, memory_bytes=32 * 2**20), "more than 32 MB of memory; split it", "memory"),
    ],
)
def test_a_file_that_costs_too_much_is_refused(limits: FileLimits, message: str, failure: Failure) -> None:
    async def scenario() -> None:
        async with pool_of(limits, failures=[failure]) as pool:
            with pytest.raises(FileTooLarge, match=message):
                await pool.texts(BUSY_FILE)
            await assert_works(pool)

    run(scenario())


def test_xml_that_takes_too_much_memory_is_called_too_large_and_not_damaged() -> None:
    async def scenario() -> None:
        units = b"<trans-unit><source>Yes.</source></trans-unit>" * 100_000
        file = SourceFile(b'<xliff version="1.2"><file><body>' + units + b"</body></file></xliff>", "a.xliff", "de")
        async with pool_of(replace(AMPLE, memory_bytes=16 * 2**20), failures=["memory"]) as pool:
            with pytest.raises(FileTooLarge, match="16 MB of memory"):
                await pool.texts(file)
            await assert_works(pool)

    run(scenario())


def test_a_written_file_that_is_too_large_is_refused() -> None:
    async def scenario() -> None:
        async with pool_of(replace(AMPLE, max_written_bytes=1000)) as pool:
            assert len((await pool.write(SMALL, ["a" * 900])).data) > 900
            with pytest.raises(FileTooLarge, match="translated file is too large"):
                await pool.write(SMALL, ["a" * 1000])
            await assert_works(pool)

    run(scenario())


def test_a_process_that_stands_still_is_ended_in_time() -> None:
    """SIGSTOP: it uses no processor, so that only the time until the answer is left as a limit."""

    async def scenario() -> None:
        async with pool_of(replace(AMPLE, wall_seconds=3), failures=["wall_time"]) as pool:
            await pool.texts(SMALL)
            [pid] = parsers()
            os.kill(pid, signal.SIGSTOP)
            with pytest.raises(FileTooLarge, match="not done within 3 seconds"):
                await pool.texts(SMALL)
            await assert_works(pool)
            assert parsers() != [pid]

    run(scenario())


def test_a_process_has_no_secrets_and_few_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGMT_API_KEYS", "secret")

    async def scenario() -> None:
        async with pool_of(FileLimits()) as pool:
            await pool.texts(SMALL)
            [pid] = parsers()
            with open(f"/proc/{pid}/environ", encoding="utf-8") as file:
                assert "RINGMT" not in file.read()
            with open(f"/proc/{pid}/limits", encoding="utf-8") as file:
                limits = {line[:26].strip(): line[26:].split()[:2] for line in file}
            for name in ("Max core file size", "Max file size", "Max processes"):
                assert limits[name] == ["0", "0"], name
            assert int(limits["Max address space"][1]) <= FileLimits().memory_bytes + 64 * 2**20
            with open(f"/proc/{pid}/oom_score_adj", encoding="utf-8") as file:
                assert file.read().strip() == "1000"

    run(scenario())


def test_a_process_that_kept_much_memory_is_replaced() -> None:
    async def scenario() -> None:
        async with pool_of() as pool:
            await pool.texts(SMALL)
            [before] = parsers()
            units = b"<trans-unit><source>Yes <g>and</g> no.</source></trans-unit>" * 40_000
            large = b'<xliff version="1.2"><file><body>' + units + b"</body></file></xliff>"
            assert len(await pool.texts(SourceFile(large, "a.xliff", "de"))) == 40_000
            await assert_works(pool)
            assert parsers() != [before]

    run(scenario())
