"""The queue of sentences in front of the engine, fair between their owners. Cancelled and expired sentences leave it.
Knows no tensors."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from server.engine.idle_workers import IdleWorkers
from server.engine.long_work import LongWork
from server.engine.placement import tokens_to_take
from server.engine.queue_budget import QueueBudget, Reservation
from server.engine.request import Overloaded, SentenceRequest, SideTask
from server.scheduling.caller import WEIGHTS, Caller, Service
from server.scheduling.fair_queue import FairQueue, FlowPath
from server.scheduling.shared_budget import SharedBudget

MAX_SHORT_SENTENCES, MAX_SHORT_TOKENS = 8, 256
"""Sentences and source tokens of a short request: what a person waits for, not a batch. A paragraph is one: with fewer
sentences, paragraphs waited for every request of a sentence or two, and ran in smaller batches beside them."""


class RequestQueue:
    """Shared by the threads that submit and the workers that take. Side tasks have a fair queue and a limit of their
    own.

    Order: tenants (the owners of API keys) take turns; within a tenant, interactive requests and background work, in
    shares of 4 to 1; within these, each request and each document. See `FairQueue`.

    Limits: interactive sentences and side tasks are limited in total and for each tenant (see `SharedBudget`); what
    exceeds the limit is rejected. Background work does not count, so that it never causes a request to be rejected. It
    is limited by its number of jobs: each job queues a few sentences and waits for them before it queues more.

    Short interactive requests (MAX_SHORT_SENTENCES, MAX_SHORT_TOKENS) also wait in a second queue, fair between
    tenants, from which they alone are taken: for slots and time that longer work leaves to them.
    """

    def __init__(self, max_waiting: int, max_tokens: int | None = None) -> None:
        """Limits of a tenant's interactive sentences: `max_waiting` sentences and `max_tokens` source tokens."""
        self.max_waiting = max_waiting
        self._requests: FairQueue[SentenceRequest] = FairQueue(weights=WEIGHTS)
        self._short: FairQueue[SentenceRequest] = FairQueue()
        self._side_tasks: FairQueue[SideTask[Any]] = FairQueue(weights=WEIGHTS)
        self._count = 0
        """Sentences that wait, each counted once however many flows it is in."""
        self._cost = 0
        self._budget = QueueBudget(max_waiting, max_tokens)
        self._side_task_budget = SharedBudget(max_waiting)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._idle_workers = IdleWorkers(self._lock)
        self._long_work = LongWork()
        self.in_flight = 0
        """Sentences and side tasks that were taken and not resolved yet."""
        self._short_in_flight = 0
        """Those of short requests among them."""
        self._closed = False

    def __len__(self) -> int:
        return self._count

    def check_capacity(self, caller: Caller, count: int) -> None:
        """Raise Overloaded if `count` sentences of the caller cannot be queued now."""
        self._budget.check_sentences(caller, count)

    def reserve(self, requests: Sequence[SentenceRequest]) -> Reservation:
        """Reserve places for all of `requests`, which have one caller. Raises Overloaded when they exceed a limit."""
        reservation = Reservation.of(requests)
        with self._changed:
            self._budget.check(reservation)
            self._budget.acquire(reservation.caller, reservation.sentences, reservation.tokens)
        return reservation

    def release(self, reservation: Reservation) -> None:
        """Release what is left of a reservation."""
        with self._changed:
            self._use(reservation, reservation)

    def _use(self, reservation: Reservation, part: Reservation) -> None:
        """Take a part from a reservation: its sentences are queued now, or need no place."""
        sentences, tokens = part.sentences, part.tokens
        self._budget.release(part.caller, sentences, tokens)
        reservation.sentences -= sentences
        reservation.tokens -= tokens

    def put(self, requests: list[SentenceRequest], reservation: Reservation | None = None) -> None:
        """Queue all of `requests`, which have one caller, or none. Raises Overloaded when they exceed a limit, except
        for a portion of those that have a `reservation`."""
        if not requests:
            return
        needed = Reservation.of(requests)
        caller = needed.caller
        is_few = needed.sentences <= MAX_SHORT_SENTENCES and needed.tokens <= MAX_SHORT_TOKENS
        is_short = is_few and caller.service is Service.INTERACTIVE and reservation is None
        with self._changed:
            if reservation is None:
                self._budget.check(needed)
            else:
                self._use(reservation, needed)
            now = time.monotonic()
            if is_short:
                self._long_work.short_arrived(now)
            for request in requests:
                request.arrival, request.is_short = now, is_short
                request.future.set_running_or_notify_cancel()  # from here on only the engine resolves it
                self._add(request)
                self._requests.put(request, len(request.source_ids), *request.flow)
                if is_short:
                    self._short.put(request, len(request.source_ids), caller.tenant, request)
            self._idle_workers.wake(len(requests))

    def _add(self, request: SentenceRequest) -> None:
        self._count += 1
        self._cost += len(request.source_ids)
        self._budget.acquire(request.caller, 1, len(request.source_ids))

    def _remove(self, request: SentenceRequest) -> None:
        """Remove a sentence from the queue, in all of its flows."""
        request.is_taken = True
        self._count -= 1
        self._cost -= len(request.source_ids)
        self._budget.release(request.caller, 1, len(request.source_ids))
        if request.is_short:
            self._short.remove(request, request.caller.tenant, request)
        if not self._count:  # the remaining entries were taken through other flows
            self._requests.clear()

    def requeue(self, request: SentenceRequest, flow: FlowPath) -> None:
        """Add a waiting sentence to another flow; it is taken through the flow whose turn comes first, and counts once.
        No effect when it has been taken, or when as many entries are duplicates as sentences may wait."""
        with self._changed:
            if not request.is_taken and len(self._requests) - self._count < self.max_waiting:
                self._requests.put(request, len(request.source_ids), *flow)

    def put_side_task(self, side_task: "SideTask[Any]") -> None:
        """Queue a side task. Raises Overloaded when it exceeds the limit."""
        with self._changed:
            if side_task.caller.service is Service.INTERACTIVE:
                if not self._side_task_budget.fits(side_task.caller.tenant, 1):
                    waiting = self._side_task_budget.total
                    raise Overloaded(f"{waiting} side tasks wait already, at most {self.max_waiting} may")
                self._side_task_budget.acquire(side_task.caller.tenant, 1)
            self._side_tasks.put(side_task, side_task.cost, *side_task.flow)
            self._idle_workers.wake(1)

    @property
    def waiting_tokens(self) -> int:
        """Source tokens of the sentences that wait."""
        return self._cost

    @property
    def num_short(self) -> int:
        """Sentences of short requests that wait."""
        return len(self._short)

    @property
    def num_side_tasks(self) -> int:
        """Side tasks that wait."""
        return len(self._side_tasks)

    @property
    def is_drained(self) -> bool:
        """Whether nothing waits and everything that was taken is resolved."""
        return not (self._count or len(self._side_tasks) or self.in_flight)

    def fair_share(self, workers: int) -> int:
        """The part of each of `workers` in the sentences that wait or are in flight."""
        return -(-(self._count + self.in_flight) // workers)

    def fair_share_of_short(self, workers: int) -> int:
        """The part of each of `workers` in the sentences of short requests that wait or are in flight."""
        return -(-(len(self._short) + self._short_in_flight) // workers)

    def place_short(self, own: int, workers: int) -> int | None:
        """How many of the waiting source tokens a worker with `own` unfinished sentences takes (see tokens_to_take);
        None where there is other work than that of short requests."""
        with self._lock:
            if len(self._short) < self._count or self._short_in_flight < self.in_flight:
                return None
            return tokens_to_take(self._cost, own, self.in_flight, workers, len(self._idle_workers))

    def task_done(self, is_short: bool = False) -> None:
        """A sentence or a side task that was taken is resolved."""
        with self._changed:
            self.in_flight -= 1
            self._short_in_flight -= is_short

    def take(
        self, count: int, max_tokens: int, only_short: bool = False, share: int | None = None
    ) -> tuple[list[SentenceRequest], list[SentenceRequest]]:
        """Take up to `count` sentences, in turn, whose padded batch has at most `max_tokens`; at least one if any
        waits. `only_short`: only sentences of short requests. `share`: so many source tokens, as nearly as possible.

        Returns them, and the cancelled and expired sentences before them, which have been aborted.
        """
        taken: list[SentenceRequest] = []
        aborted: list[SentenceRequest] = []
        longest = tokens = 0
        now = time.monotonic()
        with self._changed:
            queue = self._short if only_short else self._requests
            while self._count and len(queue) and len(taken) < count:
                request = queue.peek()
                if request.is_taken:
                    queue.pop(charge=False)
                    continue
                if request.must_abort(now):
                    queue.pop(charge=False)
                    self._remove(request)
                    aborted.append(request)
                    continue
                length = len(request.source_ids)
                longest = max(longest, length)
                too_many = share is not None and tokens + length // 2 > share
                if taken and (too_many or longest * (len(taken) + 1) > max_tokens):
                    break
                tokens += length
                taken.append(queue.pop())
                self._remove(request)
                self.in_flight += 1
                self._short_in_flight += request.is_short
        for request in aborted:  # without the lock: a callback may queue another sentence
            request.abort()
        return taken, aborted

    def take_side_task(self) -> "SideTask[Any] | None":
        """Take the next side task; None when there is none."""
        with self._changed:
            if not self._side_tasks:
                return None
            self.in_flight += 1
            side_task = self._side_tasks.pop()
            if side_task.caller.service is Service.INTERACTIVE:
                self._side_task_budget.release(side_task.caller.tenant, 1)
            return side_task

    def begin_long_work(self, num_engines: int) -> bool:
        """For one of `num_engines`, before work that short requests would wait for. False: another engine has to end
        its own first (see LongWork)."""
        with self._lock:
            if not self._long_work.may_begin(num_engines, time.monotonic()):
                return False
            self._long_work.begin()
            return True

    def end_long_work(self) -> None:
        with self._lock:
            self._long_work.end()
            self._idle_workers.wake(1)

    def wait(self, timeout: float) -> bool:
        """For workers: block until something waits, the queue is closed, or `timeout` seconds have passed; False then.
        New sentences wake as many workers as there are sentences."""
        with self._lock:
            if self._count or self._side_tasks or self._closed:
                return True
            return self._idle_workers.wait(timeout)

    def wait_for_long_work(self, num_engines: int, timeout: float) -> None:
        """For a worker that has nothing but long work to do: block until it may begin, a short request arrives, the
        queue is closed, or `timeout` seconds have passed."""
        with self._lock:
            may_begin = self._long_work.may_begin(num_engines, time.monotonic())
            if not (may_begin or self._short or self._closed):
                self._idle_workers.wait(timeout)

    def wait_until(self, condition: Callable[[], bool], until: float) -> bool:
        """Block until `condition` holds or time.monotonic() reaches `until`; returns whether it held."""
        with self._changed:
            return self._changed.wait_for(condition, max(0.0, until - time.monotonic()))

    def signal(self) -> None:
        """Let `wait_until` check its condition again."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """Wake every worker; from now on `wait` returns at once."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._idle_workers.wake_all()

    def clear(self) -> "list[SentenceRequest | SideTask[Any]]":
        """Remove everything that waits, for a shutdown, and return it."""
        with self._changed:
            waiting = dict.fromkeys(request for request in self._requests if not request.is_taken)
            removed = [*waiting, *self._side_tasks]
            for request in waiting:
                self._remove(request)
            self._side_tasks.clear()
            self._side_task_budget.clear()
        return removed
