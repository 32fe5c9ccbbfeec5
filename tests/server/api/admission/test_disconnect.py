"""Work of clients that disconnect."""

import contextlib
import json
import socket
import struct
import threading
from collections import Counter

import pytest

from server.api.admission import disconnect
from server.api.admission.middleware import CLIENT_GONE
from server.translation.planning import Planner, TextRequest
from tests.server.api.conftest import PATIENCE, RunningServer, until

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: a connection that is closed is reset."""
CLIENTS = 10


def request(path: str, body: bytes = b"") -> bytes:
    head = f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize("turns", [0, disconnect.ITERATIONS])
def test_clients_that_leave_as_soon_as_they_have_asked_cost_no_work(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    """Without the turns of the event loop all of their texts are planned."""
    planned: list[str] = []
    plan_request = Planner.plan_request

    def noting(planner: Planner, request: TextRequest, can_align: bool) -> object:
        planned.extend(request.texts)
        return plan_request(planner, request, can_align)

    monkeypatch.setattr(Planner, "plan_request", noting)
    monkeypatch.setattr(disconnect, "ITERATIONS", turns)
    body = json.dumps({"text": "A dog.", "source": "en", "target": "de"}).encode()
    address = ("127.0.0.1", int(server.url.rpartition(":")[2]))
    [loop] = {id(s.get_loop()): s.get_loop() for s in server.uvicorn.servers}.values()
    is_held, all_have_left = threading.Event(), threading.Event()

    def hold() -> None:
        is_held.set()
        all_have_left.wait(PATIENCE)

    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(address, PATIENCE)) for _ in range(CLIENTS)]
        for client in clients:
            client.sendall(request("/livez"))
            assert client.recv(1000).startswith(b"HTTP/1.1 200")
        before = ended(server)
        loop.call_soon_threadsafe(hold)
        assert is_held.wait(PATIENCE)  # before: a busy machine would answer the first of them
        for client in clients:
            client.sendall(request("/v1/translate", body))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            client.close()
        all_have_left.set()
    # Any status: work that has begun may end before the server finds the client gone.
    until(lambda: ended(server).total() == before.total() + CLIENTS, "every request has ended")
    assert len(planned) == (0 if turns else CLIENTS)
    if turns:
        assert ended(server) - before == Counter({CLIENT_GONE: CLIENTS})


def ended(server: RunningServer) -> Counter[int]:
    """Status -> number of translation requests that ended with it."""
    counts: Counter[int] = Counter()
    for metric in server.state.metrics.registry.collect():
        for sample in metric.samples:
            if sample.name == "ringmt_requests_total" and sample.labels["endpoint"] == "/v1/translate":
                counts[int(sample.labels["code"])] += int(sample.value)
    return counts
