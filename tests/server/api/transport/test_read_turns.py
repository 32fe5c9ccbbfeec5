"""Bodies of many connections are read in turns."""

import asyncio
import itertools
import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.api.transport import read_turns
from server.api.transport.read_turns import BYTES_PER_TURN, READERS_PER_TURN, ReadTurns
from tests.server.api.conftest import PATIENCE, RunningServer

CHUNK = 256 * 1024


class Sender:
    """A connection whose client has sent `chunks` that are not read yet."""

    def __init__(self, chunks: int) -> None:
        self.chunks, self.is_held = chunks, False

    def hold_reading(self) -> None:
        assert not self.is_held
        self.is_held = True

    def release_reading(self) -> None:
        assert self.is_held
        self.is_held = False


async def read_all(senders: list[Sender]) -> list[list[int]]:
    """What is read in every iteration of the loop: the numbers of the connections. Each that is not held reads one
    chunk, as the loop does with sockets that are ready."""
    turns, loop, iterations = ReadTurns(), asyncio.get_running_loop(), list[list[int]]()
    while any(sender.chunks for sender in senders):
        read = []
        for number, sender in enumerate(senders):
            if sender.chunks and not sender.is_held:
                sender.chunks -= 1
                turns.received(sender, CHUNK, loop)
                read.append(number)
        iterations.append(read)
        await asyncio.sleep(0)
        assert len(iterations) < 10_000
    return iterations


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 20), max_size=40))
def test_after_the_first_iteration_a_turn_is_bounded(chunks: list[int]) -> None:
    senders = [Sender(count) for count in chunks]
    iterations = asyncio.run(read_all(senders))
    few = BYTES_PER_TURN // CHUNK + READERS_PER_TURN
    assert all(len(read) <= few for read in iterations[1:])
    assert sum(map(len, iterations)) == sum(chunks)


def test_connections_read_in_the_order_in_which_they_wait() -> None:
    iterations = asyncio.run(read_all([Sender(3) for _ in range(40)]))
    seen = [0] * 40
    for number in itertools.chain.from_iterable(iterations):
        seen[number] += 1
        assert max(seen) - min(seen) <= 2  # the first few read before turns begin


def test_one_connection_reads_without_turns() -> None:
    """A chunk an iteration is less than all may read."""
    sender = Sender(50)
    assert asyncio.run(read_all([sender])) == [[0]] * 50
    assert not sender.is_held


def test_a_closed_connection_has_no_turn() -> None:
    async def close() -> bool:
        turns, loop = ReadTurns(), asyncio.get_running_loop()
        sender = Sender(1)
        turns.received(sender, BYTES_PER_TURN + 1, loop)
        turns.remove(sender)
        turns.remove(sender)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return sender.is_held

    assert asyncio.run(close())


def test_many_large_bodies_arrive_whole(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them take turns, whether their routes read them or not."""
    held = list[object]()
    monkeypatch.setattr(read_turns, "BYTES_PER_TURN", 32 * 1024)
    hold = read_turns.ReadTurns.received

    def received(turns: ReadTurns, reader: read_turns.Reader, size: int, loop: asyncio.AbstractEventLoop) -> None:
        hold(turns, reader, size, loop)
        held.extend([reader] * (reader in turns._waiting))

    monkeypatch.setattr(read_turns.ReadTurns, "received", received)
    body = json.dumps({"text": "Yes.", "source": "en", "target": "de"}).encode() + b" " * 600_000
    head = b"Host: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    host, port = server.url.removeprefix("http://").split(":")

    def status(number: int) -> bytes:
        path = b"/v1/translate" if number % 2 else b"/no/such/path"
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as connected:
            connected.sendall(b"POST " + path + b" HTTP/1.1\r\nConnection: close\r\n" + head + body)
            return connected.makefile("rb").readline().split()[1]

    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(status, range(24))) == [b"404", b"200"] * 12
    assert len({id(reader) for reader in held}) > 4
