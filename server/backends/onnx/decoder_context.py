"""Context on the decoder's side on ONNX Runtime: every step looks at the slot's document."""

from collections.abc import Callable, Sequence

import numpy as np

from server.artifact.artifact import EXPORT_AGAIN, Artifact, ArtifactError, ContextGraphs
from server.backends.arrays import padded
from server.backends.context import Attended, ContextUse, EncodedSource, SentenceContext, Side, States
from server.backends.onnx.context import reach_of, use_of
from server.backends.onnx.session import Device, open_graph
from server.backends.state import Array, Encoded, Flags, Ints

Encode = Callable[[Ints, Flags], list[Encoded]]


class OnnxDecoderContext:
    """ContextBackend beside an OnnxBackend, whose `encode` reads the sources and whose steps look."""

    def __init__(self, artifact: Artifact, files: ContextGraphs, encode: Encode, device: Device) -> None:
        self._encode, self._bos_id = encode, artifact.manifest.special_ids.bos
        self._reach = reach_of(artifact)
        self._store, self._attend = (open_graph(artifact, name, device) for name in (files.store, files.attend))
        self._sources = artifact.manifest.source_tensors
        if not set(self._sources) <= set(self._store.signature.input_names):
            raise ArtifactError(f"artifact {artifact.folder}: {files.store} reads sentences anew: {EXPORT_AGAIN}")
        self._word_weights = [name for name in self._attend.signature.output_names if name.startswith("word_weights")]

    @property
    def side(self) -> Side:
        return "decoder"

    @property
    def reach(self) -> int | None:
        return self._reach

    def represent(
        self, source_ids: Sequence[int], target_ids: Sequence[int] = (), read: EncodedSource | None = None
    ) -> States:
        """As ContextBackend.represent; a sentence without a translation has no words, and no other sees it."""
        feeds = self._translation(source_ids, target_ids[:-1], read)
        feeds["word_keep"] = np.full(feeds["target_ids"].shape, int(len(target_ids) > 0), np.int32)
        names = self._store.signature.output_names
        outputs = self._store.run(names, feeds)
        return {name: output[0].astype(np.float16) for name, output in zip(names, outputs, strict=True)}

    def read(self, sources: Sequence[Sequence[int]]) -> list[EncodedSource]:
        encoded = self._encode(*padded(sources))
        return [EncodedSource(tuple(ids), alone) for ids, alone in zip(sources, encoded, strict=True)]

    def attend(self, sentence: EncodedSource, context: SentenceContext | None) -> Attended:
        return Attended(looking(sentence.alone, context), None)

    def encode(self, source_ids: Ints, source_keep: Flags, contexts: Sequence[SentenceContext]) -> list[Attended]:
        return [
            Attended(looking(sentence, context), None)
            for sentence, context in zip(self._encode(source_ids, source_keep), contexts, strict=True)
        ]

    def explain(
        self,
        source_ids: Sequence[int],
        context: SentenceContext,
        target_ids: Sequence[int] = (),
        read: EncodedSource | None = None,
    ) -> ContextUse:
        context = context.trimmed()
        feeds = self._translation(source_ids, target_ids, read) | context.stored.tensors(context.distance)
        outputs = ["sentence_weights", "gate", *self._word_weights]
        weights, gate, *words = self._attend.run(outputs, feeds)
        return use_of(context, weights.mean(axis=2), gate, words)

    def _translation(
        self, source_ids: Sequence[int], target_ids: Sequence[int], read: EncodedSource | None
    ) -> dict[str, Array]:
        """A sentence and its target ids, after BOS, as inputs of the graphs."""
        alone = (self.read([source_ids])[0] if read is None else read).alone
        return {
            "source_keep": np.ones((1, alone.length), np.int32),
            "target_ids": np.array([[self._bos_id, *target_ids]], np.int64),
            **{name: tensor[None] for name, tensor in alone.tensors.items() if name in self._sources},
        }


def looking(sentence: Encoded, context: SentenceContext | None) -> Encoded:
    """A sentence whose steps look at a document."""
    return sentence if context is None else Encoded(sentence.length, sentence.tensors, document_of(context))


def document_of(context: SentenceContext) -> dict[str, Array]:
    """The pages that one slot's steps look at, by name, each [J_p, ...]."""
    context = context.trimmed()
    return {name: tensor[0] for name, tensor in context.stored.tensors(context.distance).items()}
