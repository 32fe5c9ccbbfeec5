"""Clients that keep connections, send slowly, or do not read."""

import contextlib
import json
import resource
import selectors
import socket
import struct
import time
from collections.abc import Iterable, Iterator

from loadtest.hostile.attempt import CLOSED, CUT_OFF, Address, Answers, Attempt, hostile_input, scaled
from loadtest.hostile.sending import send_request

BODY = 4_000_000
BLOCK = 65_536
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: a closed connection is reset."""


@contextlib.contextmanager
def connections(address: Address, count: int) -> Iterator[list[socket.socket]]:
    """So many, as far as the server takes them."""
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


def send_to_all(opened: Iterable[socket.socket], data: bytes, give_up: float) -> None:
    """To all at the same time, block by block; until `give_up`, or as far as the server reads."""
    waiting = dict.fromkeys(opened, 0)
    with selectors.DefaultSelector() as ready:
        for one in waiting:
            one.setblocking(False)
            ready.register(one, selectors.EVENT_WRITE)
        while ready.get_map() and time.monotonic() < give_up:
            for key, _ in ready.select(0.1):
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                sent = waiting[connection]
                try:
                    waiting[connection] += connection.send(data[sent : sent + BLOCK])
                except OSError:  # the server refused it
                    waiting[connection] = len(data)
                if waiting[connection] == len(data):
                    ready.unregister(connection)


def translate_sentence(address: Address, seconds: float) -> str:
    """What somebody gets who comes now."""
    body = json.dumps({"text": "Where is the station?", "source": "en", "target": "de"}).encode()
    return send_request(address, seconds, "POST", "/v1/translate", body, {"Content-Type": "application/json"}).label


def answered(opened: list[socket.socket]) -> list[str]:
    """For each what came, or CUT_OFF where nothing did."""
    found = []
    for one in opened:
        one.settimeout(0)
        try:
            head = one.recv(100)
            found.append(head.split()[1].decode() if head else CLOSED)
        except BlockingIOError:
            found.append(CUT_OFF)
        except (OSError, IndexError):
            found.append(CLOSED)
    return found


@hostile_input("1,000 idle connections")
def idle(share: float) -> Attempt:
    """Connections that send nothing, or half a head."""
    count = scaled(1_000, share)

    def send(address: Address, seconds: float) -> Answers:
        with connections(address, count) as opened:
            for number, one in enumerate(opened):
                one.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: x\r\n"[: number % 40])
            met = translate_sentence(address, seconds)
            return Answers.of(met, note=f"a sentence beside {len(opened)} connections")

    return Attempt(20 * count, send)


@hostile_input("300 bodies of 4 MB, sent slowly")
def slow_bodies(share: float) -> Attempt:
    """300 clients that each declare 4 MB, send all but the last byte, and wait."""
    count, size = scaled(300, share), scaled(BODY, share)
    whole = head("/v1/translate", size) + b" " * (size - 1)

    def send(address: Address, seconds: float) -> Answers:
        give_up = time.monotonic() + seconds
        with connections(address, count) as opened:
            send_to_all(opened, whole, give_up)
            met = translate_sentence(address, max(1.0, give_up - time.monotonic()))
            return Answers.of(*answered(opened), note=f"a sentence meanwhile: {met}")

    return Attempt(count * len(whole), send)


@hostile_input("50 uploads that stop half way")
def half_open(share: float) -> Attempt:
    """50 clients that declare 4 MB, send 1 MB, and say no more; then they reset."""
    count, size = scaled(50, share), scaled(BODY, share)
    begin = head("/v1/files", size, "multipart/form-data; boundary=x")
    begin += b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n' + b"a" * (size // 4)

    def send(address: Address, seconds: float) -> Answers:
        give_up = time.monotonic() + seconds
        with connections(address, count) as opened:
            send_to_all(opened, begin, give_up)
            met = translate_sentence(address, max(1.0, give_up - time.monotonic()))
            statuses = answered(opened)
            for one in opened:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            return Answers.of(*statuses, note=f"a sentence meanwhile: {met}")

    return Attempt(count * len(begin), send)


@hostile_input("100 clients that do not read large answers")
def slow_readers(share: float) -> Attempt:
    """Each asks for 1 MB that needs no translation, and reads nothing."""
    count = scaled(100, share)
    fields = {"q": ["\u00e4" * 99_000] * 5, "source": "de", "target": "de"}
    body = json.dumps(fields, ensure_ascii=False).encode()
    whole = head("/translate", len(body)) + body

    def send(address: Address, seconds: float) -> Answers:
        give_up = time.monotonic() + seconds
        with connections(address, count) as opened:
            for one in opened:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            send_to_all(opened, whole, give_up)
            met = translate_sentence(address, max(1.0, give_up - time.monotonic()))
            return Answers.of(*answered(opened), note=f"a sentence meanwhile: {met}")

    return Attempt(count * len(whole), send)


@hostile_input("500 requests that are reset at once")
def resets(share: float) -> Attempt:
    """Translations whose clients leave as soon as they have sent them."""
    count = scaled(500, share)
    body = json.dumps({"text": "We walk home in the rain. " * 20, "source": "en", "target": "de"}).encode()
    whole = head("/v1/translate", len(body)) + body

    def send(address: Address, seconds: float) -> Answers:
        give_up = time.monotonic() + seconds
        for _ in range(count):
            with connections(address, 1) as opened:
                send_to_all(opened, whole, give_up)
                for one in opened:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        met = translate_sentence(address, max(1.0, give_up - time.monotonic()))
        return Answers.of(met, note="a sentence after it")

    return Attempt(count * len(whole), send)
