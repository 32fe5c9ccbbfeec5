"""Clients that hold connections, send slowly, or do not read."""

import contextlib
import http.client
import json
import resource
import selectors
import socket
import struct
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from loadtest.hostile.attempt import CLOSED, CUT_OFF, Address, Answers, Attempt, hostile_input, scaled
from loadtest.hostile.sending import send_request

BODY = 4_000_000
BLOCK = 65_536
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: a closed connection is reset."""


@contextlib.contextmanager
def connections(address: Address, count: int) -> Iterator[list[socket.socket]]:
    """`count` connections, or as many as the server accepts."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(count):
            with contextlib.suppress(OSError):
                opened.append(stack.enter_context(socket.create_connection((address.host, address.port), timeout=5)))
        yield opened


def head(path: str, length: int, kind: str = "application/json") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n".encode()


def send_to_all(opened: Iterable[socket.socket], data: bytes, deadline: float) -> None:
    """Send to all connections at the same time, block by block, until `deadline` or as far as the server reads."""
    sent_bytes = dict.fromkeys(opened, 0)
    with selectors.DefaultSelector() as ready:
        for opened_connection in sent_bytes:
            opened_connection.setblocking(False)
            ready.register(opened_connection, selectors.EVENT_WRITE)
        while ready.get_map() and time.monotonic() < deadline:
            for key, _ in ready.select(0.1):
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                sent = sent_bytes[connection]
                try:
                    sent_bytes[connection] += connection.send(data[sent : sent + BLOCK])
                except OSError:  # the server refused it
                    sent_bytes[connection] = len(data)
                if sent_bytes[connection] == len(data):
                    ready.unregister(connection)


def translate_sentence(address: Address, seconds: float) -> str:
    """The status of a short translation."""
    body = json.dumps({"text": "Where is the station?", "source": "en", "target": "de"}).encode()
    return send_request(address, seconds, "POST", "/v1/translate", body, {"Content-Type": "application/json"}).label


def statuses_of(opened: list[socket.socket]) -> list[str]:
    """The status of each connection; CUT_OFF without a response."""
    statuses = []
    for connection in opened:
        connection.settimeout(0)
        try:
            head = connection.recv(100)
            statuses.append(head.split()[1].decode() if head else CLOSED)
        except BlockingIOError:
            statuses.append(CUT_OFF)
        except (OSError, IndexError):
            statuses.append(CLOSED)
    return statuses


def status_of_whole(connection: socket.socket) -> str:
    """The status of a response, all of which is read; CUT_OFF without one."""
    connection.settimeout(10)
    try:
        response = http.client.HTTPResponse(connection)
        response.begin()
        response.read()
    except (OSError, http.client.HTTPException):
        return CUT_OFF
    return str(response.status)


@hostile_input("1,000 idle connections")
def idle(share: float) -> Attempt:
    """Connections that send nothing, or half a head."""
    count = scaled(1_000, share)

    def send(address: Address, seconds: float) -> Answers:
        with connections(address, count) as opened:
            for number, connection in enumerate(opened):
                connection.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: x\r\n"[: number % 40])
            status = translate_sentence(address, seconds)
            return Answers.of(status, note=f"a sentence beside {len(opened)} connections")

    return Attempt(20 * count, send)


@hostile_input("300 bodies of 4 MB, sent slowly")
def slow_bodies(share: float) -> Attempt:
    """300 clients that each declare 4 MB, send all but the last byte, and wait."""
    count, size = scaled(300, share), scaled(BODY, share)
    whole = head("/v1/translate", size) + b" " * (size - 1)

    def send(address: Address, seconds: float) -> Answers:
        deadline = time.monotonic() + seconds
        with connections(address, count) as opened:
            send_to_all(opened, whole, deadline)
            status = translate_sentence(address, max(1.0, deadline - time.monotonic()))
            return Answers.of(*statuses_of(opened), note=f"a sentence meanwhile: {status}")

    return Attempt(count * len(whole), send)


@hostile_input("50 uploads that stop half way")
def half_open(share: float) -> Attempt:
    """50 clients that declare 4 MB, send 1 MB, and then nothing; at the end they reset."""
    count, size = scaled(50, share), scaled(BODY, share)
    begin = head("/v1/files", size, "multipart/form-data; boundary=x")
    begin += b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n' + b"a" * (size // 4)

    def send(address: Address, seconds: float) -> Answers:
        deadline = time.monotonic() + seconds
        with connections(address, count) as opened:
            send_to_all(opened, begin, deadline)
            status = translate_sentence(address, max(1.0, deadline - time.monotonic()))
            statuses = statuses_of(opened)
            for connection in opened:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            return Answers.of(*statuses, note=f"a sentence meanwhile: {status}")

    return Attempt(count * len(begin), send)


def large_request() -> bytes:
    """Asks for 1 MB that needs no translation."""
    fields = {"q": ["\u00e4" * 99_000] * 5, "source": "de", "target": "de"}
    body = json.dumps(fields, ensure_ascii=False).encode()
    return head("/translate", len(body)) + body


@hostile_input("100 clients with large requests", ordinary=True)
def large_requests(share: float) -> Attempt:
    """The same at the same time as below, but each reads its answer."""
    count, whole = scaled(100, share), large_request()

    def send(address: Address, seconds: float) -> Answers:
        deadline = time.monotonic() + seconds
        with connections(address, count) as opened, ThreadPoolExecutor(count) as pool:
            send_to_all(opened, whole, deadline)
            status = translate_sentence(address, max(1.0, deadline - time.monotonic()))
            return Answers.of(*pool.map(status_of_whole, opened), note=f"a sentence meanwhile: {status}")

    return Attempt(count * len(whole), send)


@hostile_input("100 clients that do not read large answers")
def slow_readers(share: float) -> Attempt:
    """Each reads nothing."""
    count, whole = scaled(100, share), large_request()

    def send(address: Address, seconds: float) -> Answers:
        deadline = time.monotonic() + seconds
        with connections(address, count) as opened:
            for connection in opened:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            send_to_all(opened, whole, deadline)
            status = translate_sentence(address, max(1.0, deadline - time.monotonic()))
            return Answers.of(*statuses_of(opened), note=f"a sentence meanwhile: {status}")

    return Attempt(count * len(whole), send)


@hostile_input("500 requests that are reset at once")
def resets(share: float) -> Attempt:
    """Translations whose clients leave as soon as they have sent them."""
    count = scaled(500, share)
    body = json.dumps({"text": "We walk home in the rain. " * 20, "source": "en", "target": "de"}).encode()
    whole = head("/v1/translate", len(body)) + body

    def send(address: Address, seconds: float) -> Answers:
        deadline = time.monotonic() + seconds
        for _ in range(count):
            with connections(address, 1) as opened:
                send_to_all(opened, whole, deadline)
                for connection in opened:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        status = translate_sentence(address, max(1.0, deadline - time.monotonic()))
        return Answers.of(status, note="a sentence after it")

    return Attempt(count * len(whole), send)
