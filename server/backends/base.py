"""The interface of runtimes."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from server.artifact.manifest import ArtifactError, Manifest
from server.artifact.signature import Signature
from server.backends.alignment import Aligner
from server.backends.arrays import Array, Flags, Floats, Ints
from server.backends.context import ContextBackend
from server.backends.device import Device
from server.backends.memory import Encoded, Layout
from server.backends.state import DecoderState

NO_DOCUMENT: Mapping[str, Layout] = MappingProxyType({})
Step = Callable[[], object]
"""One run of the step graph over the state that it is bound to: reads and writes that state's arrays. The result is
ignored."""
ScoreStep = Callable[[], Floats]
"""The same without candidates: returns the log-probability of every word as the next one, [slot, beam, word]. Of the
following rows only the ancestry is written."""


class CannotScore(ValueError):
    """The runtime's graphs have no log-probabilities as output."""


class Backend(Protocol):
    """Runs one artifact's graphs. Safe to call from several threads, each with states of its own."""

    manifest: Manifest
    device: Device
    shortlist: bool
    """Whether ordinary steps score a shortlist of words."""
    context: ContextBackend | None
    """None if sentences cannot attend to their document: the artifact has no context, or the runtime no graphs."""
    aligner: Aligner | None
    """None if the artifact has no align graph for this runtime."""

    def encode(self, source_ids: Ints, source_keep: Flags) -> list[Encoded]:
        """Ids and keep mask [batch, source] -> every sentence's source tensors, without padding."""
        ...

    def new_state(
        self,
        slots: int,
        beam: int,
        source_length: int,
        document: Mapping[str, Layout] = NO_DOCUMENT,
        scores: bool = False,
        capacity: int | None = None,
    ) -> DecoderState:
        """An empty batch, with memory on the device of the graphs; for `bind`, or for `bind_scores` if it `scores`.
        `document`: the layout of a slot's document, where steps attend to one. `capacity`: ring slots, if fewer than
        the manifest's suffice: a sentence may then run up to this position, and must move to a longer ring there."""
        ...

    def bind(self, state: DecoderState) -> Step:
        """Prepare the step graph to run over a state that `new_state` made, without copies where the runtime allows.

        The returned call runs over the state's first `batch_size` slots. It does not advance the clock: the engine does
        so after it has read the candidates.
        """
        ...

    def prepare_scores(self) -> None:
        """Load the graphs of `bind_scores`, at the first call. Raises CannotScore and ArtifactError."""
        ...

    def bind_scores(self, state: DecoderState) -> ScoreStep:
        """Like `bind`, for a state that `scores`, after `prepare_scores`."""
        ...


def split_batch(signature: Signature, tensors: Mapping[str, Array], source_keep: Flags) -> list[Encoded]:
    """Outputs of an encode graph, by name, for a padded batch -> one Encoded per sentence (views, not copies)."""
    padded = {tensor.name: tuple([axis == "source" for axis in tensor.axes[1:]]) for tensor in signature.outputs}
    kinds = {padded[name] for name in tensors}
    sentences = []
    for row, length in enumerate(source_keep.sum(axis=1).tolist()):
        cuts = {kind: tuple([slice(length if is_padded else None) for is_padded in kind]) for kind in kinds}
        sentences.append(Encoded(length, {name: tensor[row][cuts[padded[name]]] for name, tensor in tensors.items()}))
    return sentences


def batch_sizes(
    manifest: Manifest, slots: int, beam: int, source_length: int, capacity: int | None = None
) -> dict[str, int]:
    """Sizes of the free axes of a step's memory; `capacity` None for the manifest's ring slots."""
    entries = (capacity or manifest.ring_capacity) * beam
    return {"slot": slots, "beam": beam, "entry": entries, "source": source_length}


def input_arrays(signature: Signature, arrays: Mapping[str, Array], graph: str) -> dict[str, Array]:
    """The arrays that a graph reads, in its order. Raises ArtifactError if an array is missing, or has another dtype or
    number of axes."""
    inputs = {}
    for tensor in signature.inputs:
        array = arrays.get(tensor.name)
        if array is None:
            raise ArtifactError(f"{graph} reads {tensor.name}, which this server does not know")
        if array.dtype != tensor.dtype or array.ndim != len(tensor.axes):
            raise ArtifactError(
                f"{graph} reads {tensor.name} as {tensor.dtype} {list(tensor.axes)}, here it is "
                f"{array.dtype.name} {list(array.shape)}"
            )
        inputs[tensor.name] = array
    return inputs
