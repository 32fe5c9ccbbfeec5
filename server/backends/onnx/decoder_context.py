"""Context on the decoder's side on ONNX Runtime: every step attends to the slot's document."""

from collections.abc import Sequence

import numpy as np

from server.artifact.artifact import Artifact
from server.artifact.manifest import EXPORT_AGAIN, ArtifactError, ContextGraphs
from server.backends.attention import attention_of, reach_of
from server.backends.context import ContextAttention, EncodedSource, SentenceContext, States
from server.backends.decoder_context import DecoderContext, Encode
from server.backends.onnx.session import Device, open_graph
from server.backends.state import Array


class OnnxDecoderContext(DecoderContext):
    """ContextBackend beside an OnnxBackend, whose `encode` encodes the sources and whose steps attend."""

    def __init__(self, artifact: Artifact, files: ContextGraphs, encode: Encode, device: Device) -> None:
        super().__init__(encode)
        self._bos_id = artifact.manifest.special_ids.bos
        self.reach = reach_of(artifact)
        self._store, self._attend = (open_graph(artifact, name, device) for name in (files.store, files.attend))
        self._sources = artifact.manifest.source_tensors
        if not set(self._sources) <= set(self._store.signature.input_names):
            raise ArtifactError(f"artifact {artifact.folder}: {files.store} encodes sentences again: {EXPORT_AGAIN}")
        self._word_weights = [name for name in self._attend.signature.output_names if name.startswith("word_weights")]

    def compute_states(
        self, source_ids: Sequence[int], target_ids: Sequence[int] = (), encoded: EncodedSource | None = None
    ) -> States:
        """As ContextBackend.compute_states; a sentence without a translation has no words and is never visible."""
        feeds = self._translation(source_ids, target_ids[:-1], encoded)
        feeds["word_keep"] = np.full(feeds["target_ids"].shape, int(len(target_ids) > 0), np.int32)
        names = self._store.signature.output_names
        outputs = self._store.run(names, feeds)
        return {name: output[0].astype(np.float16) for name, output in zip(names, outputs, strict=True)}

    def explain(
        self,
        source_ids: Sequence[int],
        context: SentenceContext,
        target_ids: Sequence[int] = (),
        encoded: EncodedSource | None = None,
    ) -> ContextAttention:
        context = context.trimmed()
        feeds = self._translation(source_ids, target_ids, encoded) | context.stored.tensors(context.distance)
        outputs = ["sentence_weights", "gate", *self._word_weights]
        weights, gate, *words = self._attend.run(outputs, feeds)
        return attention_of(context, weights.mean(axis=2), gate, words)

    def _translation(
        self, source_ids: Sequence[int], target_ids: Sequence[int], encoded: EncodedSource | None
    ) -> dict[str, Array]:
        """A sentence and its target ids, after BOS, as inputs of the graphs."""
        source = (self.encode_sources([source_ids])[0] if encoded is None else encoded).without_context
        return {
            "source_keep": np.ones((1, source.length), np.int32),
            "target_ids": np.array([[self._bos_id, *target_ids]], np.int64),
            **{name: tensor[None] for name, tensor in source.tensors.items() if name in self._sources},
        }
