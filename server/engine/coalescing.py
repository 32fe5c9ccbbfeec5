"""Stands before the engine: a sentence that was decoded before is answered from a cache, and one that is being decoded
is not decoded a second time.

An answer does not depend on the other sentences of a batch. So the same sentence with the same options and the same
context gets here what it would have got from the engine.
"""

import dataclasses
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from server.engine.request import Cancelled, DeadlineExceeded, Hypothesis, SentenceRequest, SentenceResult, Timings
from server.engine.translation_cache import TranslationCache
from server.scheduling.fair_queue import Path
from server.telemetry.labels import SearchLookup

NO_WAIT = Timings(queue=0.0, encode=0.0, decode=0.0)


def key_of(request: SentenceRequest) -> bytes | None:
    """Everything but the model that the answer depends on; None where that is unknown (a context without a key), and
    where translations are given. A deadline changes whether there is an answer, not which."""
    if request.targets or (request.context is not None and request.context.key is None):
        return None
    options = tuple(vars(dataclasses.replace(request.options, deadline=None)).values())
    context = None if request.context is None else request.context.key
    return pickle.dumps((request.source_ids, request.prefix, options, context), pickle.HIGHEST_PROTOCOL)


def packed(result: SentenceResult) -> bytes:
    """A result as bytes, without its timings."""
    hypotheses = [(one.ids, one.score, one.normalized_score, one.finish_reason) for one in result.hypotheses]
    return pickle.dumps((hypotheses, result.context), pickle.HIGHEST_PROTOCOL)


def unpacked(value: bytes) -> SentenceResult:
    """The inverse of `packed`, with timings of 0."""
    hypotheses, context = pickle.loads(value)
    return SentenceResult(tuple(Hypothesis(*one) for one in hypotheses), NO_WAIT, context)


class CoalescedSearch(SentenceRequest):
    """What the engine sees of one or more requests for the same sentence. It is cancelled when all of them are, and
    late when the last of them is."""

    def __init__(self, key: bytes, members: list[SentenceRequest]) -> None:
        first = members[0]
        super().__init__(
            first.source_ids,
            first.options,
            first.context,
            first.owner,
            prefix=first.prefix,
            read=first.read,
            caller=first.caller,
        )
        self.key, self.members = key, members
        self.deadline = max(one.deadline for one in members)
        if any(one.told is not None for one in members):
            self.told = self.tell

    def tell(self, ids: tuple[int, ...]) -> None:
        """Tell every member that listens of a beginning."""
        for member in tuple(self.members):
            if member.told is not None:
                member.told(ids)


