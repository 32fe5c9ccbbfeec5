"""TorchScript: the same graphs through torch.jit, for comparison and where torch is the runtime at hand."""

import warnings
from collections.abc import Mapping
from pathlib import Path

import torch

from server.artifact import Artifact, ArtifactError
from server.backends.base import CannotScore, ScoreStep, Step, split_batch
from server.backends.context import ContextBackend
from server.backends.state import DecoderState, Encoded, Flags, Ints, Layout


def load_graph(path: Path) -> torch.jit.ScriptModule:
    """Raises ArtifactError for a file that torch cannot load."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit announces its retirement at every load
        try:
            return torch.jit.load(str(path)).eval()  # type: ignore[no-any-return, no-untyped-call]
        except RuntimeError as error:
            raise ArtifactError(f"torch cannot load {path}: {error}") from error


class TorchScriptBackend:
    """Backend over torch.jit on the CPU. Results are copied back into the state's arrays."""

    def __init__(self, artifact: Artifact, precision: str) -> None:
        self.manifest = artifact.manifest
        files = self.manifest.graph("torchscript", precision)
        self.shortlist: Mapping[str, Layout] = {}
        self.context: ContextBackend | None = None
        self._encode = load_graph(artifact.path(files.encode))
        self._step = load_graph(artifact.path(files.step))

    @torch.inference_mode()
    def encode(self, source_ids: Ints, source_keep: Flags) -> list[Encoded]:
        outputs = self._encode(torch.from_numpy(source_ids), torch.from_numpy(source_keep))
        return split_batch([tensor.numpy() for tensor in outputs], [], source_keep)

    def bind(self, state: DecoderState) -> Step:
        shared = [
            torch.from_numpy(array)
            for array in (
                state.is_row, state.position, state.own_key, state.write_index, state.key_age, state.source_keep,
            )
        ]  # fmt: skip
        rows = [
            [torch.from_numpy(array) for array in (one.token, one.parent, one.score, one.ancestry)]
            for one in state.rows
        ]
        rings = [torch.from_numpy(array) for array in state.ring.values()]
        sources = [torch.from_numpy(array) for array in state.source.values()]
        candidates = [
            torch.from_numpy(array)
            for array in (state.candidates.score, state.candidates.token, state.candidates.parent)
        ]

        @torch.inference_mode()
        def step() -> None:
            turn = state.clock % 2
            outputs = self._step(shared, rows[turn], rings, sources)
            for buffer, tensor in zip([*candidates, *rows[1 - turn], *rings], outputs, strict=True):
                buffer.copy_(tensor)

        return step

    def prepare_scores(self) -> None:
        raise CannotScore("TorchScript graphs give out no log-probabilities: serve with --backend onnx")

    def bind_scores(self, state: DecoderState) -> ScoreStep:
        raise NotImplementedError
