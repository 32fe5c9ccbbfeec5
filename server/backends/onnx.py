"""ONNX Runtime: one session per graph, shared by all workers; inputs and outputs bound to the state's own arrays."""

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime

from server.artifact import Artifact
from server.backends.base import ScoreStep, Step, check_names, split_batch
from server.backends.context import ContextBackend
from server.backends.onnx_context import OnnxContext
from server.backends.onnx_decoder_context import OnnxDecoderContext
from server.backends.onnx_scoring import ScoreGraph, open_score_graph
from server.backends.onnx_session import open_session
from server.backends.state import Array, DecoderState, Encoded, Flags, Floats, Ints, Layout, shortlist_layout


class OnnxBackend:
    """Backend over ONNX Runtime's CPU provider."""

    def __init__(self, artifact: Artifact, precision: str, use_shortlist: bool) -> None:
        self.manifest = artifact.manifest
        files = self.manifest.graph("onnx", precision)
        self.shortlist: Mapping[str, Layout] = shortlist_layout(self.manifest, precision) if use_shortlist else {}
        self._encode = open_session(artifact.path(files.encode))
        self._encode_outputs = [*self.manifest.source_tensors, *self.shortlist]
        self._only_fetched = onnxruntime.RunOptions()
        self._only_fetched.only_execute_path_to_fetches = True  # a shortlist that nobody uses costs nothing
        self._step = open_session(artifact.path(files.step_shortlist if use_shortlist else files.step))
        self._look: onnxruntime.InferenceSession | None = None
        """The step of sentences that look at their document, where that is on the decoder's side."""
        self.context: ContextBackend | None = None
        context = self.manifest.context
        if context is not None and context.side == "decoder":
            on_decoder = OnnxDecoderContext(artifact, context, self.encode)
            self.context, self._look = on_decoder, on_decoder.step
        elif context is not None:
            self.context = OnnxContext(artifact, context, self._encode, self._only_fetched, list(self.shortlist))
        look = context.step if context is not None and context.side == "decoder" else ""
        self._score_paths = [artifact.path(name) for name in (files.step, look) if name]
        self._score: list[ScoreGraph] = []
        """The steps over all words, plain and with a look at documents; open once somebody asked for scores."""
        self._opening = threading.Lock()

    def encode(self, source_ids: Ints, source_keep: Flags) -> list[Encoded]:
        feeds = {"source_ids": source_ids, "source_keep": source_keep}
        outputs: list[Array] = self._encode.run(self._encode_outputs, feeds, self._only_fetched)
        count = len(self.manifest.source_tensors)
        return split_batch(outputs[:count], outputs[count:], source_keep)

    def bind(self, state: DecoderState) -> Step:
        session = self._look if state.document else self._step
        assert session is not None
        bindings = [self._binding(session, state, turn, chosen(state, turn)) for turn in (0, 1)]
        run = session.run_with_iobinding

        def step() -> None:
            run(bindings[state.clock % 2])

        return step

    def prepare_scores(self) -> None:
        with self._opening:
            if not self._score:
                self._score = [open_score_graph(path) for path in self._score_paths]

    def bind_scores(self, state: DecoderState) -> ScoreStep:
        graph = self._score[-1 if state.document else 0]
        session, name = graph.session, graph.log_probabilities
        bindings = [self._binding(session, state, turn, {}) for turn in (0, 1)]
        for binding in bindings:
            binding.bind_output(name, "cpu")
        run, options = session.run_with_iobinding, self._only_fetched

        def step() -> Floats:
            binding = bindings[state.clock % 2]
            run(binding, options)
            found: Floats = binding.get_outputs()[-1].numpy()
            return found

        return step

    def _binding(
        self, session: onnxruntime.InferenceSession, state: DecoderState, turn: int, chosen: Mapping[str, Array]
    ) -> onnxruntime.IOBinding:
        """Inputs and outputs for the steps in which `rows[turn]` are read and the other ones written: their ancestry,
        the rings and what is `chosen`."""
        binding, wanted = session.io_binding(), [tensor.name for tensor in session.get_inputs()]
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
            **state.document,
        }
        check_names(set(inputs), set(wanted), "the step graph")
        outputs: dict[str, np.ndarray[Any, Any]] = {
            **chosen,
            "next_ancestry": after.ancestry,
            **{f"next_{name}": buffer for name, buffer in state.ring.items()},
        }
        for name in wanted:
            array = inputs[name]
            binding.bind_input(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
        for name, array in outputs.items():
            binding.bind_output(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
        return binding


def chosen(state: DecoderState, turn: int) -> dict[str, Array]:
    """Where a step writes its candidates, and the following rows that it chooses among them."""
    after = state.rows[1 - turn]
    return {
        "candidate_score": state.candidates.score,
        "candidate_token": state.candidates.token,
        "candidate_parent": state.candidates.parent,
        "next_token": after.token,
        "next_parent": after.parent,
        "next_score": after.score,
    }
