"""Processes reach each other: an answer arrives whatever is still being sent."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from server.runtime.processes.peers import Link, PeerGone, Peers


@asynccontextmanager
async def two() -> AsyncIterator[tuple[Peers, Peers]]:
    with tempfile.TemporaryDirectory() as folder:
        first, second = (Peers(Path(folder), slot, 2) for slot in range(2))
        await first.open()
        await second.open()
        try:
            yield first, second
        finally:
            first.close()
            second.close()


def test_an_answer_is_read_although_the_question_was_not() -> None:
    """The other process answers before it gets the rest of the request, as it does for a request without a body."""

    async def run() -> None:
        async with two() as (first, second):
            answered = asyncio.Event()

            async def handle(link: Link) -> None:
                await link.write(b"answer")
                answered.set()

            second.handlers["early"] = handle
            async with first.link(1, "early") as link:
                await answered.wait()
                for _ in range(20):  # turns of the loop, in which the other end would be closed
                    await asyncio.sleep(0)
                for _ in range(3):
                    await link.write(b"late" * 1000)
                assert await link.read() == b"answer"

    asyncio.run(run())


def test_requests_of_any_size_are_answered() -> None:
    async def run() -> None:
        async def twice(request: bytes) -> bytes:
            return 2 * request

        async with two() as (first, second):
            first.on_request("twice", twice)
            second.on_request("twice", twice)
            for request in (b"", b"a", b"ab" * 500_000):
                assert await first.request(1, "twice", request) == 2 * request
                assert await second.request_all("twice", request) == {0: 2 * request}

    asyncio.run(run())


def test_a_process_that_is_gone_says_so() -> None:
    async def run() -> None:
        async with two() as (first, second):
            with pytest.raises(PeerGone):
                await first.request(1, "unknown")
            second.close()
            with pytest.raises(PeerGone, match="does not answer"):
                await first.request(1, "anything")
            assert await first.request_all("anything") == {}

    asyncio.run(run())
