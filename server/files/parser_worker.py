"""One parser process and the thread of the server that controls it: starts it, sends requests, ends it and starts the
next. Which file is next is decided in `parser_pool`."""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO, get_args

import server
from server.files.formats.base import DamagedFile, FileError, FileTooLarge
from server.files.limits import OUT_OF_MEMORY, FileLimits, out_of_memory_message
from server.files.messages import Closed, MessageTooLarge, receive, send
from server.files.parsing import ERRORS, Failure

logger = logging.getLogger("ringmt")

# The process imports the package of this server, whatever is in the folder that the server was started in; the path is
# then removed, so that it hides no other module.
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); import server; del sys.path[0]; "
    "from server.files.parser_process import main; main(int(sys.argv[2]), float(sys.argv[3]))"
)
_PACKAGES = str(Path(server.__file__).parents[1])
_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "SYSTEMROOT")
"""The environment of a parser process; the server's other variables may hold secrets."""
_JSON_BYTES_PER_CHARACTER = 8
"""At most 6 for a control character, and a share of quotes and commas."""
_JSON_SLACK = 2**16


OnFailure = Callable[[Failure], None]
FAILURES: tuple[Failure, ...] = get_args(Failure)


def ignore_failure(failure: Failure) -> None:
    pass


class Killed(Exception):
    """The process was killed by `ParserWorker.kill` before it had answered."""


@dataclass(frozen=True)
class Answer:
    """The fields and the bytes of an answer."""

    fields: dict[str, Any]
    data: bytes


@dataclass(frozen=True)
class _Request:
    fields: Mapping[str, Any]
    data: bytes
    answered: "Future[Answer]" = field(default_factory=Future)


