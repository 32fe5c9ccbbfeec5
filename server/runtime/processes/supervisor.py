"""The process that starts the workers of a server, passes connections to them, replaces those that end, and stops them.

It is small, has one thread, and knows nothing of translation. Workers are its forks."""

import contextlib
import logging
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType

from server.runtime.processes.board import STARTING, Board
from server.runtime.processes.connection_channel import ConnectionChannel
from server.runtime.processes.load_balancer import FRESH_SECONDS, LoadBalancer, WorkerSlot
from server.runtime.processes.parent_death import end_with_parent

logger = logging.getLogger("ringmt")

STOP_AT_ONCE = signal.SIGUSR1 if hasattr(signal, "SIGUSR1") else signal.SIGTERM
"""What the supervisor sends to a worker that stops, when it must stop at once."""
HUNG_SECONDS = 60.0
"""Seconds without a sign of its event loop, after which a worker is killed and replaced."""
FIRST_DELAY, LONGEST_DELAY = 0.1, 10.0
"""Seconds before a worker is replaced; twice as long after each that ended within STEADY_SECONDS."""
STEADY_SECONDS = 60.0
MOST_FAILURES = 8
"""Workers in succession that end before they are ready, and no other works: then the server ends, too."""
POLL_SECONDS = 0.25
"""Seconds between two checks of the workers."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass
class _Slot(WorkerSlot):
    pidfd: int = -1
    started: float = 0.0
    delay: float = FIRST_DELAY
    start_at: float = 0.0


@dataclass(frozen=True)
class Ended:
    """The supervisor has ended, with the exit status of the server."""

    status: int


@dataclass(frozen=True)
class Forked:
    """This process is a worker; it takes its connections from `channel`."""

    slot: int
    channel: ConnectionChannel


class Supervisor:
    """Starts `board.count` workers."""

    def __init__(
        self,
        listening: Sequence[socket.socket],
        board: Board,
        stop_seconds: float,
        on_end: Callable[[int], None] = lambda slot: None,
    ) -> None:
        """`stop_seconds`: what a worker may take to stop; then it is killed. `on_end` is called with the slot of a
        worker that has ended."""
        self._board, self._stop_seconds, self._on_end = board, stop_seconds, on_end
        self._slots = [_Slot(number) for number in range(board.count)]
        self._selector = selectors.DefaultSelector()
        self._balancer = LoadBalancer(listening, board, self._slots, self._selector)
        self._num_signals, self._num_handled = 0, 0
        self._kill_at = float("inf")
        self._has_been_ready = False
        self._failures = 0
        self._status = 0
        self._checked_at = time.monotonic()

    def run(self) -> Ended | Forked:
        """Returns once in every worker, and in the supervisor when all of them have ended."""
        with self._signals() as wakes:
            self._selector.register(wakes, selectors.EVENT_READ)
            while True:
                if (forked := self._start_workers()) is not None:
                    break
                if all(slot.pid is None for slot in self._slots) and self._is_stopping:
                    break
                self._balancer.distribute()
                for key, _ in self._selector.select(POLL_SECONDS):
                    if key.fileobj is wakes:
                        wakes.recv(1024)
                    elif isinstance(key.data, _Slot):
                        self._reap(key.data)
                    elif isinstance(key.fileobj, socket.socket):
                        self._balancer.accept(key.fileobj)
                self._handle_signals()
                self._check_workers()
        if forked is not None:
            return forked
        for slot in self._slots:
            self._balancer.reclaim(slot)
            slot.channel.close()
        self._balancer.close()
        return Ended(self._status)

    @property
    def _is_stopping(self) -> bool:
        return self._num_handled > 0

    @contextlib.contextmanager
    def _signals(self) -> Iterator[socket.socket]:
        """A socket that is readable after a signal. Former handlers come back at the end, also in a worker."""
        reading, writing = socket.socketpair()
        reading.setblocking(False)
        writing.setblocking(False)
        former = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        wakes_before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        try:
            yield reading
        finally:
            signal.set_wakeup_fd(wakes_before)
            for number, handler in former.items():
                signal.signal(number, handler)
            reading.close()
            writing.close()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._num_signals += 1

    def _start_workers(self) -> Forked | None:
        """Start the workers whose time has come; returns in a new worker what it is."""
        for slot in self._slots:
            if slot.pid is not None or self._is_stopping or time.monotonic() < slot.start_at:
                continue
            parent, earlier = os.getpid(), {signal.SIGINT, signal.SIGTERM, STOP_AT_ONCE}
            signal.pthread_sigmask(signal.SIG_BLOCK, earlier)  # until the worker has no handler of the supervisor
            pid = os.fork()
            if pid == 0:
                for number in _SIGNALS:
                    signal.signal(number, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, earlier)
                end_with_parent(parent)
                self._leave(slot)
                return Forked(slot.number, slot.channel)
            self._board.begin(slot.number, pid)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, earlier)
            slot.pid, slot.pidfd = pid, os.pidfd_open(pid)
            slot.started = time.monotonic()
            self._selector.register(slot.pidfd, selectors.EVENT_READ, slot)
        return None

    def _leave(self, own: _Slot) -> None:
        """In a worker: close what belongs to the supervisor."""
        self._selector.close()
        self._balancer.close()
        for slot in self._slots:
            if slot.pid is not None:
                os.close(slot.pidfd)
            if slot is own:
                slot.channel.close_sending()
            else:
                slot.channel.close()

    def _reap(self, slot: _Slot) -> None:
        """A worker has ended."""
        assert slot.pid is not None
        _, waited = os.waitpid(slot.pid, 0)
        status = os.waitstatus_to_exitcode(waited)
        pid = slot.pid
        self._selector.unregister(slot.pidfd)
        os.close(slot.pidfd)
        was_ready = self._board.was_ready(slot.number)
        was_steady = time.monotonic() - slot.started > STEADY_SECONDS
        was_starting = self._board.state(slot.number) == STARTING
        slot.pid = None
        self._board.begin(slot.number, 0)
        self._on_end(slot.number)
        self._balancer.reclaim(slot)
        if self._is_stopping:
            if status != 0 and not (was_starting and status == -signal.SIGTERM):
                self._status = 1
        elif not (self._has_been_ready or was_ready):
            logger.error("worker process %d ended before it was ready: the server is not started", slot.number)
            self._end(1)
        else:
            self._failures = 0 if was_ready else self._failures + 1
            slot.delay = FIRST_DELAY if was_steady else min(LONGEST_DELAY, 2 * slot.delay)
            slot.start_at = time.monotonic() + slot.delay
            how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
            logger.error("worker process %d (%d) %s and is replaced in %.1f s", slot.number, pid, how, slot.delay)
            if self._failures >= MOST_FAILURES and all(other.pid is None for other in self._slots):
                logger.error("no worker process can be started any more")
                self._end(1)

    def _end(self, status: int) -> None:
        """Stop now, without waiting for what is in work."""
        self._num_handled, self._status = max(1, self._num_handled), status
        self._send(signal.SIGKILL)

    def _handle_signals(self) -> None:
        """Act on the signals that came since."""
        while self._num_handled < self._num_signals:
            self._num_handled += 1
            if self._num_handled == 1:
                self._kill_at = time.monotonic() + self._stop_seconds
                self._send(signal.SIGTERM)
            else:
                self._send(STOP_AT_ONCE)

    def _send(self, number: int) -> None:
        for slot in self._slots:
            if slot.pid is not None:
                signal.pidfd_send_signal(slot.pidfd, number)

    def _reap_others(self) -> None:
        """In a container this may be the first process, which gets the children of workers that were killed."""
        workers = [slot.pid for slot in self._slots]
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                if ended.si_pid in workers:
                    return  # `_reap` is called for it
                os.waitpid(ended.si_pid, 0)

    def _check_workers(self) -> None:
        """Note which workers are ready, and kill those that hang."""
        self._reap_others()
        now, before = time.monotonic(), self._checked_at
        self._checked_at = now
        for slot in self._slots:
            if slot.pid is None:
                continue
            self._has_been_ready |= self._board.was_ready(slot.number)
            # If this process was stopped itself, the workers may have been stopped, too.
            hangs = now - before < FRESH_SECONDS and self._board.seconds_since_beat(slot.number) > HUNG_SECONDS
            if hangs or now > self._kill_at:
                logger.error("worker process %d (%d) hangs and is killed", slot.number, slot.pid)
                signal.pidfd_send_signal(slot.pidfd, signal.SIGKILL)
