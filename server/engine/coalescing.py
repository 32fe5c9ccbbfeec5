"""In front of the engine: the result of a sentence that was decoded before comes from a cache, and equal sentences that
wait or run are decoded once.

A result does not depend on the other sentences of a batch. The same sentence with the same options and the same context
therefore gets the result that the engine would compute again.
"""

import dataclasses
import heapq
import math
import operator
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from server.engine.in_flight import InFlight
from server.engine.queue_budget import Reservation
from server.engine.request import (
    Cancelled,
    DeadlineExceeded,
    Hypothesis,
    SearchOptions,
    SentenceRequest,
    SentenceResult,
    Timings,
)
from server.engine.translation_cache import TranslationCache
from server.telemetry.labels import SearchLookup

NO_WAIT = Timings(queue=0.0, encode=0.0, decode=0.0)


_options_of_result = operator.attrgetter(
    *(field.name for field in dataclasses.fields(SearchOptions) if field.name not in ("deadline", "formality"))
)
"""The search options that the result depends on."""


def key_of(request: SentenceRequest) -> bytes | None:
    """Everything but the model that the result depends on; None where that is unknown (a context without a key), and
    where translations are given. A deadline decides whether there is a result, not which; the formality has no effect
    on a search."""
    if request.targets or (request.context is not None and request.context.key is None):
        return None
    context = None if request.context is None else request.context.key
    parts = (request.source_ids, request.prefix, _options_of_result(request.options), context)
    if request.constraint is not None:
        return pickle.dumps((*parts, request.constraint.key), pickle.HIGHEST_PROTOCOL)
    return pickle.dumps(parts, pickle.HIGHEST_PROTOCOL)


def packed(result: SentenceResult) -> bytes:
    """A result as bytes, without its timings."""
    hypotheses = [(h.ids, h.score, h.normalized_score, h.finish_reason, (), h.coverage) for h in result.hypotheses]
    return pickle.dumps((hypotheses, result.context), pickle.HIGHEST_PROTOCOL)


def unpacked(value: bytes) -> SentenceResult:
    """The inverse of `packed`, with timings of 0."""
    hypotheses, context = pickle.loads(value)
    return SentenceResult(tuple(Hypothesis(*values) for values in hypotheses), NO_WAIT, context)


class CoalescedSearch(SentenceRequest):
    """One or more requests for the same sentence, as one request of the engine. It is cancelled when all of its members
    are, and expires with the latest deadline among them."""

    def __init__(self, key: bytes, members: list[SentenceRequest]) -> None:
        first = members[0]
        super().__init__(
            first.source_ids,
            first.options,
            first.context,
            first.owner,
            prefix=first.prefix,
            encoded=first.encoded,
            constraint=first.constraint,
            caller=first.caller,
            wants_coverage=first.wants_coverage,
        )
        self.key = key
        self.members: dict[SentenceRequest, None] = {}
        """In the order in which they joined."""
        self._latest: list[tuple[float, int, SentenceRequest]] = []
        """A heap: the latest deadline first. Members that left are in it until they are first."""
        self.deadline = -math.inf
        for member in members:
            self.add(member)

    def add(self, member: SentenceRequest) -> None:
        self.members[member] = None
        heapq.heappush(self._latest, (-member.deadline, id(member), member))
        self.deadline = max(self.deadline, member.deadline)
        if member.on_partial is not None:
            self.on_partial = self.report_partial

    def remove(self, member: SentenceRequest) -> None:
        """One of several members leaves, in logarithmic time: a request may have thousands of equal sentences."""
        del self.members[member]
        while self._latest[0][2] not in self.members:
            heapq.heappop(self._latest)
        self.deadline = self._latest[0][2].deadline

    def take_members(self) -> list[SentenceRequest]:
        """All members; it has none afterwards."""
        members = list(self.members)
        self.on_partial = None  # it refers to the search
        self.members.clear()
        self._latest.clear()
        return members

    def report_partial(self, ids: tuple[int, ...]) -> None:
        """Call `on_partial` of every member that has one."""
        for member in tuple(self.members):
            if member.on_partial is not None:
                member.on_partial(ids)


