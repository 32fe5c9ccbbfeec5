"""Context on the encoder's side on ONNX Runtime."""

from collections.abc import Sequence

import numpy as np

from server.artifact.artifact import Artifact, ContextGraphs
from server.backends.arrays import padded
from server.backends.base import split_batch
from server.backends.context import Attended, ContextUse, EncodedSource, SentenceContext, Side, States
from server.backends.onnx.session import Device, OnnxGraph, open_graph
from server.backends.state import Array, Encoded, Flags, Floats, Ints

PRUNED_FROM = 50
"""In documents of so many sentences or more, only the words of sentences with a weight are read. Measured to be slower
for 10 sentences and faster for 100 (see loadtest/bench/results); nothing between was measured."""
NEAR_PLACES = 320
"""Words that sentences have room for, padded to the longest, up to which they are laid in one page: of a graph that
looks at a few short sentences most of the time goes into its many nodes, and pages multiply them. Nine sentences of 9
words take 0.82 of the time, ten of 30 words 1.18."""

MAX_ENERGIES = 2**16
"""Source pieces times places for words of the context in one run of a graph, which bounds its temporary memory: about
600 bytes each. A sentence of 256 pieces among eight others takes 28 ms instead of 23 (one core of a Xeon), and 40 MiB
instead of 350; sentences of 60 pieces are one run."""


