"""Connections that do not come to the point, that stop half-way, or that are no HTTP."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from server.api.transport import protocol as connection
from tests.server.api.conftest import PATIENCE, RunningServer, until

BODY = b'{"text": "Yes.", "source": "en", "target": "de"}'
HEAD = b"POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n" % len(BODY)


@contextmanager
def connected(server: RunningServer) -> Iterator[socket.socket]:
    host, port = server.url.removeprefix("http://").split(":")
    with closing(socket.create_connection((host, int(port)), timeout=PATIENCE)) as connected:
        yield connected


def rest_of(connected: socket.socket) -> bytes:
    """What the server sends before it closes the connection."""
    received = b""
    try:
        while block := connected.recv(65536):
            received += block
    except ConnectionResetError:
        pass
    return received


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        (b"", b""),
        (b"\r\n\r\n", b"HTTP/1.1 408 "),
        (b"POST /v1/tr", b"HTTP/1.1 408 "),
        (HEAD, b"HTTP/1.1 408 "),
        (b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n\r\n", b'{"status":"ok"}'),
        (b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /livez HT", b'{"status":"ok"}'),
    ],
)
def test_a_head_that_is_never_complete_ends(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, sent: bytes, received: bytes
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(server.uvicorn.config, "timeout_keep_alive", 1)
    with connected(server) as client:
        client.sendall(sent)
        answer = rest_of(client)
    assert received in answer
    assert (answer == b"") == (sent == b"")


def test_bytes_that_trickle_do_not_buy_time(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.3)
    with connected(server) as client:
        client.sendall(b"GET /livez HTTP/1.1\r\n")
        client.settimeout(0.02)
        for _ in range(1000):
            try:
                client.sendall(b"x")
                answer = client.recv(1000)
                break
            except TimeoutError:
                continue
        else:
            pytest.fail("the connection is still open")
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_an_endless_head_is_not_kept(server: RunningServer) -> None:
    with connected(server) as client:
        try:
            for _ in range(100):
                client.sendall(b"X-Long: ".join([b"GET / HTTP/1.1\r\n"]) + b"a" * 10_000)
        except (ConnectionResetError, BrokenPipeError):
            pass
        assert rest_of(client)[:13] in (b"HTTP/1.1 431 ", b"HTTP/1.1 400 ", b"")


def test_a_body_that_trickles_ends_at_the_deadline(server: RunningServer) -> None:
    with connected(server) as client:
        client.sendall(HEAD + b"X-Request-Timeout: 0.3\r\n\r\n" + BODY[:10])
        assert client.recv(100).startswith(b"HTTP/1.1 504 ")


def test_work_takes_as_long_as_it_takes(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time for a head is not the time for an answer, also when the next head has begun."""
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.05)
    monkeypatch.setattr(server.uvicorn.config, "timeout_keep_alive", 1)
    text = "We walk home in the rain, and where is the station? " * 100
    body = b'{"text": "%s", "source": "en", "target": "de"}' % text.encode()
    head = HEAD.replace(b"%d" % len(BODY), b"%d" % len(body))
    with connected(server) as client:
        client.sendall(head + b"\r\n" + body + b"GET /li")
        answer = rest_of(client)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b'"translations"' in answer


def test_a_client_that_only_listens_any_more_frees_its_slots(server: RunningServer) -> None:
    with connected(server) as client:
        client.sendall(HEAD + b"\r\n" + BODY)
        client.shutdown(socket.SHUT_WR)
        rest_of(client)
    until(lambda: server.sentences == 0, "every slot is free")
    assert server.translate("Yes.").status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x00" * 1000,
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /v1/translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
    ],
)
def test_what_is_no_request_is_refused(server: RunningServer, sent: bytes) -> None:
    with connected(server) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        assert rest_of(client)[:10] in (b"", b"HTTP/1.1 4")
    assert server.translate("Yes.").status_code == 200


def test_a_connection_outlives_the_pauses_of_clients(server: RunningServer) -> None:
    """DeepL's asks every five seconds whether its document is done: a connection that ended then would end at the very
    moment of its request."""
    ask = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
    with connected(server) as client:
        client.sendall(ask)
        assert b"200 OK" in client.recv(65536)
        client.settimeout(5.5)
        with pytest.raises(TimeoutError):  # neither an answer nor an end
            client.recv(1)
        client.sendall(ask)
        assert b"200 OK" in client.recv(65536)


def answered_early(client: socket.socket, size: int) -> None:
    """Have a request answered whose body of `size` bytes has begun."""
    head = HEAD.replace(b"%d" % len(BODY), b"%d" % size)
    client.sendall(head + b"X-Request-Timeout: 0.3\r\n\r\n" + BODY[:10])
    assert client.recv(65536).startswith(b"HTTP/1.1 504 ")


def sent_until_closed(client: socket.socket, piece: bytes, pieces: int) -> int:
    """Bytes that are sent, a piece at a time, before the connection is closed."""
    client.settimeout(0.02)
    for number in range(pieces):
        try:
            client.sendall(piece)
            if not client.recv(1000):
                return number * len(piece)
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            return number * len(piece)
    pytest.fail("the connection is still open")


def test_a_body_that_trickles_after_its_answer_ends(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LINGER_SECONDS", 0.3)
    with connected(server) as client:
        answered_early(client, 10**6)
        sent_until_closed(client, b"x", 300)


def test_of_a_body_that_is_answered_so_much_is_read(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "DISCARDED_BYTES", 10_000)
    with connected(server) as client:
        answered_early(client, 10**9)
        sent_until_closed(client, b"x" * 1000, 100)


def test_a_body_that_ends_after_its_answer_keeps_its_connection(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LINGER_SECONDS", 0.5)
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.5)
    ask = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
    with connected(server) as client:
        answered_early(client, len(BODY))
        client.sendall(BODY[10:])
        client.settimeout(1)
        with pytest.raises(TimeoutError):  # neither an answer nor an end
            client.recv(1)
        client.settimeout(PATIENCE)
        client.sendall(ask)
        assert b"200 OK" in client.recv(65536)


def test_a_connection_whose_body_ended_after_its_answer_is_not_kept_for_ever(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.uvicorn.config, "timeout_keep_alive", 1)
    with connected(server) as client:
        answered_early(client, len(BODY))
        client.sendall(BODY[10:])
        assert rest_of(client) == b""
