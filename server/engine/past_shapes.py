"""States of the shapes that a running batch had before, with their bound steps: to bind a graph to new arrays takes as
long as one or two steps of few sentences."""

from collections import OrderedDict
from dataclasses import dataclass

from server.backends.base import Step
from server.backends.state import DecoderState
from server.engine.batch_shape import BatchShape
from server.engine.history import History

MAX_BYTES = 2**23
"""Of all states that are kept. A larger state is not kept: its steps take much longer than its binding."""


@dataclass(frozen=True)
class BoundState:
    """A state, the step that is bound to it, and the history of its rows, of which only steps that were made since are
    read."""

    state: DecoderState
    step: Step
    history: History


class PastShapes:
    """One state for each shape, the last used ones within MAX_BYTES. States with documents are not kept."""

    def __init__(self) -> None:
        self._states: OrderedDict[BatchShape, BoundState] = OrderedDict()
        self.ring_bytes = self.source_bytes = 0

    def take(self, shape: BatchShape) -> BoundState | None:
        """The state of a shape, with all slots idle, which is not kept any more; None if there is none."""
        if shape not in self._states:
            return None
        bound = self._states.pop(shape)
        self._count(bound, -1)
        bound.state.reset()
        return bound

    def keep(self, shape: BatchShape, bound: BoundState) -> None:
        """Keep a state over which no step will run before it is taken. There must be none of the same shape."""
        if bound.state.memory.document:
            return
        assert shape not in self._states
        self._states[shape] = bound
        self._count(bound, 1)
        while self.ring_bytes + self.source_bytes > MAX_BYTES:
            _, oldest = self._states.popitem(last=False)
            self._count(oldest, -1)

    def _count(self, bound: BoundState, sign: int) -> None:
        self.ring_bytes += sign * bound.state.memory.ring_bytes
        self.source_bytes += sign * bound.state.memory.source_bytes
