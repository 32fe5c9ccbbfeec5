"""Files in parser processes: the texts and bytes of the own process; a bounded and fair queue; no process is left."""

import asyncio
import contextlib
from dataclasses import replace

import pytest

from server.engine.request import EngineStopped
from server.files.formats.base import FileError, UnsupportedFile
from server.files.in_process import InProcessParser
from server.files.parser_pool import TooManyFiles
from server.files.parsing import SourceFile
from tests.server.files.pools import (
    BUSY_FILE,
    SMALL,
    assert_works,
    busy_with,
    needs_proc,
    num_waiting,
    parsers,
    pool_of,
    run,
    until,
)
from tests.server.files.some import small_files

pytestmark = needs_proc


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
            await assert_works(pool)
            assert parsers() == before, "a file that is refused costs a process"

    run(scenario())


def test_what_is_of_no_format_starts_no_process() -> None:
    async def scenario() -> None:
        async with pool_of() as pool:
            with pytest.raises(UnsupportedFile):
                await pool.texts(SourceFile(b"x", "a.exe", "de"))
            assert parsers() == []

    run(scenario())


def test_cancelled_work_ends_with_its_process() -> None:
    async def scenario() -> None:
        async with pool_of() as pool:
            reading, _ = await busy_with(pool, BUSY_FILE)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            await until(lambda: parsers() == [], "the process is gone")
            await assert_works(pool)

    run(scenario())


def test_who_waits_and_gives_up_leaves_the_queue() -> None:
    async def scenario() -> None:
        async with pool_of() as pool:
            reading, _ = await busy_with(pool, BUSY_FILE)
            waiting = [asyncio.create_task(pool.texts(SMALL)) for _ in range(3)]
            await until(lambda: num_waiting(pool) == 3, "all wait")
            waiting[1].cancel()
            await until(lambda: num_waiting(pool) == 2, "one has left")
            reading.cancel()
            done = await asyncio.gather(reading, *waiting, return_exceptions=True)
            cancelled = [isinstance(result, asyncio.CancelledError) for result in done]
            assert cancelled == [True, False, True, False]
            assert num_waiting(pool) == 0

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
            await assert_works(pool)

    run(scenario())


def test_the_queue_is_bounded_and_what_is_translated_is_still_written() -> None:
    async def scenario() -> None:
        async with pool_of(max_waiting=4) as pool:
            reading, _ = await busy_with(pool, BUSY_FILE)
            key = replace(SMALL, owner="key")
            waiting = [asyncio.create_task(pool.texts(key)) for _ in range(2)]
            await until(lambda: num_waiting(pool) == 2, "two wait")
            with pytest.raises(TooManyFiles):
                await pool.texts(key)  # half of the queue is the most that one key has
            waiting += [asyncio.create_task(pool.texts(SMALL)) for _ in range(2)]
            await until(lambda: num_waiting(pool) == 4, "four wait")
            with pytest.raises(TooManyFiles):
                await pool.texts(replace(SMALL, owner="other"))
            writing = asyncio.create_task(pool.write(SMALL, ["Ja."]))
            await until(lambda: num_waiting(pool) == 5, "the translated file waits, too")
            reading.cancel()
            assert (await writing).data == b"<p>Ja.</p>"
            assert [len(texts) for texts in await asyncio.gather(*waiting)] == [1] * 4
            await assert_works(pool)

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
            await until(lambda: num_waiting(pool) == 8, "eight wait")
            few = asyncio.create_task(send(replace(SMALL, owner="few")))
            await until(lambda: num_waiting(pool) == 9, "nine wait")
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
            await until(lambda: num_waiting(pool) == 1, "a file waits")
            await pool.stop()
            assert parsers() == []
            for task in (reading, other, waiting):
                with pytest.raises(EngineStopped):
                    await task
            with pytest.raises(EngineStopped):
                await pool.texts(SMALL)

    run(scenario())
