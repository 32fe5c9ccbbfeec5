"""How many interactive sentences, with how many source tokens, may wait for the engine."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from server.engine.request import Overloaded, SentenceRequest
from server.scheduling.caller import Caller, Service
from server.scheduling.shared_budget import SharedBudget


@dataclass
class Reservation:
    """The reserved places in the queue that are left for one caller's sentences, which are queued in portions."""

    caller: Caller
    sentences: int
    tokens: int

    @classmethod
    def of(cls, requests: Sequence[SentenceRequest]) -> "Reservation":
        """For all of `requests`, which have one caller."""
        return cls(requests[0].caller, len(requests), sum(len(request.source_ids) for request in requests))


class QueueBudget:
    """The limits of each tenant and of all tenants together (see `SharedBudget`). Background work does not count. Its
    user locks."""

    def __init__(self, max_sentences: int, max_tokens: int | None) -> None:
        self.max_sentences, self.max_tokens = max_sentences, max_tokens
        self._sentences = SharedBudget(max_sentences)
        self._tokens = SharedBudget(sys.maxsize if max_tokens is None else max_tokens)

    def check_sentences(self, caller: Caller, count: int) -> None:
        """Raise Overloaded if `count` more sentences of the caller are too many."""
        budget = self._sentences
        if caller.service is Service.BACKGROUND or budget.fits(caller.tenant, count):
            return
        held = budget.held(caller.tenant)
        others = f", and {budget.total - held} of others" if budget.total > held else ""
        raise Overloaded(f"{held} sentences wait already{others}, at most {self.max_sentences} may")

    def check(self, needed: Reservation) -> None:
        """Raise Overloaded if so many more sentences, or source tokens, of the caller are too many."""
        self.check_sentences(needed.caller, needed.sentences)
        budget, tenant = self._tokens, needed.caller.tenant
        if needed.caller.service is Service.BACKGROUND or budget.fits(tenant, needed.tokens):
            return
        # A request above the limit is queued when no other of its tenant waits; otherwise it never would be.
        if budget.held(tenant):
            raise Overloaded(f"{budget.total} source tokens wait already, at most {self.max_tokens} may")

    def acquire(self, caller: Caller, sentences: int, tokens: int) -> None:
        """Count sentences as waiting, even if they are too many."""
        if caller.service is Service.INTERACTIVE:
            self._sentences.acquire(caller.tenant, sentences)
            self._tokens.acquire(caller.tenant, tokens)

    def release(self, caller: Caller, sentences: int, tokens: int) -> None:
        """Count sentences as no longer waiting."""
        if caller.service is Service.INTERACTIVE:
            self._sentences.release(caller.tenant, sentences)
            self._tokens.release(caller.tenant, tokens)
