"""What is computed between the steps of an engine: states and attention of documents' sentences, word alignments."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

from server.artifact.manifest import EXPORT_AGAIN
from server.backends.alignment import Aligner, CannotAlign, IdPair, align_batch
from server.backends.arrays import Floats
from server.backends.base import Backend
from server.backends.context import ContextAttention, ContextBackend, EncodedSource, SentenceContext, States
from server.engine.batches import encoder_batches
from server.engine.in_flight import InFlight
from server.engine.request import SideTask

Result = TypeVar("Result")


class SideTasks:
    """Queues side tasks of any thread, which the engines run. Sentences in flight are not delayed. All methods that
    return futures raise Overloaded and EngineStopped."""

    def __init__(self, backends: Sequence[Backend], in_flight: InFlight) -> None:
        """`backends`: the same graphs on each device."""
        self._backends, self._in_flight = backends, in_flight

    def compute_states(
        self,
        source_ids: Sequence[int],
        target_ids: Sequence[int] = (),
        owner: Hashable = None,
        encoded: EncodedSource | None = None,
    ) -> "Future[States]":
        """The states of one sentence as context (see ContextBackend.compute_states). Raises ValueError for a model
        without context."""
        _context(self._backends[0])
        cost = len(source_ids) + len(target_ids)
        return self.submit(
            lambda backend: _context(backend).compute_states(source_ids, target_ids, encoded), cost, owner
        )

    def encode_sources(
        self, sources: Iterable[Sequence[int]], owner: Hashable = None
    ) -> "list[Future[list[EncodedSource]]]":
        """Encode sentences once, for their states and all of their translations (see ContextBackend.encode_sources),
        in batches of similar length. Results are in another order than `sources`: each EncodedSource names its source.
        Raises ValueError for a model without context."""
        _context(self._backends[0])
        return [
            self.submit(partial(_encode_sources, batch), sum(map(len, batch)), owner)
            for batch in encoder_batches(sources)
        ]

    def explain(
        self,
        source_ids: Sequence[int],
        context: SentenceContext,
        target_ids: Sequence[int] = (),
        owner: Hashable = None,
        encoded: EncodedSource | None = None,
    ) -> "Future[ContextAttention]":
        """The attention of a sentence to its context, down to words (see ContextBackend.explain). Raises ValueError for
        a model without context."""
        _context(self._backends[0])
        cost = len(source_ids) + len(target_ids)
        return self.submit(
            lambda backend: _context(backend).explain(source_ids, context, target_ids, encoded), cost, owner
        )

    @property
    def can_align(self) -> bool:
        """Whether the model has a graph for `align`."""
        return self._backends[0].aligner is not None

    @property
    def is_prepared_to_align(self) -> bool:
        """Whether `prepare_alignments` was called."""
        aligners = [backend.aligner for backend in self._backends if backend.aligner is not None]
        return self.can_align and all(aligner.is_prepared for aligner in aligners)

    def prepare_alignments(self) -> None:
        """Must be called before `align`; blocks while a graph is loaded. Raises CannotAlign and ArtifactError."""
        _aligner(self._backends[0])
        for backend in self._backends:
            if backend.aligner is not None:
                backend.aligner.prepare()

    def align(self, pairs: Sequence[IdPair], owner: Hashable = None) -> "Future[list[Floats]]":
        """The alignment weights [target piece, source piece] of each pair of source ids with EOS and target ids
        without. All pairs are one batch. Raises CannotAlign."""
        _aligner(self._backends[0])
        manifest = self._backends[0].manifest
        bos, start = manifest.special_ids.bos, manifest.start_length
        longest, cost = manifest.max_target_length + start, sum(len(source) for source, _ in pairs)
        return self.submit(lambda backend: align_batch(_aligner(backend), bos, longest, pairs, start), cost, owner)

    def submit(self, function: Callable[[Backend], Result], cost: int, owner: Hashable) -> "Future[Result]":
        """Queue a function, which is called with the backend of the engine that runs it. `cost`: see SideTask."""
        side_task = SideTask(function, cost, owner)
        self._in_flight.submit_side_task(side_task)
        return side_task.future


def _encode_sources(sources: Sequence[Sequence[int]], backend: Backend) -> list[EncodedSource]:
    return _context(backend).encode_sources(sources)


def _context(backend: Backend) -> ContextBackend:
    """Raises ValueError for a model without context."""
    if backend.context is None:
        raise ValueError(f"model '{backend.manifest.name}' knows no context")
    return backend.context


def _aligner(backend: Backend) -> Aligner:
    """Raises CannotAlign."""
    if backend.aligner is None:
        raise CannotAlign(
            f"model '{backend.manifest.name}' has no graph that aligns words: {EXPORT_AGAIN}, or serve it with "
            "--backend onnx"
        )
    return backend.aligner
