"""Where work that takes long looks whether it may go on: between two sentences, two terms, two paragraphs.

A loop over what a client sent calls `checkpoint` once a round. Who runs such work in a thread says what happens there
(`server.runtime.offload`); elsewhere nothing does.
"""

from collections.abc import Callable
from contextvars import ContextVar


def _go_on() -> None:
    pass


on_checkpoint: ContextVar[Callable[[], None]] = ContextVar("on_checkpoint", default=_go_on)
"""Called at every checkpoint of the work that runs in this context; what it raises ends the work."""


def checkpoint() -> None:
    """Wait here while others have their turn. Raises what ends work that nobody waits for any more."""
    on_checkpoint.get()()
