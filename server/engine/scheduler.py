"""The waiting room: sentences queue here, their owners take turns; cancelled and late ones leave. Knows no tensors."""

import threading
import time
from collections.abc import Callable, Hashable
from typing import Any

from server.engine.lines import Lines
from server.engine.request import Cancelled, DeadlineExceeded, Errand, Overloaded, SentenceRequest


class WaitingRoom:
    """Bounded; shared by the threads that submit and the workers that take. Errands wait in lines of their own, with a
    bound of their own."""

    def __init__(self, max_waiting: int, max_tokens: int | None = None) -> None:
        """At most `max_waiting` sentences, and `max_tokens` source tokens, may wait."""
        self.max_waiting, self.max_tokens = max_waiting, max_tokens
        self._waiting: Lines[SentenceRequest] = Lines()
        self._errands: Lines[Errand[Any]] = Lines()
        lock = threading.Lock()
        self._changed = threading.Condition(lock)
        self._lock = lock
        self._idle: list[threading.Condition] = []
        """What idle workers wait for. The last one became idle last and is woken first: its CPU caches are warmest."""
        self.in_flight = 0
        """Sentences and errands that were taken and not answered yet."""
        self._closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, requests: list[SentenceRequest]) -> None:
        """Queue all of `requests` or none. Raises Overloaded when they do not fit."""
        with self._changed:
            if len(self._waiting) + len(requests) > self.max_waiting:
                raise Overloaded(f"{len(self._waiting)} sentences wait already, at most {self.max_waiting} may")
            tokens = sum(len(request.source_ids) for request in requests)
            # A request above the budget is let in when nothing waits; otherwise it never would be.
            if self.max_tokens is not None and self._waiting and self._waiting.cost + tokens > self.max_tokens:
                raise Overloaded(f"{self._waiting.cost} source tokens wait already, at most {self.max_tokens} may")
            now = time.monotonic()
            for request in requests:
                request.arrival = now
                request.future.set_running_or_notify_cancel()  # from here on only the engine resolves it
                self._waiting.put(request, len(request.source_ids), request.owner)
            self._wake(len(requests))

    def put_again(self, request: SentenceRequest, owner: Hashable) -> None:
        """Let a waiting sentence wait in another owner's line as well; it is taken by the line whose turn comes first.
        No effect when there is no room, or when it has been taken."""
        with self._changed:
            if not request.is_taken and len(self._waiting) < self.max_waiting:
                self._waiting.put(request, len(request.source_ids), owner)

    def put_errand(self, errand: "Errand[Any]") -> None:
        """Queue an errand. Raises Overloaded when it does not fit."""
        with self._changed:
            if len(self._errands) >= self.max_waiting:
                raise Overloaded(f"{len(self._errands)} errands wait already, at most {self.max_waiting} may")
            self._errands.put(errand, errand.cost, errand.owner)
            self._wake(1)

    def _wake(self, count: int) -> None:
        for _ in range(min(count, len(self._idle))):
            self._idle.pop().notify()

    @property
    def waiting_tokens(self) -> int:
        """Source tokens of the sentences that wait."""
        return self._waiting.cost

    @property
    def num_errands(self) -> int:
        """Errands that wait."""
        return len(self._errands)

    @property
    def is_done(self) -> bool:
        """Nothing waits and nothing that was taken is unanswered."""
        return not (len(self._waiting) or len(self._errands) or self.in_flight)

    def fair_share(self, workers: int) -> int:
        """How many of the sentences that wait or are in flight each of `workers` should have."""
        return -(-(len(self._waiting) + self.in_flight) // workers)

    def leave(self) -> None:
        """A sentence or an errand that was taken has been answered."""
        with self._changed:
            self.in_flight -= 1

    def take(self, count: int, max_tokens: int) -> tuple[list[SentenceRequest], list[SentenceRequest]]:
        """Take up to `count` sentences, in turn, whose padded batch has at most `max_tokens`; at least one if any
        waits.

        Returns them, and the cancelled and late sentences that were met on the way, which have been answered.
        """
        taken: list[SentenceRequest] = []
        dropped: list[SentenceRequest] = []
        widest = 0
        now = time.monotonic()
        with self._changed:
            while self._waiting and len(taken) < count:
                request = self._waiting.peek()
                if request.is_taken or is_over(request, now):
                    if not request.is_taken:
                        request.is_taken = True
                        dropped.append(request)
                    self._waiting.pop(is_free=True)
                    continue
                widest = max(widest, len(request.source_ids))
                if taken and widest * (len(taken) + 1) > max_tokens:
                    break
                request.is_taken = True
                taken.append(self._waiting.pop())
                self.in_flight += 1
        for request in dropped:  # without the lock: a callback may queue another sentence
            drop(request)
        return taken, dropped

    def take_errand(self) -> "Errand[Any] | None":
        """Take the errand whose turn it is; None when there is none."""
        with self._changed:
            if not self._errands:
                return None
            self.in_flight += 1
            return self._errands.pop()

    def wait(self, timeout: float) -> None:
        """For workers: block until something waits, the room is closed, or `timeout` seconds have passed. New sentences
        wake as many workers as there are sentences."""
        with self._lock:
            if self._waiting or self._errands or self._closed:
                return
            woken = threading.Condition(self._lock)
            self._idle.append(woken)
            woken.wait(timeout)
            if woken in self._idle:
                self._idle.remove(woken)

    def wait_until(self, condition: Callable[[], bool], until: float) -> bool:
        """Block until `condition` holds or time.monotonic() reaches `until`; returns whether it held."""
        with self._changed:
            return self._changed.wait_for(condition, max(0.0, until - time.monotonic()))

    def signal(self) -> None:
        """Let `wait_until` check its condition again."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """Wake every worker for good."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            while self._idle:
                self._idle.pop().notify()

    def empty(self) -> "list[SentenceRequest | Errand[Any]]":
        """Take out everything that waits, for a shutdown."""
        with self._changed:
            waiting = dict.fromkeys(one for one in self._waiting if not one.is_taken)
            left = [*waiting, *self._errands]
            self._waiting.clear()
            self._errands.clear()
        return left


def is_over(request: SentenceRequest, now: float) -> bool:
    """Cancelled or late."""
    return request.is_cancelled or now > request.deadline


def drop(request: SentenceRequest) -> None:
    """Answer a cancelled or late sentence with its error."""
    if request.is_cancelled:
        request.future.set_exception(Cancelled("the sentence was cancelled"))
    else:
        request.future.set_exception(DeadlineExceeded("the deadline passed before the sentence was translated"))


def drop_if_over(request: SentenceRequest, now: float) -> bool:
    """`drop` the sentence if it is cancelled or late; returns whether it was."""
    over = is_over(request, now)
    if over:
        drop(request)
    return over
