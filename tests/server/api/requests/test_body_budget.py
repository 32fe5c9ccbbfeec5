"""Bodies take no more memory together than they may, and none keeps others out for long."""

import asyncio
import json
import socket
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from server.api.requests import body_budget as body_budget
from server.api.requests.body_budget import EVERYBODY, BodyBudget, BodyReservation
from server.api.requests.errors import ApiError
from tests.api_keys import new_key
from tests.server.api.conftest import PATIENCE, RunningServer, ready, settings_for, until
from tests.server.api.transport.test_protocol import connected

FORM = "Content-Type: application/x-www-form-urlencoded"


def ran(test: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), PATIENCE))


def test_room_is_counted_and_given_back() -> None:
    async def test() -> None:
        room = BodyBudget(100, 40)
        bodies = [room.begin(EVERYBODY) for _ in range(3)]
        for body in bodies[:2]:
            async with body.being_read():
                await body.grow(30)
                await body.grow(20)
        assert (room.num_bytes, room.fits(EVERYBODY, 1)) == (100, False)
        bodies[0].release()
        bodies[0].release()
        await bodies[2].grow(50)
        bodies[1].belongs_to("shop")
        assert room.num_bytes == 100
        for body in bodies:
            body.release()
        assert (room.num_bytes, dict(room._by_owner), dict(room._reading)) == (0, {}, {})

    ran(test)


def test_no_owner_takes_the_share_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_budget, "WAIT_SECONDS", 0.01)

    async def test() -> None:
        room = BodyBudget(100, 10)
        own = room.begin("shop")
        await own.grow(50)
        with pytest.raises(ApiError) as raised:
            await own.grow(1)
        assert (raised.value.kind, "Retry-After" in raised.value.headers) == ("overloaded", True)
        await room.begin("desk").grow(20)
        unknown = room.begin(None)
        await unknown.grow(25)
        with pytest.raises(ApiError):
            await unknown.grow(1)
        await room.begin("desk").grow(5)
        assert room.num_bytes == 100
        largest = BodyBudget(10, 40)  # one body has room, whatever was set
        await largest.begin(None).grow(40)

    ran(test)


def test_freed_bytes_go_to_waiting_bodies() -> None:
    async def test() -> None:
        room = BodyBudget(100, 100)
        first, second = room.begin(EVERYBODY), room.begin(EVERYBODY)
        await first.grow(100)
        waiting = asyncio.create_task(second.grow(60))
        await asyncio.sleep(0)
        assert not waiting.done()
        first.release()
        await waiting
        assert room.num_bytes == 60

    ran(test)


def test_waiting_bodies_are_limited() -> None:
    async def test() -> None:
        room = BodyBudget(10, 10)
        await room.begin(EVERYBODY).grow(10)
        waiting = [asyncio.create_task(room.begin(EVERYBODY).grow(1)) for _ in range(body_budget.MOST_WAITING + 5)]
        await asyncio.sleep(0)
        assert sum(item.done() for item in waiting) == 5
        for item in waiting:
            item.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert not room._waiting

    ran(test)


def test_a_slow_body_gives_way_and_a_fast_or_a_complete_one_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        room, ended = BodyBudget(90, 10), []

        async def reading(body: BodyReservation) -> None:
            try:
                async with body.being_read():
                    await body.grow(30)
                    await asyncio.Event().wait()
            except ApiError as error:
                ended.append((body, error.kind))
                body.release()

        complete, *slow = (room.begin(EVERYBODY) for _ in range(3))
        async with complete.being_read():
            await complete.grow(30)
        tasks = [asyncio.create_task(reading(body)) for body in slow]
        await asyncio.sleep(0)
        monkeypatch.setattr(body_budget, "WAIT_SECONDS", 0.01)
        with pytest.raises(ApiError):  # all are fast
            await room.begin(EVERYBODY).grow(30)
        monkeypatch.setattr(body_budget, "WAIT_SECONDS", PATIENCE)
        monkeypatch.setattr(body_budget, "SLOW_SECONDS", 0.0)
        await room.begin(EVERYBODY).grow(30)
        assert ended == [(slow[0], "overloaded")]
        assert (complete.size, slow[1].size, room.num_bytes) == (30, 30, 90)
        tasks[1].cancel()

    ran(test)


