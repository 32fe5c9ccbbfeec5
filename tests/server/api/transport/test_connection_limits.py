"""Connections are bounded in number and in what they hold, and probes are answered whatever others do."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from server.api.transport import connection_limits as connection_bounds
from server.api.transport import protocol as connection
from server.api.transport.connection_limits import RESERVED, Connections
from server.api.transport.protocol import LimitedProtocol
from server.telemetry.metrics import Metrics
from tests.server.api.conftest import PATIENCE, RunningServer, ready, settings_for, until
from tests.server.api.transport.test_protocol import BODY, HEAD, connected, rest_of

ASK = b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n"
LIVEZ = ASK % b"/livez"
CHUNKED = (
    b"POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)
MOST = 4


@pytest.fixture(scope="module")
def small(tiny_artifact: Path) -> Iterator[RunningServer]:
    """A server that takes four connections."""
    with ready(settings_for(tiny_artifact, max_connections=MOST)) as server:
        yield server


def answer(client: socket.socket, sent: bytes) -> bytes:
    client.sendall(sent)
    return client.recv(65536)


def is_closed(client: socket.socket) -> bool:
    """Whether the server has closed the connection, or does."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def closed(server: RunningServer, reason: str) -> float:
    return server.metric("connections_closed_total", reason=reason, model="")


