"""The backend of PyTorch."""

from collections.abc import Mapping

import torch

from server.artifact.artifact import Artifact
from server.artifact.manifest import Manifest
from server.artifact.signature import Signature
from server.backends.alignment import Aligner
from server.backends.arrays import Flags, Ints
from server.backends.base import NO_DOCUMENT, CannotScore, ScoreStep, Step, batch_sizes
from server.backends.context import ContextBackend
from server.backends.device import Device
from server.backends.memory import Encoded, Layout
from server.backends.state import DecoderState
from server.backends.torchscript.capture import Recorder, repeated
from server.backends.torchscript.device import check_precision, find_device
from server.backends.torchscript.graph import Graph, load_graph
from server.backends.torchscript.memory import EncodedOnDevice, Place, TorchMemory, tensors_by_axes
from server.backends.torchscript.step import DeviceStep, bound_step

FORMAT = "torchscript"


class TorchScriptBackend:
    """Backend over TorchScript graphs on the CPU, a CUDA device or Apple's GPU. Rings, source tensors and the rows'
    ancestry stay on the device. The graphs are those of fp32; weights, rings and source tensors take the `precision`.
    A step of fixed shape is recorded on a CUDA device, unless `records` is False."""

    def __init__(self, artifact: Artifact, precision: str, device: str = "cpu", records: bool = True) -> None:
        """Raises ArtifactError for graphs that cannot be loaded, and for a device or precision that is not there."""
        found = find_device(device)
        place = Place(torch.device(found.name), check_precision(found, precision))
        files = artifact.manifest.graph(FORMAT, "fp32")
        encode, step = (
            load_graph(artifact.path(file), place.device, place.dtype) for file in (files.encode, files.step)
        )
        self._set(
            artifact.manifest,
            found,
            place,
            (encode, artifact.manifest.signature(files.encode)),
            (step, artifact.manifest.signature(files.step)),
            records,
        )

    def _set(
        self,
        manifest: Manifest,
        device: Device,
        place: Place,
        encode: tuple[Graph, Signature],
        step: tuple[Graph, Signature],
        records: bool = False,
    ) -> None:
        self.manifest, self.device, self._place = manifest, device, place
        self.shortlist = False
        self.context: ContextBackend | None = None
        self.aligner: Aligner | None = None
        self._encode, self._encode_signature = encode
        self._step, self._signature = step
        self._sources = tensors_by_axes(self._signature.inputs, "source")
        self._recorder = Recorder(place.device) if records and device.kind == "cuda" else None

    @torch.inference_mode()
    def encode(self, source_ids: Ints, source_keep: Flags) -> list[Encoded]:
        feeds = {"source_ids": source_ids, "source_keep": source_keep}
        signature, device = self._encode_signature, self._place.device
        outputs = self._encode([torch.from_numpy(feeds[name]).to(device) for name in signature.input_names])
        by_name = dict(zip(signature.output_names, outputs, strict=True))
        stacks = {axes: torch.stack([by_name[name] for name in names]) for axes, names in self._sources.items()}
        return [
            EncodedOnDevice(length, {}, stacks=stacks, row=row)
            for row, length in enumerate(source_keep.sum(axis=1).tolist())
        ]

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
        memory = TorchMemory(self._signature, sizes, self._place)
        return DecoderState(self.manifest, slots, beam, source_length, memory, capacity)

    def bind(self, state: DecoderState) -> Step:
        memory = state.memory
        assert isinstance(memory, TorchMemory)
        step = DeviceStep(self._step, self._signature, state, memory)
        run = torch.inference_mode()(step.run)
        return bound_step(step, state, memory, repeated(run, self._place.device, self._recorder))

    def prepare_scores(self) -> None:
        raise CannotScore("TorchScript graphs have no log-probabilities as output: serve with --backend onnx")

    def bind_scores(self, state: DecoderState) -> ScoreStep:
        raise CannotScore("bind_scores comes after prepare_scores, which refuses")