class ParserWorker:
    """Use it from one thread, one request at a time."""

    def __init__(self, limits: FileLimits, on_failure: OnFailure = ignore_failure) -> None:
        """`on_failure` is called, in any thread, whenever a process gives up a file."""
        self._limits, self._on_failure = limits, on_failure
        self._requests: SimpleQueue[_Request | None] = SimpleQueue()
        self._lock = threading.Lock()
        """Guards the next three."""
        self._process: subprocess.Popen[bytes] | None = None
        self._is_spent = False
        """Whether that process was killed; the system may list it as running for a moment longer."""
        self._is_killed = False
        """Whether the caller has given up the last request."""
        self.ended: Future[None] = Future()
        """Resolved after `stop`, when the process is gone."""
        # The process ends with the thread that started it, so this one lives as long as the worker. It must not delay
        # the server's end.
        threading.Thread(target=self._work, name="file-parser", daemon=True).start()

    def submit(self, fields: Mapping[str, Any], data: bytes) -> "Future[Answer]":
        """Send a request. The answer raises FileError, Killed after `kill`, or OSError where no process starts."""
        request = _Request(fields, data)
        with self._lock:
            self._is_killed = False
        self._requests.put(request)
        return request.answered

    def kill(self) -> None:
        """End the process; its request raises Killed. The next request starts another process."""
        with self._lock:
            self._is_killed = True
            self._kill_process()

    def stop(self) -> None:
        """Kill the process and let the thread end."""
        self.kill()
        self._requests.put(None)

    def _kill_process(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._is_spent = True

    def _work(self) -> None:
        if hasattr(signal, "pthread_sigmask"):  # processes inherit it: signals for the group do not end one that starts
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        while (request := self._requests.get()) is not None:
            if not request.answered.set_running_or_notify_cancel():
                continue
            try:
                answer = self._answer(request)
            except FileError as error:
                request.answered.set_exception(error)
            except Exception as error:
                self._end_process()
                request.answered.set_exception(error)
            else:
                request.answered.set_result(answer)
                del answer
            del request  # releases a large file before the next request comes
        self._end_process()
        self.ended.set_result(None)

    def _answer(self, request: _Request) -> Answer:
        process = self._send(request)
        answers = _pipes(process)[1]
        try:
            max_fields = _JSON_SLACK + _JSON_BYTES_PER_CHARACTER * int(request.fields["max_characters"])
            fields, data = receive(answers, max_fields, self._limits.max_written_bytes)
        except MessageTooLarge:
            self._end_process()
            max_megabytes = self._limits.max_written_bytes // 2**20
            raise FileTooLarge(f"the translated file is too large: at most {max_megabytes} MB; split it") from None
        except (OSError, Closed):
            raise self._why_ended(process) from None
        if fields.get("retires"):
            self._end_process()
        if fields.get("failure") in FAILURES:
            self._on_failure(fields["failure"])
        if "fault" in fields:
            logger.error("a file could not be parsed: %s", fields["fault"])
        if "error" in fields:
            raise ERRORS.get(str(fields["error"]), FileError)(str(fields.get("message")))
        return Answer(fields, data)

    def _send(self, request: _Request) -> "subprocess.Popen[bytes]":
        """The process that has read the request. A process that ended while it was idle is replaced: this request is
        not the reason. Raises OSError, Killed, FileError."""
        process = self._process
        if process is not None and not self._is_spent:
            try:
                _send_request(process, request)
                return process
            except (OSError, Closed, MessageTooLarge):
                if self._is_killed:
                    raise self._why_ended(process) from None
        self._end_process()
        process = self._start()
        try:
            _send_request(process, request)
        except (OSError, Closed, MessageTooLarge):
            raise self._why_ended(process) from None
        return process

    def _start(self) -> "subprocess.Popen[bytes]":
        """A process that is ready. Raises OSError, Killed."""
        limits = self._limits
        command = [sys.executable, "-P", "-c", _PROGRAM, _PACKAGES, str(limits.memory_bytes), str(limits.cpu_seconds)]
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        with self._lock:
            self._process, self._is_spent = process, False
            if self._is_killed:
                self._kill_process()
        try:
            receive(_pipes(process)[1], _JSON_SLACK, 0)
        except (OSError, Closed, MessageTooLarge):
            if process.wait() > 0 and not self._is_killed:  # it exited by itself; a signal would come from outside
                raise OSError(f"a parser process does not start (exit status {process.returncode})") from None
            raise self._why_ended(process) from None
        return process

    def _why_ended(self, process: "subprocess.Popen[bytes]") -> Exception:
        """The error for a process that ended without an answer."""
        process.kill()  # it may only have closed its output
        status = process.wait()
        self._end_process()
        if self._is_killed:
            return Killed()
        logger.warning("a parser process ended at a client's file, with status %d", status)
        if status == -getattr(signal, "SIGXCPU", 0):
            self._on_failure("cpu_time")
            return FileTooLarge(
                f"the file takes more than {self._limits.cpu_seconds:g} seconds of processor time; split it"
            )
        if status == OUT_OF_MEMORY:
            self._on_failure("memory")
            return FileTooLarge(out_of_memory_message(self._limits.memory_bytes))
        if status == -getattr(signal, "SIGKILL", 0):
            self._on_failure("memory")
            return FileTooLarge("there is too little memory for the file; split it, or try again later")
        self._on_failure("crash")
        return DamagedFile(f"the file cannot be read: its parser ended (status {status}); save it again")

    def _end_process(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in _pipes(process):
                with contextlib.suppress(OSError):  # the rest of a request cannot be sent any more
                    pipe.close()


def _send_request(process: "subprocess.Popen[bytes]", request: _Request) -> None:
    """Send a request, and wait until the process has read it. Raises OSError, Closed, MessageTooLarge."""
    requests, answers = _pipes(process)
    send(requests, dict(request.fields), request.data)
    receive(answers, _JSON_SLACK, 0)


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[BinaryIO, BinaryIO]:
    """Its input and its output."""
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout  # type: ignore[return-value]
