"""The tenant and class of service for which sentences are translated, as the engine's fair queue needs them."""

import contextlib
import dataclasses
from collections.abc import Hashable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum


class Service(Enum):
    """The class of service. INTERACTIVE: a request waits for the answer, and is rejected when the queue is full.
    BACKGROUND: documents and files, which are never rejected: each has few sentences in the engine at a time."""

    INTERACTIVE = "interactive"
    BACKGROUND = "background"

    __hash__ = object.__hash__  # Enum's own is a function of Python, called for every sentence


WEIGHTS: Mapping[Hashable, int] = {Service.INTERACTIVE: 4}
"""Turns of a tenant's interactive requests for each turn of its documents and files."""


@dataclass(frozen=True)
class Caller:
    """`tenant`: the owner of the request's API key, "" on a server without keys."""

    tenant: str = ""
    service: Service = Service.INTERACTIVE


current: ContextVar[Caller] = ContextVar("caller", default=Caller())  # noqa: B039 - it is frozen
"""The caller of the current work. Tasks and `asyncio.to_thread` inherit it from the code that starts them."""


@contextlib.contextmanager
def in_background() -> Iterator[None]:
    """Sentences that the block submits are background work of the same tenant."""
    token = current.set(dataclasses.replace(current.get(), service=Service.BACKGROUND))
    try:
        yield
    finally:
        current.reset(token)
