"""The seam: what the engine needs from a runtime."""

from collections.abc import Callable
from typing import Protocol

from server.artifact import ArtifactError, Manifest
from server.backends.state import DecoderState, Flags, Floats, Ints

Step = Callable[[], None]
"""One run of the step graph over the state it is bound to: reads and writes that state's arrays."""


class Backend(Protocol):
    """Runs one artifact's graphs. Safe to call from several threads, each with states of its own."""

    manifest: Manifest

    def encode(self, source_ids: Ints, source_keep: Flags) -> list[Floats]:
        """Ids and keep mask [batch, source] -> source tensors [batch, heads, source, head_dim], manifest order."""
        ...

    def bind(self, state: DecoderState) -> Step:
        """Prepare the step graph to run over the arrays of `state`, without copies where the runtime allows.

        The returned call does not advance the clock: the engine does, after it has read the candidates.
        """
        ...


def check_names(expected: set[str], found: set[str], what: str) -> None:
    """Raise ArtifactError when a graph's tensors are not the declared ones."""
    if not found <= expected:
        raise ArtifactError(
            f"{what} has tensors that the manifest does not declare: {', '.join(sorted(found - expected))}"
        )