def with_small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel takes little of an answer."""
    made = LimitedProtocol.connection_made

    def connection_made(self: LimitedProtocol, transport: asyncio.Transport) -> None:
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        made(self, transport)

    monkeypatch.setattr(LimitedProtocol, "connection_made", connection_made)


def everyone_leaves(server: RunningServer) -> None:
    until(lambda: server.metric("open_connections", model="") == 0, "all connections are closed")


def test_idle_connections_make_room_for_new_ones(small: RunningServer) -> None:
    before = closed(small, "idle")
    with ExitStack() as stack:
        clients = [stack.enter_context(connected(small)) for _ in range(MOST)]
        for client in clients:
            assert b"200 OK" in answer(client, LIVEZ)
        assert b"200 OK" in answer(clients[0], LIVEZ)  # the second has been idle for longest now
        for _ in range(2):
            new = stack.enter_context(connected(small))
            assert b"200 OK" in answer(new, LIVEZ)
        assert is_closed(clients[1])
        assert is_closed(clients[2])
        assert b"200 OK" in answer(clients[0], LIVEZ)
    assert closed(small, "idle") == before + 2
    everyone_leaves(small)


def busy(server: RunningServer, stack: ExitStack) -> list[socket.socket]:
    """As many connections as there may be, each in the middle of a request."""
    clients = [stack.enter_context(connected(server)) for _ in range(MOST)]
    for client in clients:
        client.sendall(HEAD + b"\r\n" + BODY[:5])
    until(lambda: server.metric("body_bytes", model="") == 5 * MOST, "all are busy")
    return clients


def test_where_all_are_busy_others_are_refused_and_probes_answered(small: RunningServer) -> None:
    with ExitStack() as stack:
        clients = busy(small, stack)
        for _ in range(3 * RESERVED):  # more than are reserved: those that are refused are closed
            with connected(small) as one_more:
                refused = answer(one_more, HEAD + b"\r\n" + BODY)
                assert refused.startswith(b"HTTP/1.1 503 ")
                assert b"retry-after: 1\r\n" in refused
                assert is_closed(one_more)
        kept = [stack.enter_context(connected(small)) for _ in range(2 * RESERVED)]
        for path in (b"/livez", b"/readyz", b"/metrics", b"/livez?a=b"):
            with connected(small) as prober:
                assert answer(prober, ASK % path).startswith(b"HTTP/1.1 200 ")
        assert len(kept) > RESERVED
        assert small.metric("open_connections", model="") <= MOST + RESERVED
        for client in clients:  # nothing happened to those that were let in
            client.sendall(BODY[5:])
            assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
    everyone_leaves(small)


def test_bounds_are_kept_without_a_loop() -> None:
    """Connections as objects: the number, who is closed, and that nothing is remembered of those that are gone."""

    class One:
        unread_bytes = 10

        def __init__(self) -> None:
            self.is_closed = False

        def abort(self) -> None:
            self.is_closed = True

    bounds = Connections(2, Metrics())
    first = [One() for _ in range(2)]
    for item in first:
        bounds.add(item)
        bounds.is_busy(item)
    beyond = [One() for _ in range(RESERVED + 10)]
    for item in beyond:
        bounds.add(item)
        bounds.is_busy(item)
    assert len(bounds) == 2 + RESERVED
    assert [item.is_closed for item in (*first, *beyond)] == [False] * (2 + RESERVED) + [True] * 10
    for item in (*first, *beyond):
        bounds.is_idle(item)
        bounds.remove(item)
        bounds.is_unread(item)
        bounds.is_read(item)
    assert (len(bounds), bounds._idle, bounds._unread) == (0, {}, {})


@pytest.mark.parametrize("leaves", [False, True])
def test_an_unread_answer_is_not_kept(small: RunningServer, monkeypatch: pytest.MonkeyPatch, leaves: bool) -> None:
    """Also after the answer to a client that wants no other, when only the rest of it keeps the connection open."""
    with_small_buffers(monkeypatch)
    monkeypatch.setattr(connection, "WRITE_SECONDS", 0.2)
    monkeypatch.setattr(connection, "SLOWEST_READER", 1e9)
    before = closed(small, "unread")
    sent = (ASK % b"/openapi.json").replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n" if leaves else b"\r\n\r\n")
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        host, port = small.url.removeprefix("http://").split(":")
        client.connect((host, int(port)))
        client.settimeout(PATIENCE)
        client.sendall(sent)
        until(lambda: closed(small, "unread") == before + 1, "the connection is closed")
    everyone_leaves(small)


def test_answers_that_are_not_read_are_bounded_together(small: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with_small_buffers(monkeypatch)
    monkeypatch.setattr(connection_bounds, "MAX_UNREAD_BYTES", 1)
    before = closed(small, "unread")
    with connected(small) as client:
        client.sendall(ASK % b"/docs/swagger-ui-bundle.js")
        until(lambda: closed(small, "unread") == before + 1, "the connection is closed")
    everyone_leaves(small)


def test_a_client_that_reads_slowly_has_its_answer(small: RunningServer) -> None:
    with connected(small) as client:
        client.sendall((ASK % b"/docs/swagger-ui-bundle.js").replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        received = b""
        while block := client.recv(8192):
            received += block
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"content-length: %d\r\n" % len(body) in head + b"\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /livez HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 70_000 + b"\r\n\r\n",
        b"GET /livez?" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nHost: x\r\n"
        + b"A: "
        + b"a" * 1000
        + b"\r\n" * 1
        + (b"B: " + b"b" * 1000 + b"\r\n") * 80,
        b"GET /livez HTTP/1.1\r\nHost: x\r\n" + b"a:b\r\n" * 300 + b"\r\n",
        LIVEZ[:-2] + b"a:b\r\n" * 300 + b"\r\n",
    ],
)
@pytest.mark.parametrize("step", [1 << 20, 1000])
def test_a_head_that_is_too_large_is_refused_however_it_comes(small: RunningServer, sent: bytes, step: int) -> None:
    with connected(small) as client:
        try:
            for start in range(0, len(sent), step):
                client.sendall(sent[start : start + step])
        except (ConnectionResetError, BrokenPipeError):
            pass
        received = rest_of(client)
    assert received[:13] in (b"HTTP/1.1 431 ", b"")  # a client that is still writing may lose the answer
    assert step < len(sent) or received
    assert b'"ok"' not in received


@pytest.mark.parametrize(
    "sent",
    [
        CHUNKED + b"1\r\n{\r\n0\r\n" + b"a:b\r\n" * 300,
        CHUNKED + b"1\r\n{\r\n0\r\na: " + b"a" * 700_000,
        CHUNKED + b"1;" + b"a" * 2_000_000,
        CHUNKED + (b"1;" + b"a" * 1000 + b"\r\n{\r\n") * 2000,
    ],
)
@pytest.mark.parametrize("step", [1 << 20, 10_000])
def test_what_stands_beside_a_body_is_bounded(small: RunningServer, sent: bytes, step: int) -> None:
    before = closed(small, "head")
    with connected(small) as client:
        try:
            for start in range(0, len(sent), step):
                client.sendall(sent[start : start + step])
        except (ConnectionResetError, BrokenPipeError):
            pass
        assert b" 200 " not in rest_of(client)
    assert closed(small, "head") == before + 1
    everyone_leaves(small)


def test_a_body_in_small_chunks_is_read(small: RunningServer) -> None:
    with connected(small) as client:
        padding = b" " * 20_000
        client.sendall(CHUNKED + b"".join(b"1\r\n%c\r\n" % byte for byte in BODY + padding) + b"0\r\nA: b\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 200 ")


def test_requests_may_follow_each_other_within_bounds(small: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with connected(small) as client:
        last = LIVEZ.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        client.sendall(LIVEZ * connection.MAX_PIPELINED + last)
        assert rest_of(client).count(b"HTTP/1.1 200 ") == connection.MAX_PIPELINED + 1
    before = closed(small, "pipelined")
    with connected(small) as client:
        client.sendall(LIVEZ * 5000)
        assert rest_of(client).count(b"HTTP/1.1 200 ") < 5000
    monkeypatch.setattr(connection, "MAX_PIPELINED_BYTES", 10)
    with connected(small) as client:
        client.sendall(2 * (HEAD + b"\r\n" + BODY))
        rest_of(client)
    assert closed(small, "pipelined") == before + 2
    everyone_leaves(small)


@pytest.mark.parametrize("protocol", ["websocket", "h2c"])
def test_an_upgrade_is_passed_over(small: RunningServer, protocol: str) -> None:
    with connected(small) as client:
        for _ in range(2):
            sent = LIVEZ[:-2] + f"Connection: Upgrade\r\nUpgrade: {protocol}\r\n\r\n".encode()
            assert answer(client, sent).startswith(b"HTTP/1.1 200 ")
