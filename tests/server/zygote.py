"""Processes of `ringmt` that need not import it: one process a test run has done so, and every other is its fork.

Such a process runs the program of a command line with its own arguments and environment, ends as it does, and costs two
seconds of processor less. Imports start no threads, so that a fork has all that it needs.

`python -m tests.server.zygote FD` is the process that forks, and reads requests from the socket FD until it is closed.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.children import PATIENCE

ROOT = Path(__file__).parents[2]
IMPORTED = ("server.cli.main", "server.cli.serve", "uvicorn.loops.auto", "uvicorn.lifespan.on", "encodings.idna")
"""Imported before any fork. onnxruntime is not: it starts a thread."""
MOST_BYTES = 2**17
"""Of a request: an environment and arguments."""


class Forked:
    """A fork of the zygote that runs a program, with the methods of `tests.children.Child` that tests use."""

    def __init__(self, program: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        reading, writing = os.pipe()
        self.stderr = os.fdopen(reading, "rb", buffering=0)
        self.args = [program, *arguments]
        self.pid: int = ask({"run": self.args, "environment": dict(environment)}, writing)
        os.close(writing)
        self._pidfd = os.pidfd_open(self.pid)
        self.returncode: int | None = None
        self._log = b""

    def poll(self) -> int | None:
        if self.returncode is None and _is_readable(self._pidfd, 0):
            status = os.waitstatus_to_exitcode(ask({"reap": self.pid}))
            os.close(self._pidfd)
            self.returncode = status
        return self.returncode

    def wait(self, timeout: float | None = PATIENCE) -> int:
        """Raises subprocess.TimeoutExpired."""
        if self.returncode is None and not _is_readable(self._pidfd, timeout):
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        status = self.poll()
        assert status is not None
        return status

    def send_signal(self, number: int) -> None:
        """Nothing if the process has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def end(self) -> None:
        """Kill the process, if it has not ended."""
        self.kill()
        self.stderr.close()
        self.wait()

    def communicate(self, timeout: float | None = PATIENCE) -> tuple[str, str]:
        """The end of the process, and what it wrote to its standard error. Raises subprocess.TimeoutExpired."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.stderr.closed:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not _is_readable(self.stderr.fileno(), left):
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0, stderr=self._log)
            part = self.stderr.read(MOST_BYTES)
            self._log += part
            if not part:
                self.stderr.close()
        self.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
        return "", self._log.decode(errors="replace")


def _is_readable(descriptor: int, seconds: float | None) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(None if seconds is None else 1000 * seconds))


_asking = threading.Lock()


def ask(request: Mapping[str, Any], *descriptors: int) -> int:
    """The answer of the zygote, which is started by the first request."""
    with _asking:
        zygote = _zygote()
        try:
            socket.send_fds(zygote, [json.dumps(request).encode()], descriptors)
            answer = zygote.recv(100)
        except BaseException:  # the answer to this request would be taken for that to the next one
            _zygote.cache_clear()
            zygote.close()
            raise
    assert answer, "the process that forks has ended"
    return int(answer)


@functools.cache
def _zygote() -> socket.socket:
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(PATIENCE)
    command = [sys.executable, "-m", "tests.server.zygote", str(its.fileno())]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with its:
        process = subprocess.Popen(
            command, env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            pass_fds=[its.fileno()],
        )  # fmt: skip
    atexit.register(process.wait)
    atexit.register(ours.close)  # before: it ends the process
    return ours


def fork_on_request(requests: socket.socket) -> list[str] | None:
    """Fork for every request: returns the command line in the fork, and None in the zygote after the last request."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, MOST_BYTES, 1)
        if not message:
            return None
        request = json.loads(message)
        if "reap" in request:
            answer = os.waitpid(request["reap"], 0)[1]
        else:
            answer = os.fork()
            if answer == 0:
                requests.close()
                os.dup2(descriptors[0], sys.stderr.fileno())
                os.close(descriptors[0])
                os.environ.clear()
                os.environ.update(request["environment"])
                signal.signal(signal.SIGINT, signal.default_int_handler)
                command: list[str] = request["run"]
                return command
        for descriptor in descriptors:
            os.close(descriptor)
        requests.send(str(answer).encode())


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, which then close the socket
    for name in IMPORTED:
        importlib.import_module(name)
    assert len(os.listdir("/proc/self/task")) == 1, "a fork would lack these threads"
    gc.collect()
    gc.freeze()
    command = fork_on_request(socket.socket(fileno=int(sys.argv[1])))
    if command is not None:
        gc.unfreeze()
        sys.argv = command
        runpy.run_module(command[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