class OnnxContext:
    """ContextBackend beside an OnnxBackend, whose encode session it shares."""

    def __init__(
        self,
        artifact: Artifact,
        files: ContextGraphs,
        encode: OnnxGraph,
        read_by_steps: Sequence[str],
        device: Device,
    ) -> None:
        """`read_by_steps`: the outputs of the encode graph that step graphs read."""
        self._source_tensors = list(artifact.manifest.source_tensors)
        self._encode = encode
        self._reach = reach_of(artifact)
        self._read_by_steps = read_by_steps
        self._store, self._attend_graph, self._project = (
            open_graph(artifact, name, device) for name in (files.store, files.attend, files.project)
        )
        self.pruned_from = PRUNED_FROM
        self._pruned = open_graph(artifact, files.pruned, device) if files.pruned else None
        self.near_places = NEAR_PLACES
        self.max_energies = MAX_ENERGIES
        self._near = open_graph(artifact, files.near, device) if files.near else None
        self._word_weights = [
            name for name in self._attend_graph.signature.output_names if name.startswith("word_weights")
        ]

    @property
    def side(self) -> Side:
        return "encoder"

    @property
    def can_prune(self) -> bool:
        """Whether the artifact has the graph that reads only the words of sentences with a weight."""
        return self._pruned is not None

    @property
    def reach(self) -> int | None:
        return self._reach

    def encode(self, source_ids: Ints, source_keep: Flags, contexts: Sequence[SentenceContext]) -> list[Attended]:
        sentences = self._encoded(source_ids, source_keep)
        return [self._attend(*both, context) for both, context in zip(sentences, contexts, strict=True)]

    def represent(
        self, source_ids: Sequence[int], target_ids: Sequence[int] = (), read: EncodedSource | None = None
    ) -> States:
        states = (self.read([source_ids])[0] if read is None else read).states
        assert states is not None
        return states

    def read(self, sources: Sequence[Sequence[int]]) -> list[EncodedSource]:
        sentences = self._encoded(*padded(sources))
        states = self._stored([memory for _, memory in sentences])
        return [
            EncodedSource(tuple(ids), alone, kept, memory)
            for ids, kept, (alone, memory) in zip(sources, states, sentences, strict=True)
        ]

    def _stored(self, memories: Sequence[Floats]) -> list[States]:
        """What is kept of every sentence, of its memory [length, d]. A sentence of EOS alone has no words: nobody sees
        it, and of what is kept one word's place."""
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
            return Attended(sentence.alone, None)
        assert sentence.memory is not None
        return self._attend(sentence.alone, sentence.memory, context)

    def _encoded_alone(self, source_ids: Sequence[int]) -> tuple[Encoded, Floats]:
        ids = np.array([source_ids], np.int64)
        [found] = self._encoded(ids, np.ones(ids.shape, np.int32))
        return found

    def _encoded(self, source_ids: Ints, source_keep: Flags) -> list[tuple[Encoded, Floats]]:
        """For every sentence, what its translation reads without context, and its memory [length, d]."""
        feeds: dict[str, Array] = {"source_ids": source_ids, "source_keep": source_keep}
        names = [*self._read_by_steps, "memory"]
        tensors = dict(zip(names, self._encode.run(names, feeds), strict=True))
        memory = tensors.pop("memory")
        sentences = split_batch(self._encode.signature, tensors, source_keep)
        return [(sentence, memory[row, : sentence.length]) for row, sentence in enumerate(sentences)]

    def _attend(self, alone: Encoded, memory: Floats, context: SentenceContext) -> Attended:
        context = context.trimmed()
        if self._near is not None and context.stored.num_places <= self.near_places:
            feeds = {"memory": memory[None], **context.stored.in_one_page(context.distance)}
            *source, looked, gate = self._near.run([*self._source_tensors, "looked", "gate"], feeds)
            use = ContextUse(np.pad(looked[0], ((0, 0), (context.skipped, 0))), float(gate[0]))
            return self._attended(alone, source, use)
        if self._pruned is not None and context.stored.num_sentences >= self.pruned_from:
            outputs = [*self._source_tensors, "looked", "gate"]
            *source, looked, gate = self._run_in_slices(self._pruned, outputs, memory, context)
        else:
            new_memory, weights, gate = self._look(memory, context, ["new_memory", "sentence_weights", "gate"])
            source, looked = self._project.run(self._source_tensors, {"memory": new_memory}), weights.mean(axis=2)
        return self._attended(alone, source, use_of(context, looked, gate))

    def _attended(self, alone: Encoded, source: Sequence[Floats], use: ContextUse) -> Attended:
        tensors = {name: tensor[0] for name, tensor in zip(self._source_tensors, source, strict=True)}
        return Attended(Encoded(alone.length, {**alone.tensors, **tensors}), use)

    def explain(
        self,
        source_ids: Sequence[int],
        context: SentenceContext,
        target_ids: Sequence[int] = (),
        read: EncodedSource | None = None,
    ) -> ContextUse:
        context = context.trimmed()
        memory = self._encoded_alone(source_ids)[1] if read is None else read.memory
        assert memory is not None
        weights, gate, *words = self._look(memory, context, ["sentence_weights", "gate", *self._word_weights])
        return use_of(context, weights.mean(axis=2), gate, words)

    def _look(self, memory: Floats, context: SentenceContext, outputs: list[str]) -> list[Floats]:
        return self._run_in_slices(self._attend_graph, outputs, memory, context)

    def _run_in_slices(
        self, graph: OnnxGraph, outputs: list[str], memory: Floats, context: SentenceContext
    ) -> list[Floats]:
        """Run a graph in which every source piece attends for itself over slices of `memory` [length, d], so that its
        temporary memory is bounded. Outputs with an axis `source` are joined; the others are means over pieces."""
        document = context.stored.tensors(context.distance)
        num_slices = min(len(memory), -(-len(memory) * context.stored.num_places // self.max_energies))
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


def reach_of(artifact: Artifact) -> int | None:
    return None if artifact.manifest.context is None else artifact.manifest.context.reach


def use_of(context: SentenceContext, looked: Floats, gate: Floats, words: Sequence[Floats] = ()) -> ContextUse:
    """Put weights in the order of the document. `looked` [1, heads, J]: means over the pieces, page by page; `gate`
    [1, ...]; `words`: for every page [1, heads, J_p, W_p], if they were asked for."""
    mean, stored, first = looked[0], context.stored, context.skipped
    count = first + stored.num_sentences
    by_number = np.zeros((len(mean), count), np.float32)
    of_words: list[Floats] = [np.zeros((len(mean), 0), np.float32)] * count
    start = 0
    for index, page in enumerate(stored.pages):
        numbers = page.numbers
        by_number[:, first + numbers] = mean[:, start : start + len(numbers)]
        start += max(1, len(numbers))
        for place, number in enumerate(numbers.tolist() if words else ()):
            of_words[first + number] = words[index][0, :, place, : stored.num_words[number]]
    return ContextUse(by_number, float(gate.mean()), tuple(of_words) if words else None)
