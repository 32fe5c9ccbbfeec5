"""Context on the encoder's side on ONNX Runtime."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from server.artifact import Artifact, ContextGraphs
from server.backends.context import Attended, ContextUse, SentenceContext, Side, States, StoredDocument
from server.backends.onnx_session import Device, OnnxGraph, open_graph
from server.backends.state import Array, Encoded, Flags, Floats, Ints

PRUNED_FROM = 50
"""Stored sentences from which on only the words of those with a weight are read: slower in a document of 10, faster in
one of 100 (see loadtest/bench/results); nothing between was measured."""


@dataclass(frozen=True)
class Read:
    """A sentence that was encoded and has not looked at its document yet: `memory` [length, d] and its shortlist by
    name."""

    memory: Floats
    shortlist: Mapping[str, Array]


class OnnxContext:
    """ContextBackend beside an OnnxBackend, whose encode session it shares."""

    def __init__(
        self,
        artifact: Artifact,
        files: ContextGraphs,
        encode: OnnxGraph,
        shortlist: Sequence[str],
        device: Device,
    ) -> None:
        self._source_tensors = list(artifact.manifest.source_tensors)
        self._encode = encode
        self._shortlist = list(shortlist)
        self._store, self._attend, self._project = (
            open_graph(artifact, name, device) for name in (files.store, files.attend, files.project)
        )
        self.pruned_from = PRUNED_FROM
        self._pruned = open_graph(artifact, files.pruned, device) if files.pruned else None
        self._word_weights = [name for name in self._attend.signature.output_names if name.startswith("word_weights")]

    @property
    def side(self) -> Side:
        return "encoder"

    @property
    def can_prune(self) -> bool:
        """Whether words of sentences without a weight can be left unread."""
        return self._pruned is not None

    @property
    def store_tensors(self) -> tuple[str, ...]:
        return tuple(self._store.signature.output_names)

    def encode(self, source_ids: Ints, source_keep: Flags, contexts: Sequence[SentenceContext]) -> list[Attended]:
        sentences = self.read(source_ids, source_keep)
        return [self.attend(*both) for both in zip(sentences, contexts, strict=True)]

    def read(self, source_ids: Ints, source_keep: Flags) -> list[Read]:
        feeds: dict[str, Array] = {"source_ids": source_ids, "source_keep": source_keep}
        memory, *shortlist = self._encode.run(["memory", *self._shortlist], feeds)
        words = dict(zip(self._shortlist, shortlist, strict=True))
        return [
            Read(memory[row, :length], {name: tensor[row] for name, tensor in words.items()})
            for row, length in enumerate(source_keep.sum(axis=1).tolist())
        ]

    def represent(self, source_ids: Sequence[int], target_ids: Sequence[int] = ()) -> States:
        ids = np.array([source_ids], np.int64)
        [memory] = self._encode.run(["memory"], {"source_ids": ids, "source_keep": np.ones(ids.shape, np.int32)})
        words = memory[:, :-1]
        if not words.shape[1]:  # A sentence of EOS alone: nobody sees it.
            words = memory
        keep: Flags = np.full(words.shape[:2], int(len(source_ids) > 1), np.int32)
        names = self._store.signature.output_names
        outputs = self._store.run(names, {"memory": words, "word_keep": keep})
        return {name: output[0].astype(np.float16) for name, output in zip(names, outputs, strict=True)}

    def attend(self, sentence: Read, context: SentenceContext) -> Attended:
        context = context.trimmed()
        if self._pruned is not None and context.stored.num_sentences >= self.pruned_from:
            feeds = self._feeds(sentence, context)
            *source, looked, gate = self._pruned.run([*self._source_tensors, "looked", "gate"], feeds)
        else:
            new_memory, weights, gate = self._look(sentence, context, ["new_memory", "sentence_weights", "gate"])
            source, looked = self._project.run(self._source_tensors, {"memory": new_memory}), weights.mean(axis=2)
        tensors = {name: tensor[0] for name, tensor in zip(self._source_tensors, source, strict=True)}
        encoded = Encoded(len(sentence.memory), {**tensors, **sentence.shortlist})
        return Attended(encoded, use_of(context.stored, looked, gate))

    def explain(
        self, source_ids: Sequence[int], context: SentenceContext, target_ids: Sequence[int] = ()
    ) -> ContextUse:
        context = context.trimmed()
        ids = np.array([source_ids], np.int64)
        [sentence] = self.read(ids, np.ones(ids.shape, np.int32))
        weights, gate, *words = self._look(sentence, context, ["sentence_weights", "gate", *self._word_weights])
        return use_of(context.stored, weights.mean(axis=2), gate, words)

    def _look(self, sentence: Read, context: SentenceContext, outputs: list[str]) -> list[Floats]:
        return self._attend.run(outputs, self._feeds(sentence, context))

    def _feeds(self, sentence: Read, context: SentenceContext) -> dict[str, Array]:
        memory = sentence.memory[None]
        return {
            "memory": memory,
            "keep": np.ones(memory.shape[:2], np.int32),
            **context.stored.tensors(context.visible),
        }


def use_of(stored: StoredDocument, looked: Floats, gate: Floats, words: Sequence[Floats] = ()) -> ContextUse:
    """looked [1, heads, J], means over the source in the order of the pages, gate [1, ...], words [1, heads, J_p, W_p]
    of every page, if they were asked for."""
    mean = looked[0]
    by_number = np.zeros((len(mean), stored.num_sentences), np.float32)
    of_words: list[Floats] = [np.zeros((len(mean), 0), np.float32)] * stored.num_sentences
    start = 0
    for index, page in enumerate(stored.pages):
        numbers = page.numbers
        by_number[:, numbers] = mean[:, start : start + len(numbers)]
        start += max(1, len(numbers))
        for place, number in enumerate(numbers.tolist() if words else ()):
            of_words[number] = words[index][0, :, place, : stored.num_words[number]]
    return ContextUse(by_number, float(gate.mean()), tuple(of_words) if words else None)