class SearchCoalescer:
    """Takes sentences from any thread, and resolves them from the cache or queues searches for them."""

    def __init__(
        self,
        cache: TranslationCache,
        in_flight: InFlight,
        on_lookup: Callable[[SearchLookup], None] = lambda _: None,
    ) -> None:
        """`on_lookup` is called for every lookup."""
        self.cache, self._in_flight, self._on_lookup = cache, in_flight, on_lookup
        self._lock = threading.Lock()
        """Acquired before the queue's lock, never while holding it."""
        self._searches: dict[bytes, CoalescedSearch] = {}
        """Searches that other requests may still join."""

    def submit(self, requests: Sequence[SentenceRequest], reservation: Reservation | None = None) -> None:
        """Resolve or queue all sentences, or none. `reservation` and errors: see InFlight.submit."""
        cached: list[tuple[SentenceRequest, bytes]] = []
        plain: list[SentenceRequest] = []
        joining: list[tuple[SentenceRequest, CoalescedSearch]] = []
        new: dict[bytes, CoalescedSearch] = {}
        keys = [key_of(request) for request in requests]
        with self._lock:
            for request, key in zip(requests, keys, strict=True):
                if key is None:
                    plain.append(request)
                elif (value := self.cache.get(key)) is not None:
                    cached.append((request, value))
                elif (search := self._searches.get(key) or new.get(key)) is not None:
                    joining.append((request, search))
                else:
                    new[key] = self._search(key, [request])
            self._in_flight.submit([*plain, *new.values()], reservation)
            self._searches |= new
            for search in new.values():
                self._attach(search)
            for request, search in joining:
                self._join(request, search)
        for request, value in cached:
            request.future.set_running_or_notify_cancel()
            request.future.set_result(unpacked(value))
        counts: dict[SearchLookup, int] = {"hit": len(cached), "shared": len(joining), "miss": len(new)}
        for lookup, count in counts.items():
            for _ in range(count):
                self._on_lookup(lookup)

    def _search(self, key: bytes, members: list[SentenceRequest]) -> CoalescedSearch:
        """A search that is not queued yet."""
        search = CoalescedSearch(key, members)
        holder = [search]  # a future keeps its callbacks: emptied, so that the search is freed
        search.future.add_done_callback(lambda future: self._done(holder.pop(), future))
        return search

    def _attach(self, search: CoalescedSearch) -> None:
        """Attach the members to a search that was queued; the caller holds the lock."""
        for member in search.members:
            self._attach_member(member, search)

    def _attach_member(self, member: SentenceRequest, search: CoalescedSearch) -> None:
        if not member.arrival:
            member.arrival = time.monotonic()
            member.future.set_running_or_notify_cancel()
        member.on_cancel = lambda: self._leave(member, search)

    def _join(self, request: SentenceRequest, search: CoalescedSearch) -> None:
        self._attach_member(request, search)
        search.add(request)
        if request.flow != search.flow:
            self._in_flight.queue.requeue(search, request.flow)

    def _leave(self, member: SentenceRequest, search: CoalescedSearch) -> None:
        """Cancel a member: the others continue without it. With the last member the search itself is cancelled."""
        with self._lock:
            if member not in search.members:
                return
            if len(search.members) == 1:
                self._close(search)
                search.cancel()
                return
            search.remove(member)
        member.future.set_exception(Cancelled("the sentence was cancelled"))

    def _close(self, search: CoalescedSearch) -> None:
        """No other request may join the search; the caller holds the lock."""
        if self._searches.get(search.key) is search:
            del self._searches[search.key]

    def _done(self, search: CoalescedSearch, future: "Future[SentenceResult]") -> None:
        """Runs in the engine's thread."""
        error = future.exception()
        if error is None:
            self.cache.put(search.key, packed(future.result()))
        with self._lock:
            self._close(search)
            members = search.take_members()
        for member in members:
            member.on_cancel = None  # it refers to the member and to the search
        if error is None:
            self._resolve(members, future.result())
            return
        remaining = dict[SentenceRequest, None]()
        if isinstance(error, DeadlineExceeded):  # members with a later deadline may have joined during the abort
            now = time.monotonic()
            remaining = {member: None for member in members if not member.must_abort(now)}
        for member in members:
            if member not in remaining:
                member.future.set_exception(error)
        if remaining:
            self._search_again(search, list(remaining))

    def _resolve(self, members: Sequence[SentenceRequest], result: SentenceResult) -> None:
        """Resolve all members. The first gets the search's timings; the others only waited."""
        now = time.monotonic()
        for index, member in enumerate(members):
            waited = Timings(queue=now - member.arrival, encode=0.0, decode=0.0)
            member.future.set_result(dataclasses.replace(result, timings=waited) if index else result)

    def _search_again(self, search: CoalescedSearch, members: list[SentenceRequest]) -> None:
        again = self._search(search.key, members)
        try:
            with self._lock:
                self._in_flight.submit([again])
                self._searches.setdefault(again.key, again)
                self._attach(again)
        except Exception as error:
            for member in members:
                member.future.set_exception(error)
