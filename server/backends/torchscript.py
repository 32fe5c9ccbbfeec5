"""The backend of TorchScript: the same graphs through torch.jit, for comparison, and for devices without ONNX
Runtime."""

import warnings
from collections.abc import Mapping
from pathlib import Path

import torch

from server.artifact.artifact import Artifact
from server.artifact.manifest import ArtifactError
from server.backends.alignment import Aligner
from server.backends.arrays import Flags, Ints
from server.backends.base import NO_DOCUMENT, CannotScore, ScoreStep, Step, batch_sizes, input_arrays, split_batch
from server.backends.context import ContextBackend
from server.backends.memory import Encoded, HostMemory, Layout, memory_inputs
from server.backends.state import DecoderState

FORMAT = "torchscript"


def load_graph(path: Path) -> torch.jit.ScriptModule:
    """Raises ArtifactError for a file that torch cannot load."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit warns of its deprecation at every load
        try:
            return torch.jit.load(str(path)).eval()  # type: ignore[no-any-return, no-untyped-call]
        except RuntimeError as error:
            raise ArtifactError(f"torch cannot load {path}: {error}") from error


class TorchScriptBackend:
    """Backend over torch.jit on the CPU. A graph takes and returns a list of tensors in the order of its signature;
    results are copied into the state's arrays."""

    def __init__(self, artifact: Artifact, precision: str) -> None:
        self.manifest = artifact.manifest
        files = self.manifest.graph(FORMAT, precision)
        self.shortlist = False
        self.context: ContextBackend | None = None
        self.aligner: Aligner | None = None
        self._encode = load_graph(artifact.path(files.encode))
        self._step = load_graph(artifact.path(files.step))
        self._name = files.step
        self._encode_signature, self._signature = (self.manifest.signature(name) for name in (files.encode, files.step))

    @torch.inference_mode()
    def encode(self, source_ids: Ints, source_keep: Flags) -> list[Encoded]:
        feeds = {"source_ids": source_ids, "source_keep": source_keep}
        outputs = self._encode([torch.from_numpy(feeds[name]) for name in self._encode_signature.input_names])
        names = self._encode_signature.output_names
        tensors = {name: tensor.numpy() for name, tensor in zip(names, outputs, strict=True)}
        return split_batch(self._encode_signature, tensors, source_keep)

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
        memory = HostMemory(memory_inputs(self._signature), sizes, document)
        return DecoderState(self.manifest, slots, beam, source_length, memory, capacity)

    def bind(self, state: DecoderState) -> Step:
        memory = state.memory
        assert isinstance(memory, HostMemory)
        inputs, outputs = [], []
        for parity in (0, 1):
            arrays = input_arrays(self._signature, {**state.inputs(parity), **memory.inputs(parity)}, self._name)
            inputs.append([torch.from_numpy(array) for array in arrays.values()])
            written = {**state.outputs(parity), **memory.outputs(parity)}
            outputs.append([torch.from_numpy(written[name]) for name in self._signature.output_names])

        @torch.inference_mode()
        def step() -> None:
            parity = state.clock % 2
            for buffer, tensor in zip(outputs[parity], self._step(inputs[parity]), strict=True):
                buffer.copy_(tensor)

        return step

    def prepare_scores(self) -> None:
        raise CannotScore("TorchScript graphs have no log-probabilities as output: serve with --backend onnx")

    def bind_scores(self, state: DecoderState) -> ScoreStep:
        raise CannotScore("bind_scores comes after prepare_scores, which refuses")