class SearchCoalescer:
    """Takes sentences from any thread and answers them, from the cache or through `submit`."""

    def __init__(
        self,
        cache: TranslationCache,
        submit: Callable[[Sequence[SentenceRequest]], None],
        also_wait: Callable[[SentenceRequest, Path], None],
        told: Callable[[SearchLookup], None] = lambda _: None,
    ) -> None:
        """`submit` queues all sentences or none; `also_wait` lets a queued one wait in another line as well;
        `told` is called for every lookup."""
        self.cache, self._submit, self._also_wait, self._told = cache, submit, also_wait, told
        self._lock = threading.Lock()
        """Taken before the waiting room's, never while holding it."""
        self._searches: dict[bytes, CoalescedSearch] = {}
        """Searches that other requests may still join."""

    def submit(self, requests: Sequence[SentenceRequest]) -> None:
        """Answer or queue all of the sentences, or none. Raises what `submit` raises."""
        known: list[tuple[SentenceRequest, bytes]] = []
        plain: list[SentenceRequest] = []
        joining: list[tuple[SentenceRequest, CoalescedSearch]] = []
        new: dict[bytes, CoalescedSearch] = {}
        keys = [key_of(request) for request in requests]
        with self._lock:
            for request, key in zip(requests, keys, strict=True):
                if key is None:
                    plain.append(request)
                elif (value := self.cache.get(key)) is not None:
                    known.append((request, value))
                elif (search := self._searches.get(key) or new.get(key)) is not None:
                    joining.append((request, search))
                else:
                    new[key] = self._search(key, [request])
            self._submit([*plain, *new.values()])
            self._searches |= new
            for search in new.values():
                self._begin(search)
            for request, search in joining:
                self._join(request, search)
        for request, value in known:
            request.future.set_running_or_notify_cancel()
            request.future.set_result(unpacked(value))
        counts: dict[SearchLookup, int] = {"hit": len(known), "shared": len(joining), "miss": len(new)}
        for lookup, count in counts.items():
            for _ in range(count):
                self._told(lookup)

    def _search(self, key: bytes, members: list[SentenceRequest]) -> CoalescedSearch:
        """A search that is not queued yet."""
        search = CoalescedSearch(key, members)
        held = [search]  # emptied at the end: a future keeps its callbacks, and what they hold waits to be collected
        search.future.add_done_callback(lambda future: self._done(held.pop(), future))
        return search

    def _begin(self, search: CoalescedSearch) -> None:
        """Its members follow a search that was queued; call it under the lock."""
        for member in search.members:
            self._follow(member, search)

    def _follow(self, member: SentenceRequest, search: CoalescedSearch) -> None:
        if not member.arrival:
            member.arrival = time.monotonic()
            member.future.set_running_or_notify_cancel()
        member.on_cancel = lambda: self._leave(member, search)

    def _join(self, request: SentenceRequest, search: CoalescedSearch) -> None:
        self._follow(request, search)
        search.members.append(request)
        if request.told is not None:
            search.told = search.tell
        search.deadline = max(search.deadline, request.deadline)
        if request.line != search.line:
            self._also_wait(search, request.line)

    def _leave(self, member: SentenceRequest, search: CoalescedSearch) -> None:
        """A member is cancelled: the others go on without it. With the last member the search itself is cancelled."""
        with self._lock:
            if member not in search.members:
                return
            if len(search.members) == 1:
                self._forget(search)
                search.cancel()
                return
            search.members.remove(member)
            search.deadline = max(one.deadline for one in search.members)
        member.future.set_exception(Cancelled("the sentence was cancelled"))

    def _forget(self, search: CoalescedSearch) -> None:
        if self._searches.get(search.key) is search:
            del self._searches[search.key]

    def _done(self, search: CoalescedSearch, future: "Future[SentenceResult]") -> None:
        """Runs in the engine's thread."""
        error = future.exception()
        if error is None:
            self.cache.put(search.key, packed(future.result()))
        with self._lock:
            self._forget(search)
            members, search.members = search.members, []
        for member in members:
            member.on_cancel = None  # it refers to the member and to the search
        if error is None:
            self._answer(members, future.result())
            return
        left = []
        if isinstance(error, DeadlineExceeded):  # members with time left may have joined while it was being dropped
            now = time.monotonic()
            left = [one for one in members if not one.is_cancelled and one.deadline > now]
        for member in members:
            if member not in left:
                member.future.set_exception(error)
        if left:
            self._search_again(search, left)

    def _answer(self, members: Sequence[SentenceRequest], result: SentenceResult) -> None:
        """Answer all members. The first gets the search's timings; the others only waited."""
        now = time.monotonic()
        for place, member in enumerate(members):
            waited = Timings(queue=now - member.arrival, encode=0.0, decode=0.0)
            member.future.set_result(dataclasses.replace(result, timings=waited) if place else result)

    def _search_again(self, search: CoalescedSearch, left: list[SentenceRequest]) -> None:
        again = self._search(search.key, left)
        try:
            with self._lock:
                self._submit([again])
                self._searches.setdefault(again.key, again)
                self._begin(again)
        except Exception as error:
            for member in left:
                member.future.set_exception(error)
