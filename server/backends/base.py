"""The seam: what the engine needs from a runtime."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from server.artifact import ArtifactError, Manifest
from server.backends.context import ContextBackend
from server.backends.state import Array, DecoderState, Encoded, Flags, Floats, Ints, Layout

Step = Callable[[], None]
"""One run of the step graph over the state it is bound to: reads and writes that state's arrays."""
ScoreStep = Callable[[], Floats]
"""The same without a choice among candidates: how probable every word is next, log-probabilities [slot, beam, word].
Of the following rows only the ancestry is written."""


class CannotScore(ValueError):
    """The runtime's graphs give out no log-probabilities."""


class Backend(Protocol):
    """Runs one artifact's graphs. Safe to call from several threads, each with states of its own."""

    manifest: Manifest
    shortlist: Mapping[str, Layout]
    """Tensors of a sentence's shortlist; empty when all words are scored. States must be made with it."""
    context: ContextBackend | None
    """None where sentences cannot look at their document: the artifact has no context, or the runtime no graphs."""

    def encode(self, source_ids: Ints, source_keep: Flags) -> list[Encoded]:
        """Ids and keep mask [batch, source] -> what is known of every sentence, without its padding."""
        ...

    def bind(self, state: DecoderState) -> Step:
        """Prepare the step graph to run over the arrays of `state`, without copies where the runtime allows.

        The returned call does not advance the clock: the engine does, after it has read the candidates.
        """
        ...

    def prepare_scores(self) -> None:
        """Open what `bind_scores` needs: the first call takes as long as loading a graph. Raises CannotScore."""
        ...

    def bind_scores(self, state: DecoderState) -> ScoreStep:
        """As `bind`, for a state that was made without a shortlist, after `prepare_scores`."""
        ...


def split_batch(source: Sequence[Floats], shortlist: Sequence[Array], source_keep: Flags) -> list[Encoded]:
    """Tensors of a padded batch -> one Encoded per sentence (views, not copies)."""
    lengths = source_keep.sum(axis=1).tolist()
    return [
        Encoded(tuple(tensor[row, :, :length] for tensor in source), tuple(tensor[row] for tensor in shortlist))
        for row, length in enumerate(lengths)
    ]


def check_names(expected: set[str], found: set[str], what: str) -> None:
    """Raise ArtifactError when a graph's tensors are not the declared ones."""
    if not found <= expected:
        raise ArtifactError(
            f"{what} has tensors that the manifest does not declare: {', '.join(sorted(found - expected))}"
        )
