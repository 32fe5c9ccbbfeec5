"""The backend of PyTorch."""

import threading
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from server.artifact.artifact import Artifact
from server.artifact.manifest import EXPORT_AGAIN, Manifest
from server.artifact.signature import LOG_PROBABILITY
from server.backends.alignment import Aligner
from server.backends.arrays import Array, Flags, Floats, Ints
from server.backends.base import NO_DOCUMENT, CannotScore, ScoreStep, Step, batch_sizes
from server.backends.context import ContextBackend
from server.backends.device import Device
from server.backends.memory import Encoded, Layout
from server.backends.state import DecoderState
from server.backends.torchscript.alignment import TorchAligner
from server.backends.torchscript.capture import Recorder, repeated
from server.backends.torchscript.context import TorchContext
from server.backends.torchscript.decoder_context import TorchDecoderContext
from server.backends.torchscript.device import check_precision, find_device
from server.backends.torchscript.graph import Loader, NamedGraph
from server.backends.torchscript.memory import EncodedOnDevice, Kind, TorchMemory, stacked, tensors_by_kind
from server.backends.torchscript.place import Place
from server.backends.torchscript.shortlist import ListedStep
from server.backends.torchscript.step import DeviceStep, bound_step
from server.backends.torchscript.widening import Widening

FORMAT = "torchscript"


class TorchScriptBackend:
    """Backend over TorchScript graphs on the CPU, a CUDA device or Apple's GPU. Rings, source tensors, documents and
    the rows' ancestry stay on the device. The graphs are those of fp32; weights, rings, source tensors and documents
    take the `precision`. A step of fixed shape is recorded on a CUDA device, unless `records` is False."""

    context: ContextBackend | None
    aligner: Aligner | None
    _context_step: NamedGraph | None
    """The step graph with attention to documents, where context is on the decoder's side."""
    _sources: Mapping[Kind, Sequence[str]]

    def __init__(
        self,
        artifact: Artifact,
        precision: str,
        device: str = "cpu",
        records: bool = True,
        use_shortlist: bool = False,
    ) -> None:
        """Raises ArtifactError for graphs that cannot be loaded, and for a device or precision that is not there."""
        found = find_device(device)
        place = Place(torch.device(found.name), check_precision(found, precision))
        self._files = files = artifact.manifest.graph(FORMAT, "fp32")
        loader = Loader(artifact, place, files.encode, files.step)
        listed = ListedStep.of(loader.load(files.step_shortlist), files.step_shortlist) if use_shortlist else None
        self._set(artifact.manifest, found, loader.encode, loader.step if listed is None else listed, records)
        self._loader = loader
        if files.align:
            self.aligner = TorchAligner(loader.encode, lambda: loader.load(files.align))
        context = files.context
        if context is not None and context.step:
            self._context_step = loader.load(context.step)
            self.context = TorchDecoderContext(artifact, context, loader, self.encode)
        elif context is not None:
            self.context = TorchContext(artifact, context, loader, self._sources, self._encode_batch)

    def _set(
        self,
        manifest: Manifest,
        device: Device,
        encode: NamedGraph,
        step: NamedGraph | ListedStep,
        records: bool = False,
    ) -> None:
        self.manifest, self.device, self._place = manifest, device, encode.place
        self._listed = step if isinstance(step, ListedStep) else None
        self.shortlist = self._listed is not None
        self.context = self.aligner = self._context_step = None
        self._encode, self._step = encode, step.step if isinstance(step, ListedStep) else step
        self._scoring_steps = list[NamedGraph]()
        """Score graphs, without and with attention to documents; loaded by `prepare_scores`."""
        self._loading = threading.Lock()
        self._sources = tensors_by_kind(self._step.signature.inputs, "source")
        self._recorder = Recorder(self._place.device) if records and device.kind == "cuda" else None

    def encode(self, source_ids: Ints, source_keep: Flags) -> list[Encoded]:
        outputs = self._encode_batch({"source_ids": source_ids, "source_keep": source_keep})
        with torch.inference_mode():
            stacks = stacked(outputs, self._sources)
        return [
            EncodedOnDevice(length, {}, {}, stacks, self._sources, row)
            for row, length in enumerate(source_keep.sum(axis=1).tolist())
        ]

    def _encode_batch(self, feeds: Mapping[str, Array]) -> dict[str, Tensor]:
        """The outputs of the encode graph by name, and the sentences' shortlists where steps read them."""
        outputs = self._encode(feeds)
        return outputs if self._listed is None else {**outputs, **self._listed.lists_of(feeds)}

    def new_state(
        self,
        slots: int,
        beam: int,
        source_length: int,
        document: Mapping[str, Layout] = NO_DOCUMENT,
        scores: bool = False,
        capacity: int | None = None,
    ) -> DecoderState:
        sizes = batch_sizes(self.manifest, slots, beam, source_length, capacity)
        memory = TorchMemory(self._graph(bool(document), scores).signature, sizes, self._place, document)
        return DecoderState(self.manifest, slots, beam, source_length, memory, capacity)

    def _graph(self, attends_context: bool, scores: bool) -> NamedGraph:
        """The step graph of a kind of lane."""
        if scores:
            assert self._scoring_steps, "prepare_scores comes first"
            return self._scoring_steps[-1 if attends_context else 0]
        graph = self._context_step if attends_context else self._step
        assert graph is not None
        return graph

    def bind(self, state: DecoderState) -> Step:
        return self._bound(state, scores=False)[1]

    def _bound(self, state: DecoderState, scores: bool) -> tuple[DeviceStep, Step]:
        memory = state.memory
        assert isinstance(memory, TorchMemory)
        graph = self._graph(bool(memory.document), scores)
        step = DeviceStep(graph.graph, graph.signature, state, memory)
        run, widen = self._repeated(torch.inference_mode()(step.run)), None
        if graph is self._step and self._listed is not None and self._listed.widen is not None:
            widen = Widening(self._listed.widen, step, state.outputs(0), self._repeated).run
        return step, bound_step(step, state, memory, run, widen)

    def _repeated(self, function: Callable[[], None]) -> Callable[[], None]:
        return repeated(function, self._place.device, self._recorder)

    def prepare_scores(self) -> None:
        if not self._files.score:
            raise CannotScore(
                f"the TorchScript graphs of model '{self.manifest.name}' have no log-probabilities as output: "
                f"{EXPORT_AGAIN}, or serve it with --backend onnx"
            )
        with self._loading:
            if not self._scoring_steps:
                in_context = "" if self._files.context is None else self._files.context.score
                self._scoring_steps = [self._loader.load(file) for file in (self._files.score, in_context) if file]

    def bind_scores(self, state: DecoderState) -> ScoreStep:
        step, run = self._bound(state, scores=True)

        def score() -> Floats:
            run()
            return step.outbox.host[LOG_PROBABILITY]

        return score
