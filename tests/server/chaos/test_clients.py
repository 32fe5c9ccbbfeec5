"""Clients that disconnect, send nothing, send slowly, stop half-way, or do not read."""

import contextlib
import json
import random
import resource
import select
import socket
import struct
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.models import SENTENCES
from tests.server.api.conftest import PATIENCE
from tests.server.api.transport.test_protocol import rest_of
from tests.server.chaos.wellbeing import assert_well, nothing_left_behind
from tests.server.processes import Served
from tests.server.scale import SCALE

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: a connection that is closed is reset."""


def connected(served: Served) -> "contextlib.closing[socket.socket]":
    return contextlib.closing(socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE))


def request(
    path: str, body: bytes, declared: int | None = None, kind: str = "application/json", more: str = ""
) -> bytes:
    """A request whose head says that its body has `declared` bytes."""
    length = len(body) if declared is None else declared
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{more}\r\n"
    return head.encode() + body


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    connection.close()


def test_clients_that_disconnect_release_their_slots(served: Served) -> None:
    chance = random.Random(2)
    body = json.dumps({"text": " ".join(SENTENCES * 20), "source": "en", "target": "de"}).encode()
    head = b"POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"

    def disconnect(seed: int) -> None:
        with contextlib.closing(socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE)) as connection:
            whole = (head % len(body)) + body
            connection.sendall(whole[: random.Random(seed).choice([10, len(head) + 9, len(whole), len(whole)])])
            time.sleep(random.Random(seed).random() / 20)
            match seed % 3:
                case 0:  # a reset instead of a farewell
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
                case 1:  # half-closed: it only listens any more
                    connection.shutdown(socket.SHUT_WR)
                    rest_of(connection)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(disconnect, [chance.randrange(10**6) for _ in range(20 * SCALE)]))
    assert_well(served)
    dropped = served.metric("requests_cancelled_total")
    print(f"{20 * SCALE} clients hung up, {dropped:.0f} sentences were dropped, every slot is free")


def test_slow_connections_end_and_do_not_block_others(counted: Served) -> None:
    """A byte every 0.1 s without end: heads end after ten seconds, bodies at the request's deadline."""
    count = 10 * min(SCALE, 20)
    body = b"Content-Type: application/json\r\nX-Request-Timeout: 1\r\nContent-Length: 9999\r\n\r\n"
    begin = b"POST /v1/translate HTTP/1.1\r\nHost: x\r\n"
    with nothing_left_behind(counted), contextlib.ExitStack() as stack:
        trickling: dict[socket.socket, bytes] = {}
        for number in range(count):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", counted.port), timeout=PATIENCE))
            connection.sendall(begin + body if number % 2 else begin)
            trickling[connection] = b"504" if number % 2 else b"408"
        ended: Counter[bytes] = Counter()
        deadline = time.monotonic() + PATIENCE
        while trickling:
            assert time.monotonic() < deadline, "some trickle on"
            assert counted.translate("Yes.").status_code == 200
            answered, _, _ = select.select(list(trickling), [], [], 0.1)
            for connection in answered:
                assert connection.recv(100).split()[1] == trickling.pop(connection)
                ended[b"answered"] += 1
            for connection in trickling:
                with contextlib.suppress(OSError):
                    connection.sendall(b"x")
    print(f"{ended.total()} connections that trickled were ended, others were served meanwhile")


def test_many_idle_connections_do_not_block_others(counted: Served) -> None:
    """A thousand connections that send nothing, or a part of a head."""
    soft, _ = resource.prlimit(counted.process.pid, resource.RLIMIT_NOFILE)
    count = min(1000, soft // 2, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
    for _ in range(min(SCALE, 15)):
        with nothing_left_behind(counted), contextlib.ExitStack() as stack:
            for number in range(count):
                connection = stack.enter_context(connected(counted))
                connection.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: x\r\n"[: number % 40])
            assert counted.translate("Yes.").status_code == 200
            assert counted.status("/livez") == 200
    print(f"{min(SCALE, 15)} times {count} connections that said nothing: others were served, none is left")


LARGE = {"q": ["\u00e4" * 90_000] * 5, "source": "de", "target": "de"}
"""A text in the target language is returned as it is: a response of 900 kB without translation."""
STREAMED = {"text": " ".join(SENTENCES * 20), "source": "en", "target": "de", "stream": True, "max_length": 8}


@pytest.fixture(params=["a large answer", "events"])
def unread(request: pytest.FixtureRequest) -> tuple[str, bytes]:
    """Path and body of a request whose response is not read."""
    path, body = ("/translate", LARGE) if request.param == "a large answer" else ("/v1/translate", STREAMED)
    return path, json.dumps(body, ensure_ascii=False).encode()


def test_clients_that_do_not_read_do_not_block_others(counted: Served, unread: tuple[str, bytes]) -> None:
    """Some connections are reset, some are closed; one client reads at the end and gets the whole response."""
    path, body = unread
    count = 10 * min(SCALE, 10)
    with counted.client() as client:
        whole = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert whole.status_code == 200
    with nothing_left_behind(counted), contextlib.ExitStack() as stack:
        asking = [stack.enter_context(connected(counted)) for _ in range(count)]
        for connection in asking:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(request(path, body, more="Connection: close\r\n"))
        assert counted.translate("Yes.").status_code == 200
        assert counted.status("/livez") == 200
        for connection in asking[1::2]:
            reset(connection)
        answer = rest_of(asking[0])
        if answer.startswith(b"HTTP/1.1 200 "):
            assert len(answer) > 0.9 * len(whole.content), "it is whole"
        else:  # refused, as there were so many
            assert answer.split()[1] in (b"429", b"503"), answer[:200]
    print(f"{count} clients that did not read: others were served, and one that read in the end got all")


STAGES = ("head", "first part", "half", "all but a byte")


def test_uploads_that_stop_half_way_end_and_do_not_block_others(counted: Served) -> None:
    """The clients declare 4 MB and send a part. Clients that wait get a response at the request's deadline."""
    size = 4_000_000
    begin = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    body = begin + b"a" * (size - len(begin))
    kind = "multipart/form-data; boundary=x"
    count = 8 * min(SCALE, 10)
    with nothing_left_behind(counted), contextlib.ExitStack() as stack:
        waiting, leaving = list[socket.socket](), list[socket.socket]()
        for number in range(count):
            connection = stack.enter_context(connected(counted))
            sent = {"head": 0, "first part": len(begin), "half": size // 4, "all but a byte": size - 1}
            patient = number % 2 == 0
            whole = request("/v1/files", b"", size, kind, "X-Request-Timeout: 1\r\n" if patient else "")
            with contextlib.suppress(OSError):  # refused before all of it is sent
                connection.sendall(whole + body[: sent[STAGES[number // 2 % len(STAGES)]]])
            (waiting if patient else leaving).append(connection)
        assert counted.translate("Yes.").status_code == 200
        assert counted.status("/livez") == 200
        for connection in leaving:
            reset(connection)
        statuses = Counter(connection.recv(100).split()[1] for connection in waiting)
        assert set(statuses) <= {b"504", b"408", b"429", b"503"}, statuses
        assert sum(statuses.values()) == len(waiting)
    print(f"{count} uploads that stopped: every one was ended or left, others were served meanwhile")
