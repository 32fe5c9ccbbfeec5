"""The waiting room: sentences queue here, their owners take turns; cancelled and late ones leave. Knows no tensors."""

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from server.engine.request import Cancelled, DeadlineExceeded, Overloaded, SentenceRequest, SideTask
from server.scheduling.caller import WEIGHTS, Caller, Service
from server.scheduling.fair_queue import FairQueue, Path
from server.scheduling.shared_budget import SharedBudget


class RequestQueue:
    """Shared by the threads that submit and the workers that take. Errands wait in lines of their own, with a bound of
    their own.

    Whose turn it is: tenants (the owners of API keys) take turns; within a tenant, interactive requests and background
    work, in shares of 4 to 1; within these, each request and each document. See `FairQueue`.

    How much may wait: interactive sentences and errands are bounded in all and for each tenant (see `SharedBudget`),
    and what does not fit is refused. Background work counts for none of these bounds, so that no request is refused
    because of it. It is bounded by its number of jobs: each waits for its few sentences before it queues more.
    """

    def __init__(self, max_waiting: int, max_tokens: int | None = None) -> None:
        """A tenant may have at most `max_waiting` interactive sentences waiting, and `max_tokens` source tokens."""
        self.max_waiting, self.max_tokens = max_waiting, max_tokens
        self._waiting: FairQueue[SentenceRequest] = FairQueue(weights=WEIGHTS)
        self._errands: FairQueue[SideTask[Any]] = FairQueue(weights=WEIGHTS)
        self._count = 0
        """Sentences that wait, in however many lines each does."""
        self._cost = 0
        self._sentences = SharedBudget(max_waiting)
        self._tokens = SharedBudget(sys.maxsize if max_tokens is None else max_tokens)
        self._interactive_errands = SharedBudget(max_waiting)
        lock = threading.Lock()
        self._changed = threading.Condition(lock)
        self._lock = lock
        self._idle: list[threading.Condition] = []
        """What idle workers wait for. The last one became idle last and is woken first: its CPU caches are warmest."""
        self.in_flight = 0
        """Sentences and errands that were taken and not answered yet."""
        self._closed = False

    def __len__(self) -> int:
        return self._count

    def check_room(self, caller: Caller, count: int) -> None:
        """Raise Overloaded if `count` sentences of the caller cannot be queued now."""
        if caller.service is Service.BACKGROUND or self._sentences.fits(caller.tenant, count):
            return
        own, waiting = self._sentences.held(caller.tenant), self._sentences.total
        others = f", and {waiting - own} of others" if waiting > own else ""
        raise Overloaded(f"{own} sentences wait already{others}, at most {self.max_waiting} may")

    def put(self, requests: list[SentenceRequest]) -> None:
        """Queue all of `requests`, which have one caller, or none. Raises Overloaded when they do not fit."""
        if not requests:
            return
        caller = requests[0].caller
        with self._changed:
            self.check_room(caller, len(requests))
            self._check_tokens(caller, sum(len(request.source_ids) for request in requests))
            now = time.monotonic()
            for request in requests:
                request.arrival = now
                request.future.set_running_or_notify_cancel()  # from here on only the engine resolves it
                self._count_in(request)
                self._waiting.put(request, len(request.source_ids), *request.line)
            self._wake(len(requests))

    def _check_tokens(self, caller: Caller, tokens: int) -> None:
        """Raise Overloaded if so many source tokens of the caller cannot be queued now."""
        if caller.service is Service.BACKGROUND or self._tokens.fits(caller.tenant, tokens):
            return
        # A request above the budget is let in when nothing of its tenant waits; otherwise it never would be.
        if self._tokens.held(caller.tenant):
            raise Overloaded(f"{self._tokens.total} source tokens wait already, at most {self.max_tokens} may")

    def _count_in(self, request: SentenceRequest) -> None:
        self._count += 1
        self._cost += len(request.source_ids)
        if request.caller.service is Service.INTERACTIVE:
            self._sentences.take(request.caller.tenant, 1)
            self._tokens.take(request.caller.tenant, len(request.source_ids))

    def _count_out(self, request: SentenceRequest) -> None:
        """The sentence waits no longer, in none of its lines."""
        request.is_taken = True
        self._count -= 1
        self._cost -= len(request.source_ids)
        if request.caller.service is Service.INTERACTIVE:
            self._sentences.give_back(request.caller.tenant, 1)
            self._tokens.give_back(request.caller.tenant, len(request.source_ids))
        if not self._count:  # what is left was taken by another of its lines
            self._waiting.clear()

    def requeue(self, request: SentenceRequest, line: Path) -> None:
        """Let a waiting sentence wait in another line as well; it is taken by the line whose turn comes first, and
        counts once. No effect when it has been taken, or when as many wait in several lines as may wait in all."""
        with self._changed:
            if not request.is_taken and len(self._waiting) - self._count < self.max_waiting:
                self._waiting.put(request, len(request.source_ids), *line)

    def put_side_task(self, side_task: "SideTask[Any]") -> None:
        """Queue an errand. Raises Overloaded when it does not fit."""
        with self._changed:
            tenant, is_counted = side_task.caller.tenant, side_task.caller.service is Service.INTERACTIVE
            if is_counted and not self._interactive_errands.fits(tenant, 1):
                waiting = self._interactive_errands.total
                raise Overloaded(f"{waiting} errands wait already, at most {self.max_waiting} may")
            if is_counted:
                self._interactive_errands.take(tenant, 1)
            self._errands.put(side_task, side_task.cost, *side_task.line)
            self._wake(1)

    def _wake(self, count: int) -> None:
        for _ in range(min(count, len(self._idle))):
            self._idle.pop().notify()

    @property
    def waiting_tokens(self) -> int:
        """Source tokens of the sentences that wait."""
        return self._cost

    @property
    def num_side_tasks(self) -> int:
        """Errands that wait."""
        return len(self._errands)

    @property
    def is_done(self) -> bool:
        """Nothing waits and nothing that was taken is unanswered."""
        return not (self._count or len(self._errands) or self.in_flight)

    def fair_share(self, workers: int) -> int:
        """How many of the sentences that wait or are in flight each of `workers` should have."""
        return -(-(self._count + self.in_flight) // workers)

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
            while self._count and len(taken) < count:
                request = self._waiting.peek()
                if request.is_taken:
                    self._waiting.pop(is_free=True)
                    continue
                if is_over(request, now):
                    self._waiting.pop(is_free=True)
                    self._count_out(request)
                    dropped.append(request)
                    continue
                widest = max(widest, len(request.source_ids))
                if taken and widest * (len(taken) + 1) > max_tokens:
                    break
                taken.append(self._waiting.pop())
                self._count_out(request)
                self.in_flight += 1
        for request in dropped:  # without the lock: a callback may queue another sentence
            drop(request)
        return taken, dropped

    def take_side_task(self) -> "SideTask[Any] | None":
        """Take the errand whose turn it is; None when there is none."""
        with self._changed:
            if not self._errands:
                return None
            self.in_flight += 1
            side_task = self._errands.pop()
            if side_task.caller.service is Service.INTERACTIVE:
                self._interactive_errands.give_back(side_task.caller.tenant, 1)
            return side_task

    def wait(self, timeout: float) -> None:
        """For workers: block until something waits, the room is closed, or `timeout` seconds have passed. New sentences
        wake as many workers as there are sentences."""
        with self._lock:
            if self._count or self._errands or self._closed:
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

    def empty(self) -> "list[SentenceRequest | SideTask[Any]]":
        """Take out everything that waits, for a shutdown."""
        with self._changed:
            waiting = dict.fromkeys(one for one in self._waiting if not one.is_taken)
            left = [*waiting, *self._errands]
            for one in waiting:
                self._count_out(one)
            self._errands.clear()
            self._interactive_errands.clear()
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
