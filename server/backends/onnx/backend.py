"""The backend of ONNX Runtime: one session per graph, shared by all threads, on the CPU or on a CUDA device; where
several threads compute a step, a second one of each step graph."""

import dataclasses
import threading
from collections.abc import Mapping

from server.artifact.artifact import Artifact
from server.backends.alignment import Aligner
from server.backends.arrays import Flags, Floats, Ints
from server.backends.base import NO_DOCUMENT, ScoreStep, Step, batch_sizes, split_batch
from server.backends.busy_threads import DECODING
from server.backends.context import ContextBackend
from server.backends.memory import Encoded, HostMemory, Layout, memory_inputs
from server.backends.onnx.alignment import OnnxAligner
from server.backends.onnx.binding import DeviceMemory, Run, bind_device, bind_host, log_probabilities
from server.backends.onnx.context import OnnxContext
from server.backends.onnx.decoder_context import OnnxDecoderContext
from server.backends.onnx.session import DEVICES, Device, OnnxGraph, open_graph
from server.backends.state import DecoderState
from server.runtime.huge_pages import huge_pages


class OnnxBackend:
    """Backend over ONNX Runtime. `memory_on_device`: whether memory consists of the runtime's own values, as a CUDA
    device needs (the default there); otherwise graphs on the CPU work on NumPy arrays in place. `threads` compute a
    step together while no other engine of the process works: their sessions are others, with weights of their own."""

    def __init__(
        self,
        artifact: Artifact,
        precision: str,
        use_shortlist: bool,
        device: Device = "cpu",
        memory_on_device: bool | None = None,
        threads: int = 1,
    ) -> None:
        self.manifest = artifact.manifest
        self.shortlist = use_shortlist
        self.device = dataclasses.replace(DEVICES[device], threads=threads, runs_on_caller=device == "cpu")
        self._device: Device = device
        self._memory_on_device = device != "cpu" if memory_on_device is None else memory_on_device
        self._artifact, self._files = artifact, self.manifest.graph("onnx", precision)
        self._encode = self._open(self._files.encode)
        self._shared_steps: dict[str, OnnxGraph] = {}
        """Step graphs by name whose sessions have `threads`, where these are several."""
        self._step = self._open_step(self._files.step_shortlist if use_shortlist else self._files.step)
        self._scoring_steps: list[OnnxGraph] = []
        """Score graphs, without and with attention to documents; loaded by `prepare_scores`."""
        self._opening = threading.Lock()
        self._context_step: OnnxGraph | None = None
        """The step graph with attention to documents, where context is on the decoder's side."""
        self.context: ContextBackend | None = None
        self.aligner: Aligner | None = None
        if self._files.align:
            self.aligner = OnnxAligner(artifact, self._files.align, self._encode, device)
        context = self._files.context
        encoded = self._encode.signature.output_names
        self._encode_outputs = [name for name in encoded if name in self._step.signature.names("source")]
        if context is not None and context.step:
            self._context_step = self._open_step(context.step)
            self.context = OnnxDecoderContext(artifact, context, self.encode, device)
        elif context is not None:
            self.context = OnnxContext(artifact, context, self._encode, self._encode_outputs, device)

    def _open(self, file: str) -> OnnxGraph:
        return open_graph(self._artifact, file, self._device)

    def _open_step(self, file: str) -> OnnxGraph:
        if self.device.threads > 1:
            self._shared_steps[file] = open_graph(self._artifact, file, self._device, self.device.threads)
        return self._open(file)

    def encode(self, source_ids: Ints, source_keep: Flags) -> list[Encoded]:
        outputs = self._encode.run(self._encode_outputs, {"source_ids": source_ids, "source_keep": source_keep})
        tensors = dict(zip(self._encode_outputs, outputs, strict=True))
        return split_batch(self._encode.signature, tensors, source_keep)

    def new_state(
        self,
        slots: int,
        beam: int,
        source_length: int,
        document: Mapping[str, Layout] = NO_DOCUMENT,
        scores: bool = False,
        capacity: int | None = None,
    ) -> DecoderState:
        graph = self._graph(bool(document), scores)
        sizes = batch_sizes(self.manifest, slots, beam, source_length, capacity)
        host = HostMemory(memory_inputs(graph.signature), sizes, document)
        memory = DeviceMemory(host, self._device) if self._memory_on_device else host
        reuses = beam > 1 and not scores and self._attends_to_all(graph)
        return DecoderState(self.manifest, slots, beam, source_length, memory, capacity, reuses)

    def _attends_to_all(self, graph: OnnxGraph) -> bool:
        """Whether rows attend to all of their past, wherever its entries are."""
        has_ring = bool(graph.signature.names("ring"))
        return has_ring and self.manifest.order is None and "key_age" not in graph.signature.input_names

    def _graph(self, attends_context: bool, scores: bool) -> OnnxGraph:
        """The step graph of a kind of lane."""
        if scores:
            assert self._scoring_steps, "prepare_scores comes first"
            return self._scoring_steps[-1 if attends_context else 0]
        graph = self._context_step if attends_context else self._step
        assert graph is not None
        return graph

    def bind(self, state: DecoderState) -> Step:
        graph = self._graph(bool(state.memory.document), scores=False)
        step = self._bound(graph, state)
        if graph.name not in self._shared_steps:
            return step
        shared_step = self._bound(self._shared_steps[graph.name], state)
        return lambda: shared_step() if DECODING.is_one else step()

    def prepare_scores(self) -> None:
        with self._opening, huge_pages():
            if not self._scoring_steps:
                in_context = "" if self._files.context is None else self._files.context.score
                files = [file for file in (self._files.score, in_context) if file]
                self._scoring_steps = [self._open(file) for file in files]

    def bind_scores(self, state: DecoderState) -> ScoreStep:
        run = self._bound(self._graph(bool(state.memory.document), scores=True), state)

        def step() -> Floats:
            return log_probabilities(run())

        return step

    def _bound(self, graph: OnnxGraph, state: DecoderState) -> Run:
        """A step that writes its outputs into the state's rows and memory."""
        if isinstance(state.memory, DeviceMemory):
            return bind_device(graph, state, state.memory)
        assert isinstance(state.memory, HostMemory)
        return bind_host(graph, state, state.memory)
