"""Checkpoints of long work, at which it may wait or end: between two sentences, two terms, two paragraphs.

A loop over a client's input calls `checkpoint` once a round. `server.runtime.offload` sets what happens there in its
threads; elsewhere a checkpoint does nothing.
"""

from collections.abc import Callable
from contextvars import ContextVar

on_checkpoint: ContextVar[Callable[[], None]] = ContextVar("on_checkpoint", default=lambda: None)
"""Called at every checkpoint of work in this context; an exception ends the work."""


def checkpoint() -> None:
    """Wait while other work has its turn. Raises server.runtime.offload.Abandoned when the caller was cancelled."""
    on_checkpoint.get()()
