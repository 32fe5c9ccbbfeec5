"""How many users the shapes of a load test send, moment by moment, and what is read of the server beside them."""

import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadtest.metrics_snapshot import MetricsSnapshot

MIB = 2**20
MOST = (1, 10, 30)
TICKS = """
import json, os
os.environ["LOADTEST_SECONDS"] = "50"
from loadtest.shapes import SHAPES

def users(shape, most):
    os.environ["LOADTEST_USERS"] = str(most)
    made, found = shape(), []
    for hundredth in range(103):
        made.get_run_time = lambda: hundredth / 2 + 1e-6
        tick = made.tick()
        found.append(None if tick is None else tick[0])
    return found

print(json.dumps({name: {most: users(shape, most) for most in (1, 10, 30)} for name, shape in SHAPES.items()}))
"""
"""Users at every hundredth of the time and after it, in a process of its own: locust changes what imports it."""


@pytest.fixture(scope="module")
def users() -> dict[str, dict[int, list[int | None]]]:
    """By shape, and by how many users there are at most."""
    done = subprocess.run(
        [sys.executable, "-c", TICKS], cwd=Path(__file__).parents[2], check=True, capture_output=True, text=True
    )
    return {name: {int(most): ticks for most, ticks in of.items()} for name, of in json.loads(done.stdout).items()}


def test_the_number_of_users_follows_the_shape(users: dict[str, dict[int, list[int | None]]]) -> None:
    for most in MOST:
        shares = {
            "steps": [(hundredth // 20 + 1) / 5 for hundredth in range(100)],
            "spike": [1 if 100 / 3 <= hundredth < 200 / 3 else 0.1 for hundredth in range(100)],
            "soak": [0.5] * 100,
        }
        for name, expected in shares.items():
            assert users[name][most] == [max(1, round(most * share)) for share in expected] + [None] * 3, name


class Exposition(http.server.BaseHTTPRequestHandler):
    """What a server says of itself, after one reading and after the next."""

    snapshots: Iterator[str]

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(next(type(self).snapshots).encode())

    def log_message(self, *args: object) -> None:
        """Not on the screen."""


def exposition(requests: int, tokens: int, steps: int, rows: int, resident: int) -> str:
    return (
        f'# HELP ringmt_requests_total requests\nringmt_requests_total{{code="200",model="a"}} {requests}.0\n'
        f'ringmt_requests_total{{code="429",model="b c"}} 2.0\nringmt_target_tokens_total{{model="a"}} {tokens}\n'
        f"ringmt_decode_steps_total {steps}\nringmt_decode_batch_rows_sum {rows}\n"
        f"process_resident_memory_bytes {resident:.3e}\n"
    )


def test_what_was_done_is_the_difference_of_two_readings() -> None:
    Exposition.snapshots = iter([exposition(10, 100, 4, 30, 500 * MIB), exposition(17, 190, 14, 75, 512 * MIB)])
    with http.server.HTTPServer(("127.0.0.1", 0), Exposition) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            base = f"http://127.0.0.1:{server.server_port}"
            before = MetricsSnapshot.read(base)
            done = MetricsSnapshot.read(base).since(before)
        finally:
            server.shutdown()
            thread.join()
    assert before.totals["ringmt_requests_total"] == 12
    assert done == {
        "requests": 7, "refused": 0, "cancelled sentences": 0, "tokens": 90, "rows a step": 4.5,
        "memory grown by MiB": pytest.approx(12, abs=1),
    }  # fmt: skip
