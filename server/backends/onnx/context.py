"""Context on the encoder's side on ONNX Runtime."""

from collections.abc import Sequence

import numpy as np

from server.artifact.artifact import Artifact
from server.artifact.manifest import ContextGraphs
from server.backends.arrays import pad_ids
from server.backends.attention import attention_of, reach_of
from server.backends.base import split_batch
from server.backends.context import Attended, ContextAttention, EncodedSource, SentenceContext, Side, States
from server.backends.onnx.session import Device, OnnxGraph, open_graph
from server.backends.state import Array, Encoded, Flags, Floats, Ints

MIN_PRUNED_SENTENCES = 50
"""Sentences of a document from which the `pruned` graph runs, which reads only the words of sentences with a nonzero
weight. It is slower for 10 sentences and faster for 100 (loadtest/bench/results); no number between was measured."""
MAX_SINGLE_PAGE_WORDS = 320
"""Words of all sentences, padded to the longest, up to which the `near` graph runs, with a single page: for few short
sentences the overhead of a graph's nodes dominates, and pages multiply the nodes. Nine sentences of 9 words take 0.82
of the time of several pages, ten sentences of 30 words 1.18."""
MAX_ENERGIES = 2**16
"""Source pieces times words of the context, with padding, in one run of a graph: each takes about 600 bytes of
temporary memory. A sentence of 256 pieces among eight others takes 28 ms instead of 23 (one core of a Xeon), and 40 MiB
instead of 350; sentences of 60 pieces are one run."""


