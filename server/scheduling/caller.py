"""For whom sentences are translated, as far as the engine needs to know it to serve all in turn."""

import contextlib
import dataclasses
from collections.abc import Hashable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum


class Service(Enum):
    """The class of service. INTERACTIVE: a request waits for the answer, and is refused when too much waits.
    BACKGROUND: documents and files, which are never refused: each has few sentences in the engine at a time."""

    INTERACTIVE = "interactive"
    BACKGROUND = "background"

    __hash__ = object.__hash__  # Enum's own is a function of Python, called for every sentence


WEIGHTS: Mapping[Hashable, int] = {Service.INTERACTIVE: 4}
"""Turns of a tenant's interactive requests to one of its documents and files."""


@dataclass(frozen=True)
class Caller:
    """`tenant`: the owner whose API key was presented, "" on a server without keys."""

    tenant: str = ""
    service: Service = Service.INTERACTIVE


current: ContextVar[Caller] = ContextVar("caller", default=Caller())  # noqa: B039 - it is frozen
"""The caller of what is being worked on. Tasks and `asyncio.to_thread` take it over from where they were started."""


@contextlib.contextmanager
def in_background() -> Iterator[None]:
    """What the block submits is background work of the same tenant."""
    before = current.get()
    token = current.set(dataclasses.replace(before, service=Service.BACKGROUND))
    try:
        yield
    finally:
        current.reset(token)