def half_open(server: RunningServer, stack: ExitStack, size: int, path: str = "/v1/translate") -> socket.socket:
    """A connection on which `size` bytes of a body were sent that goes on."""
    client = stack.enter_context(connected(server))
    kind = FORM if path == "/translate" else "Content-Type: application/json"
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\n{kind}\r\nContent-Length: {size + 10}\r\n\r\n"
    client.sendall(head.encode() + b"a" * size)
    return client


def test_a_waiting_body_is_served_when_another_becomes_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not only at the end of its own time, when it would be refused."""
    monkeypatch.setattr(body_budget, "WAIT_SECONDS", 2 * PATIENCE)
    monkeypatch.setattr(body_budget, "SLOW_SECONDS", 0.05)

    async def test() -> None:
        room = BodyBudget(30, 30)

        async def reading(body: BodyReservation) -> None:
            try:
                async with body.being_read():
                    await body.grow(30)
                    await asyncio.Event().wait()
            finally:
                body.release()

        slow = asyncio.create_task(reading(room.begin(EVERYBODY)))
        await asyncio.sleep(0)
        await room.begin(EVERYBODY).grow(30)
        with pytest.raises(ApiError):
            await slow

    ran(test)


def test_half_open_uploads_fill_no_memory_and_block_no_client(
    tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body_budget, "SLOW_SECONDS", 1.0)
    settings = settings_for(tiny_artifact, max_body_bytes=1_000_000, max_bodies_bytes=3_000_000)
    with ready(settings) as server, ExitStack() as stack:
        uploads = [half_open(server, stack, 900_000) for _ in range(3)]
        until(lambda: server.metric("body_bytes", model="") == 2_700_000, "all is being read")
        uploads += [half_open(server, stack, 900_000) for _ in range(20)]
        until(lambda: server.metric("body_bytes", model="") <= 3_000_000, "all is within its bound")
        large = json.dumps({"text": "Yes.", "source": "en", "target": "de", "glossary": {"a" * 499: "b" * 499}})
        answer = server.translate("Yes.", keep=["x" * 490 + str(n) for n in range(1000)])
        assert answer.status_code == 200, (answer.text, len(large))
        assert httpx.get(f"{server.url}/livez", timeout=PATIENCE).status_code == 200
        assert uploads[0].recv(12) == b"HTTP/1.1 429"
        stack.close()
        until(lambda: server.metric("body_bytes", model="") == 0, "all is given back")


def test_clients_without_a_key_take_a_share_only(tiny_artifact: Path) -> None:
    secret, line = new_key("shop", ["translate"])
    settings = settings_for(tiny_artifact, api_keys=line, max_body_bytes=100_000, max_bodies_bytes=1_000_000)
    with ready(settings) as server, ExitStack() as stack:
        for _ in range(6):
            half_open(server, stack, 90_000, "/translate")
        until(lambda: server.metric("body_bytes", model="") == 180_000, "two are being read")
        body = {"text": "Yes.", "source": "en", "target": "de", "keep": ["x" * 400 + str(n) for n in range(200)]}
        headers = {"X-API-Key": secret}
        answer = httpx.post(f"{server.url}/v1/translate", json=body, headers=headers, timeout=PATIENCE)
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("path", ["/v1/translate", "/v1/documents", "/v1/files", "/v2/translate", "/v2/document"])
def test_no_body_is_read_of_a_client_without_a_key(tiny_artifact: Path, path: str) -> None:
    """The answer comes though not a byte of the body was sent."""
    with ready(settings_for(tiny_artifact, api_keys=new_key("shop", ["admin"])[1])) as server:
        for key in ("", "X-API-Key: wrong\r\n"):
            with connected(server) as client:
                head = f"POST {path} HTTP/1.1\r\nHost: x\r\n{key}Content-Length: 100000\r\n\r\n"
                client.sendall(head.encode())
                assert client.recv(12) in (b"HTTP/1.1 401", b"HTTP/1.1 403")