class OnnxContext:
    """ContextBackend beside an OnnxBackend, whose encode session it shares."""

    def __init__(
        self,
        artifact: Artifact,
        files: ContextGraphs,
        encode: OnnxGraph,
        encode_outputs: Sequence[str],
        device: Device,
    ) -> None:
        """`encode_outputs`: the outputs of the encode graph that step graphs read."""
        self._source_tensors = list(artifact.manifest.source_tensors)
        self._encode = encode
        self.side: Side = "encoder"
        self.reach = reach_of(artifact)
        self._encode_outputs = encode_outputs
        self._store, self._attend_graph, self._project = (
            open_graph(artifact, name, device) for name in (files.store, files.attend, files.project)
        )
        self.min_pruned_sentences = MIN_PRUNED_SENTENCES
        self.pruned = open_graph(artifact, files.pruned, device) if files.pruned else None
        self.max_single_page_words = MAX_SINGLE_PAGE_WORDS
        self.max_energies = MAX_ENERGIES
        self._near = open_graph(artifact, files.near, device) if files.near else None
        self._word_weights = [
            name for name in self._attend_graph.signature.output_names if name.startswith("word_weights")
        ]

    def encode_in_context(
        self, source_ids: Ints, source_keep: Flags, contexts: Sequence[SentenceContext]
    ) -> list[Attended]:
        sentences = self._run_encoder(source_ids, source_keep)
        return [self._attend(*sentence, context) for sentence, context in zip(sentences, contexts, strict=True)]

    def compute_states(
        self, source_ids: Sequence[int], target_ids: Sequence[int] = (), encoded: EncodedSource | None = None
    ) -> States:
        states = (self.encode_sources([source_ids])[0] if encoded is None else encoded).states
        assert states is not None
        return states

    def encode_sources(self, sources: Sequence[Sequence[int]]) -> list[EncodedSource]:
        sentences = self._run_encoder(*pad_ids(sources))
        states = self._compute_states([memory for _, memory in sentences])
        return [
            EncodedSource(tuple(ids), encoded, sentence_states, memory)
            for ids, sentence_states, (encoded, memory) in zip(sources, states, sentences, strict=True)
        ]

    def _compute_states(self, memories: Sequence[Floats]) -> list[States]:
        """The states of every sentence from its memory [length, d]. A sentence of EOS alone has no words: it is never
        visible, and has states of one padding word."""
        counts = [len(memory) - 1 for memory in memories]
        words: Floats = np.zeros((len(memories), max(1, *counts), memories[0].shape[1]), np.float32)
        keep: Flags = np.zeros(words.shape[:2], np.int32)
        for row, (memory, count) in enumerate(zip(memories, counts, strict=True)):
            words[row, : max(1, count)] = memory[: max(1, count)]
            keep[row, :count] = 1
        names = self._store.signature.output_names
        outputs = dict(zip(names, self._store.run(names, {"memory": words, "word_keep": keep}), strict=True))
        return [
            {
                name: (output[row, : max(1, count)] if name.startswith("word") else output[row]).astype(np.float16)
                for name, output in outputs.items()
            }
            for row, count in enumerate(counts)
        ]

    def attend(self, sentence: EncodedSource, context: SentenceContext | None) -> Attended:
        if context is None:
            return Attended(sentence.without_context, None)
        assert sentence.memory is not None
        return self._attend(sentence.without_context, sentence.memory, context)

    def _run_encoder(self, source_ids: Ints, source_keep: Flags) -> list[tuple[Encoded, Floats]]:
        """For every sentence, the tensors for a translation without context, and its memory [length, d]."""
        feeds: dict[str, Array] = {"source_ids": source_ids, "source_keep": source_keep}
        names = [*self._encode_outputs, "memory"]
        tensors = dict(zip(names, self._encode.run(names, feeds), strict=True))
        memory = tensors.pop("memory")
        sentences = split_batch(self._encode.signature, tensors, source_keep)
        return [(sentence, memory[row, : sentence.length]) for row, sentence in enumerate(sentences)]

    def _attend(self, encoded: Encoded, memory: Floats, context: SentenceContext) -> Attended:
        context = context.trimmed()
        if self._near is not None and context.stored.num_word_positions <= self.max_single_page_words:
            feeds = {"memory": memory[None], **context.stored.in_one_page(context.distance)}
            *source, weights, gate = self._near.run([*self._source_tensors, "looked", "gate"], feeds)
            attention = ContextAttention(np.pad(weights[0], ((0, 0), (context.skipped, 0))), float(gate[0]))
            return self._attended(encoded, source, attention)
        if self.pruned is not None and context.stored.num_sentences >= self.min_pruned_sentences:
            outputs = [*self._source_tensors, "looked", "gate"]
            *source, weights, gate = self._run_in_slices(self.pruned, outputs, memory, context)
        else:
            outputs = ["new_memory", "sentence_weights", "gate"]
            new_memory, weights, gate = self._run_in_slices(self._attend_graph, outputs, memory, context)
            source, weights = self._project.run(self._source_tensors, {"memory": new_memory}), weights.mean(axis=2)
        return self._attended(encoded, source, attention_of(context, weights, gate))

    def _attended(self, encoded: Encoded, source: Sequence[Floats], attention: ContextAttention) -> Attended:
        tensors = {name: tensor[0] for name, tensor in zip(self._source_tensors, source, strict=True)}
        return Attended(Encoded(encoded.length, {**encoded.tensors, **tensors}), attention)

    def explain(
        self,
        source_ids: Sequence[int],
        context: SentenceContext,
        target_ids: Sequence[int] = (),
        encoded: EncodedSource | None = None,
    ) -> ContextAttention:
        context = context.trimmed()
        memory = (self.encode_sources([source_ids])[0] if encoded is None else encoded).memory
        assert memory is not None
        outputs = ["sentence_weights", "gate", *self._word_weights]
        weights, gate, *words = self._run_in_slices(self._attend_graph, outputs, memory, context)
        return attention_of(context, weights.mean(axis=2), gate, words)

    def _run_in_slices(
        self, graph: OnnxGraph, outputs: list[str], memory: Floats, context: SentenceContext
    ) -> list[Floats]:
        """Run a graph in which every source piece attends for itself over slices of `memory` [length, d], so that its
        temporary memory is bounded. Outputs with an axis `source` are joined; the others are means over pieces."""
        document = context.stored.tensors(context.distance)
        num_slices = min(len(memory), -(-len(memory) * context.stored.num_word_positions // self.max_energies))
        runs, lengths = [], []
        for pieces in np.array_split(memory, max(1, num_slices)):
            feeds = {"memory": pieces[None], "keep": np.ones((1, len(pieces)), np.int32), **document}
            runs.append(graph.run(outputs, feeds))
            lengths.append(len(pieces))
        if len(runs) == 1:
            return runs[0]
        axes = {tensor.name: tensor.axes for tensor in graph.signature.outputs}
        return [
            np.concatenate(parts, axes[name].index("source"))
            if "source" in axes[name]
            else np.average(parts, 0, lengths).astype(np.float32)
            for name, parts in zip(outputs, zip(*runs, strict=True), strict=True)
        ]
