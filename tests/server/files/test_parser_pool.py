"""Files in processes of their own: the same texts and bytes as in one's own, limits, and nothing left behind."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

import pytest

from server.engine.request import EngineStopped
from server.files.formats.base import DamagedFile, FileError, FileTooLarge, UnsupportedFile
from server.files.in_process import InProcessParser
from server.files.limits import FileLimits
from server.files.parser_pool import ParserPool, TooManyFiles
from server.files.parsing import Failure, SourceFile
from tests.server.files.processes import BUSY_TICKS, cpu_ticks, is_running
from tests.server.files.processes import parsers_of as all_parsers
from tests.server.files.some import BUSY, small_files

PATIENCE = 60.0
ROOMY = FileLimits(cpu_seconds=100, wall_seconds=300, memory_bytes=4 * 2**30)
SMALL = SourceFile(b"<p>We <b>walk</b> home.</p>", "a.html", "de")
BUSY_FILE = SourceFile(BUSY, "busy.md", "de", max_characters=100_000_000)

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")


of_others: set[int] = set()
"""Parser processes of servers that other tests share."""


@pytest.fixture(autouse=True)
def known_others() -> None:
    of_others.clear()
    of_others.update(all_parsers())


def parsers() -> list[int]:
    """The ids of the parser processes of this test."""
    return [pid for pid in all_parsers() if pid not in of_others]


@contextlib.asynccontextmanager
async def pool_of(
    limits: FileLimits = ROOMY, size: int = 1, max_waiting: int = 64, failures: Sequence[Failure] = ()
) -> AsyncIterator[ParserPool]:
    """A pool that has counted these failures in the end."""
    counted: list[Failure] = []
    pool = ParserPool(limits, size, max_waiting, counted.append)
    try:
        yield pool
    finally:
        await pool.stop()
        assert parsers() == [], "processes are left behind"
    assert counted == list(failures)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 2 * PATIENCE))


async def until(condition: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < give_up, f"waited in vain until {what}"
        await asyncio.sleep(0.02)  # a look at all processes takes a millisecond


async def busy_with(pool: ParserPool, file: SourceFile) -> "tuple[asyncio.Task[list[str]], int]":
    """A task that reads the file, and the process that is at it."""
    [before] = parsers() or [0]
    ticks = cpu_ticks(before)
    reading = asyncio.create_task(pool.texts(file))
    await until(lambda: any(cpu_ticks(pid) >= ticks + BUSY_TICKS for pid in parsers()), "the file is being read")
    assert not reading.done()
    [pid] = parsers()
    return reading, pid


async def assert_well(pool: ParserPool) -> None:
    assert await pool.texts(SMALL) == await InProcessParser().texts(SMALL)


def test_texts_and_bytes_are_those_of_one_s_own_process() -> None:
    """Of one process, one file after the other: nothing of a file is left for the next, nor for its second time."""

    async def scenario() -> None:
        here = InProcessParser()
        async with pool_of() as pool:
            for name, data in sorted(small_files().items()):
                file = SourceFile(data, name, "de")
                texts = await pool.texts(file)
                assert texts == await here.texts(file), name
                assert texts, name
                translations = [text.replace("We", "Wir") for text in texts]
                assert await pool.write(file, translations) == await here.write(file, translations), name
                assert await pool.texts(file) == texts, f"something of the first time is left: {name}"
                assert len(parsers()) == 1, name

    run(scenario())


@pytest.mark.parametrize(
    "file",
    [
        SourceFile(b"x", "a.exe", "de"),
        SourceFile(b"nothing", "a.docx", "de"),
        SourceFile(b"\x81\xff", "a.txt", "de"),
        SourceFile(b"{", "a.json", "de"),
        SourceFile(b"<xliff>" + b"<a>" * 500, "a.xliff", "de"),
        SourceFile(b"a " * 50, "a.txt", "de", max_characters=99),
    ],
    ids=lambda file: file.name,
)
def test_errors_are_those_of_one_s_own_process(file: SourceFile) -> None:
    async def scenario() -> None:
        with pytest.raises(FileError) as here:
            await InProcessParser().texts(file)
        async with pool_of() as pool:
            await pool.texts(SMALL)
            before = parsers()
            with pytest.raises(type(here.value)) as there:
                await pool.texts(file)
            assert str(there.value) == str(here.value)
            await assert_well(pool)
            assert parsers() == before, "a file that is refused costs a process"

    run(scenario())


def test_what_is_of_no_format_starts_no_process() -> None:
    async def scenario() -> None:
        async with pool_of() as pool:
            with pytest.raises(UnsupportedFile):
                await pool.texts(SourceFile(b"x", "a.exe", "de"))
            assert parsers() == []

    run(scenario())


@pytest.mark.parametrize(
    ("limits", "message", "failure"),
    [
        (replace(ROOMY, cpu_seconds=0.5), "more than 0.5 seconds of processor time; split it", "cpu_time"),
        (replace(ROOMY, memory_bytes=32 * 2**20), "more than 32 MB of memory; split it", "memory"),
    ],
)
def test_a_file_that_costs_too_much_is_refused(limits: FileLimits, message: str, failure: Failure) -> None:
    async def scenario() -> None:
        async with pool_of(limits, failures=[failure]) as pool:
            with pytest.raises(FileTooLarge, match=message):
                await pool.texts(BUSY_FILE)
            await assert_well(pool)

    run(scenario())


def test_xml_that_takes_too_much_memory_is_called_too_large_and_not_damaged() -> None:
    async def scenario() -> None:
        units = b"<trans-unit><source>Yes.</source></trans-unit>" * 100_000
        file = SourceFile(b'<xliff version="1.2"><file><body>' + units + b"</body></file></xliff>", "a.xliff", "de")
        async with pool_of(replace(ROOMY, memory_bytes=16 * 2**20), failures=["memory"]) as pool:
            with pytest.raises(FileTooLarge, match="16 MB of memory"):
                await pool.texts(file)
            await assert_well(pool)

    run(scenario())


def test_a_written_file_that_is_too_large_is_refused() -> None:
    async def scenario() -> None:
        async with pool_of(replace(ROOMY, max_written_bytes=1000)) as pool:
            assert len((await pool.write(SMALL, ["a" * 900])).data) > 900
            with pytest.raises(FileTooLarge, match="translated file is too large"):
                await pool.write(SMALL, ["a" * 1000])
            await assert_well(pool)

    run(scenario())


def test_a_process_that_stands_still_is_ended_in_time() -> None:
    """SIGSTOP: it uses no processor, so that only the time until the answer is left as a limit."""

    async def scenario() -> None:
        async with pool_of(replace(ROOMY, wall_seconds=3), failures=["wall_time"]) as pool:
            await pool.texts(SMALL)
            [pid] = parsers()
            os.kill(pid, signal.SIGSTOP)
            with pytest.raises(FileTooLarge, match="not done within 3 seconds"):
                await pool.texts(SMALL)
            await assert_well(pool)
            assert parsers() != [pid]

    run(scenario())


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
            await assert_well(pool)

    run(scenario())


def test_a_process_that_ended_while_idle_costs_no_file() -> None:
    async def scenario() -> None:
        async with pool_of() as pool:
            await pool.texts(SMALL)
            [pid] = parsers()
            os.kill(pid, signal.SIGKILL)
            await until(lambda: not is_running(pid), "it has ended")
            await assert_well(pool)

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


def test_cancelled_work_ends_with_its_process() -> None:
    async def scenario() -> None:
        async with pool_of() as pool:
            reading, _ = await busy_with(pool, BUSY_FILE)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            await until(lambda: parsers() == [], "the process is gone")
            await assert_well(pool)

    run(scenario())


def test_who_waits_and_gives_up_leaves_the_queue() -> None:
    async def scenario() -> None:
        async with pool_of() as pool:
            reading, _ = await busy_with(pool, BUSY_FILE)
            waiting = [asyncio.create_task(pool.texts(SMALL)) for _ in range(3)]
            await until(lambda: pool.num_waiting == 3, "all wait")
            waiting[1].cancel()
            await until(lambda: pool.num_waiting == 2, "one has left")
            reading.cancel()
            done = await asyncio.gather(reading, *waiting, return_exceptions=True)
            cancelled = [isinstance(result, asyncio.CancelledError) for result in done]
            assert cancelled == [True, False, True, False]
            assert pool.num_waiting == 0

    run(scenario())


def test_a_worker_given_to_who_was_just_cancelled_is_passed_on() -> None:
    async def scenario() -> None:
        async with pool_of() as pool:
            first = asyncio.create_task(pool.texts(SMALL))
            waiting = [asyncio.create_task(pool.texts(SMALL)) for _ in range(20)]
            for number, item in enumerate([first, *waiting]):
                if number % 2:  # in the very moment in which its turn may have come
                    item.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await item
            await assert_well(pool)

    run(scenario())


def test_the_queue_is_bounded_and_what_is_translated_is_still_written() -> None:
    async def scenario() -> None:
        async with pool_of(max_waiting=4) as pool:
            reading, _ = await busy_with(pool, BUSY_FILE)
            key = replace(SMALL, owner="key")
            waiting = [asyncio.create_task(pool.texts(key)) for _ in range(2)]
            await until(lambda: pool.num_waiting == 2, "two wait")
            with pytest.raises(TooManyFiles):
                await pool.texts(key)  # half of the queue is the most that one key has
            waiting += [asyncio.create_task(pool.texts(SMALL)) for _ in range(2)]
            await until(lambda: pool.num_waiting == 4, "four wait")
            with pytest.raises(TooManyFiles):
                await pool.texts(replace(SMALL, owner="other"))
            writing = asyncio.create_task(pool.write(SMALL, ["Ja."]))
            await until(lambda: pool.num_waiting == 5, "the translated file waits, too")
            reading.cancel()
            assert (await writing).data == b"<p>Ja.</p>"
            assert [len(texts) for texts in await asyncio.gather(*waiting)] == [1] * 4
            await assert_well(pool)

    run(scenario())


def test_owners_take_turns() -> None:
    async def scenario() -> None:
        large = SourceFile(b"We walk home.\n" * 40_000, "a.txt", "de", owner="many")
        done: list[str] = []

        async def send(file: SourceFile) -> None:
            await pool.texts(file)
            done.append(file.owner)

        async with pool_of() as pool:
            reading, _ = await busy_with(pool, BUSY_FILE)
            many = [asyncio.create_task(send(large)) for _ in range(8)]
            await until(lambda: pool.num_waiting == 8, "eight wait")
            few = asyncio.create_task(send(replace(SMALL, owner="few")))
            await until(lambda: pool.num_waiting == 9, "nine wait")
            reading.cancel()
            await asyncio.gather(few, *many)
        assert done.index("few") <= 1, done

    run(scenario())


def test_a_pool_that_stops_ends_work_and_takes_no_more() -> None:
    async def scenario() -> None:
        async with pool_of(size=2) as pool:
            reading, _ = await busy_with(pool, BUSY_FILE)
            other = asyncio.create_task(pool.texts(BUSY_FILE))
            waiting = asyncio.create_task(pool.texts(SMALL))
            await until(lambda: pool.num_waiting == 1, "a file waits")
            await pool.stop()
            assert parsers() == []
            for task in (reading, other, waiting):
                with pytest.raises(EngineStopped):
                    await task
            with pytest.raises(EngineStopped):
                await pool.texts(SMALL)

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
            await assert_well(pool)
            assert parsers() != [before]

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
            await assert_well(pool)

    run(scenario())
