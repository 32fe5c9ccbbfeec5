"""ONNX Runtime: one session per graph, shared by all workers; inputs and outputs bound to the state's own arrays."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from server.artifact import Artifact, ArtifactError
from server.backends.base import Step, check_names, split_batch
from server.backends.state import Array, DecoderState, Encoded, Flags, Ints, Layout, shortlist_layout


def open_session(path: Path) -> onnxruntime.InferenceSession:
    """A session for one thread at a time per run; parallelism comes from several workers (twice as fast on two
    cores as one session with two threads, because a step's matrices are small)."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    # The fused Add + LayerNormalization kernel is several times slower on CPUs than the two nodes that it replaces.
    slow = ["SkipLayerNormFusion", "BiasSkipLayerNormFusion"]
    try:
        return onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=slow
        )
    except Exception as error:  # the runtime's own exceptions share no public base class
        raise ArtifactError(f"onnxruntime cannot load {path}: {error}") from error


class OnnxBackend:
    """Backend over ONNX Runtime's CPU provider."""

    def __init__(self, artifact: Artifact, precision: str, use_shortlist: bool) -> None:
        self.manifest = artifact.manifest
        files = self.manifest.graph("onnx", precision)
        self.shortlist: Mapping[str, Layout] = shortlist_layout(self.manifest, precision) if use_shortlist else {}
        self._encode = open_session(artifact.path(files.encode))
        self._encode_outputs = [*self.manifest.source_tensors, *self.shortlist]
        self._encode_options = onnxruntime.RunOptions()
        self._encode_options.only_execute_path_to_fetches = True  # a shortlist that nobody uses costs nothing
        self._step = open_session(artifact.path(files.step_shortlist if use_shortlist else files.step))
        self._step_inputs = [tensor.name for tensor in self._step.get_inputs()]

    def encode(self, source_ids: Ints, source_keep: Flags) -> list[Encoded]:
        feeds = {"source_ids": source_ids, "source_keep": source_keep}
        outputs: list[Array] = self._encode.run(self._encode_outputs, feeds, self._encode_options)
        count = len(self.manifest.source_tensors)
        return split_batch(outputs[:count], outputs[count:], source_keep)

    def bind(self, state: DecoderState) -> Step:
        bindings = [self._binding(state, turn) for turn in (0, 1)]
        run = self._step.run_with_iobinding

        def step() -> None:
            run(bindings[state.clock % 2])

        return step

    def _binding(self, state: DecoderState, turn: int) -> onnxruntime.IOBinding:
        """Inputs and outputs for the steps in which `rows[turn]` are read and the other ones written."""
        binding = self._step.io_binding()
        before, after = state.rows[turn], state.rows[1 - turn]
        inputs: dict[str, np.ndarray[Any, Any]] = {
            "token": before.token,
            "parent": before.parent,
            "score": before.score,
            "ancestry": before.ancestry,
            "is_row": state.is_row,
            "position": state.position,
            "own_key": state.own_key,
            "kept_key": state.kept_key,
            "key_age": state.key_age,
            "write_index": state.write_index,
            "first_row": state.first_row,
            "num_rows": state.num_rows,
            "num_candidates": state.num_candidates,
            "source_keep": state.source_keep,
            **state.ring,
            **state.source,
            **state.shortlist,
        }
        check_names(set(inputs), set(self._step_inputs), "the step graph")
        outputs: dict[str, np.ndarray[Any, Any]] = {
            "candidate_score": state.candidates.score,
            "candidate_token": state.candidates.token,
            "candidate_parent": state.candidates.parent,
            "next_token": after.token,
            "next_parent": after.parent,
            "next_score": after.score,
            "next_ancestry": after.ancestry,
            **{f"next_{name}": buffer for name, buffer in state.ring.items()},
        }
        for name in self._step_inputs:
            array = inputs[name]
            binding.bind_input(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
        for name, array in outputs.items():
            binding.bind_output(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
        return binding
