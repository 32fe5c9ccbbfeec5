"""Context on the encoder's side on PyTorch. States of a document's sentences come from the host once for a sentence
that attends to them; what it gets from them stays on the device."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from server.artifact.artifact import Artifact
from server.artifact.manifest import ContextGraphs
from server.artifact.signature import Axis
from server.backends.arrays import Array, Flags, Floats, Ints, pad_ids
from server.backends.attention import attention_of, reach_of
from server.backends.context import Attended, ContextAttention, EncodedSource, SentenceContext, Side, States
from server.backends.memory import Encoded
from server.backends.torchscript.graph import Loader
from server.backends.torchscript.memory import EncodedOnDevice, Kind, stacked
from server.backends.torchscript.place import to_host

MAX_ENERGIES = {"cpu": 2**16}
"""Source pieces times words of the context, with padding, in one run of a graph (see the backend of ONNX Runtime)."""
MAX_ENERGIES_ON_DEVICE = 2**20
"""The same on a GPU: at about 600 bytes each, 600 MiB of temporary memory at most."""


EncodeBatch = Callable[[Mapping[str, Array]], dict[str, Tensor]]


@dataclass(frozen=True)
class SourceOnDevice(EncodedSource):
    """`encoder_output` [length, d] is `memory` on the device."""

    encoder_output: Tensor = field(default_factory=lambda: torch.zeros(0))

    @property
    def num_bytes(self) -> int:
        return self.encoder_output.nbytes + self.without_context.num_bytes


class TorchContext:
    """ContextBackend beside a TorchScriptBackend, whose `encode` it shares."""

    def __init__(
        self,
        artifact: Artifact,
        files: ContextGraphs,
        loader: Loader,
        sources: Mapping[Kind, Sequence[str]],
        encode: EncodeBatch,
    ) -> None:
        """`sources`: the names of source tensors (see `tensors_by_kind`). `encode`: source_ids and source_keep -> these
        tensors, and memory."""
        self._encode, self._sources, self._place = encode, sources, loader.encode.place
        self.side: Side = "encoder"
        self.reach = reach_of(artifact)
        self._store, self._attend_graph, self._project = (
            loader.load(name) for name in (files.store, files.attend, files.project)
        )
        self.max_energies = MAX_ENERGIES.get(self._place.device.type, MAX_ENERGIES_ON_DEVICE)
        outputs = self._attend_graph.signature.output_names
        self._word_weights = [name for name in outputs if name.startswith("word_weights")]

    def compute_states(
        self, source_ids: Sequence[int], target_ids: Sequence[int] = (), encoded: EncodedSource | None = None
    ) -> States:
        states = (self.encode_sources([source_ids])[0] if encoded is None else encoded).states
        assert states is not None
        return states

    @torch.inference_mode()
    def encode_sources(self, sources: Sequence[Sequence[int]]) -> list[EncodedSource]:
        sentences = self._run_encoder(*pad_ids(sources))
        states = self._compute_states([memory for _, memory in sentences])
        return [
            SourceOnDevice(tuple(ids), encoded, of_sentence, encoder_output=memory.clone())  # not of the whole batch
            for ids, of_sentence, (encoded, memory) in zip(sources, states, sentences, strict=True)
        ]

    def _compute_states(self, memories: Sequence[Tensor]) -> list[States]:
        """The states of every sentence from its memory [length, d]. A sentence of EOS alone has no words: it is never
        visible, and has states of one padding word."""
        counts = [len(memory) - 1 for memory in memories]
        words = memories[0].new_zeros((len(memories), max(1, *counts), memories[0].shape[1]))
        keep: Flags = np.zeros(words.shape[:2], np.int32)
        for row, (memory, count) in enumerate(zip(memories, counts, strict=True)):
            words[row, : max(1, count)] = memory[: max(1, count)]
            keep[row, :count] = 1
        outputs = self._store({"memory": words, "word_keep": keep})
        arrays = dict(zip(outputs, to_host([*outputs.values()]), strict=True))
        return [
            {
                name: (array[row, : max(1, count)] if name.startswith("word") else array[row]).astype(np.float16)
                for name, array in arrays.items()
            }
            for row, count in enumerate(counts)
        ]

    def attend(self, sentence: EncodedSource, context: SentenceContext | None) -> Attended:
        if context is None:
            return Attended(sentence.without_context, None)
        assert isinstance(sentence, SourceOnDevice)
        return self._attend(sentence.without_context, sentence.encoder_output, context)

    def encode_in_context(
        self, source_ids: Ints, source_keep: Flags, contexts: Sequence[SentenceContext]
    ) -> list[Attended]:
        sentences = self._run_encoder(source_ids, source_keep)
        return [
            self._attend(encoded, memory, context)
            for (encoded, memory), context in zip(sentences, contexts, strict=True)
        ]

    def _run_encoder(self, source_ids: Ints, source_keep: Flags) -> list[tuple[EncodedOnDevice, Tensor]]:
        """For every sentence, the tensors for a translation without context, and its memory [length, d]."""
        outputs = self._encode({"source_ids": source_ids, "source_keep": source_keep})
        stacks, memory = stacked(outputs, self._sources), outputs["memory"]
        return [
            (EncodedOnDevice(length, {}, {}, stacks, self._sources, row), memory[row, :length])
            for row, length in enumerate(source_keep.sum(axis=1).tolist())
        ]

    @torch.inference_mode()
    def _attend(self, sentence: Encoded, memory: Tensor, context: SentenceContext) -> Attended:
        assert isinstance(sentence, EncodedOnDevice)
        context = context.trimmed()
        outputs = self._run_in_slices(["new_memory", "sentence_weights", "gate"], memory, context)
        # The sentence's shortlist stays.
        tensors = {**sentence.named(), **self._project({"memory": outputs["new_memory"]})}
        encoded = EncodedOnDevice(sentence.length, {}, {}, stacked(tensors, self._sources), self._sources)
        return Attended(encoded, self._attention(context, outputs))

    @torch.inference_mode()
    def explain(
        self,
        source_ids: Sequence[int],
        context: SentenceContext,
        target_ids: Sequence[int] = (),
        encoded: EncodedSource | None = None,
    ) -> ContextAttention:
        source = self.encode_sources([source_ids])[0] if encoded is None else encoded
        assert isinstance(source, SourceOnDevice)
        context = context.trimmed()
        names = ["sentence_weights", "gate", *self._word_weights]
        return self._attention(context, self._run_in_slices(names, source.encoder_output, context))

    def _attention(self, context: SentenceContext, outputs: Mapping[str, Tensor]) -> ContextAttention:
        """What the host reads, in one copy."""
        means = [outputs["sentence_weights"].float().mean(dim=2), outputs["gate"].float().mean().view(1)]
        weights, gate, *words = to_host([*means, *(outputs[name] for name in self._word_weights if name in outputs)])
        return attention_of(context, weights, gate, words)

    def _run_in_slices(self, names: list[str], memory: Tensor, context: SentenceContext) -> dict[str, Tensor]:
        """Run the attend graph, in which every source piece attends for itself, over slices of `memory` [length, d], so
        that its temporary memory is bounded. Outputs with an axis `source` are joined; the others are means over
        pieces."""
        place, graph = self._place, self._attend_graph
        document = {name: place.tensor(array) for name, array in context.stored.tensors(context.distance).items()}
        num_slices = min(len(memory), -(-len(memory) * context.stored.num_word_positions // self.max_energies))
        runs, lengths = [], []
        for pieces in memory.tensor_split(max(1, num_slices)):
            keep: Floats | Flags = np.ones((1, len(pieces)), np.int32)
            runs.append(graph({"memory": pieces[None], "keep": keep, **document}))
            lengths.append(len(pieces))
        if len(runs) == 1:
            return {name: runs[0][name] for name in names}
        axes = {tensor.name: tensor.axes for tensor in graph.signature.outputs}
        return {name: _joined([run[name] for run in runs], axes[name], lengths) for name in names}


def _joined(parts: Sequence[Tensor], axes: Sequence[Axis], lengths: Sequence[int]) -> Tensor:
    if "source" in axes:
        return torch.cat(list(parts), axes.index("source"))
    total = sum(part.float() * length for part, length in zip(parts, lengths, strict=True))
    assert isinstance(total, Tensor)
    return total / sum(lengths)
