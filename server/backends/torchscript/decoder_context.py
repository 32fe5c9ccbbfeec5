"""Context on the decoder's side on PyTorch: every step attends to the slot's document, whose pages stay on the device
while the sentence runs."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from server.artifact.artifact import Artifact
from server.artifact.manifest import ContextGraphs
from server.backends.arrays import Array
from server.backends.attention import attention_of, reach_of
from server.backends.context import ContextAttention, EncodedSource, SentenceContext, States
from server.backends.decoder_context import DecoderContext, Encode
from server.backends.torchscript.graph import Loader
from server.backends.torchscript.memory import EncodedOnDevice
from server.backends.torchscript.place import to_host


class TorchDecoderContext(DecoderContext):
    """ContextBackend beside a TorchScriptBackend, whose `encode` encodes the sources and whose steps attend."""

    def __init__(self, artifact: Artifact, files: ContextGraphs, loader: Loader, encode: Encode) -> None:
        super().__init__(encode)
        self._bos_id = artifact.manifest.special_ids.bos
        self.reach = reach_of(artifact)
        self._store, self._attend = (loader.load(name) for name in (files.store, files.attend))
        self._word_weights = [name for name in self._attend.signature.output_names if name.startswith("word_weights")]

    @torch.inference_mode()
    def compute_states(
        self, source_ids: Sequence[int], target_ids: Sequence[int] = (), encoded: EncodedSource | None = None
    ) -> States:
        """As ContextBackend.compute_states; a sentence without a translation has no words and is never visible."""
        feeds = self._translation(source_ids, target_ids[:-1], encoded)
        word_keep = np.full((1, 1 + len(target_ids[:-1])), int(len(target_ids) > 0), np.int32)
        outputs = self._store({**feeds, "word_keep": word_keep})
        arrays = to_host([*outputs.values()])
        return {name: array[0].astype(np.float16) for name, array in zip(outputs, arrays, strict=True)}

    @torch.inference_mode()
    def explain(
        self,
        source_ids: Sequence[int],
        context: SentenceContext,
        target_ids: Sequence[int] = (),
        encoded: EncodedSource | None = None,
    ) -> ContextAttention:
        context = context.trimmed()
        feeds = self._translation(source_ids, target_ids, encoded)
        outputs = self._attend({**feeds, **context.stored.tensors(context.distance)})
        means = [outputs["sentence_weights"].float().mean(dim=2), outputs["gate"]]
        weights, gate, *words = to_host([*means, *(outputs[name] for name in self._word_weights)])
        return attention_of(context, weights, gate, words)

    def _translation(
        self, source_ids: Sequence[int], target_ids: Sequence[int], encoded: EncodedSource | None
    ) -> dict[str, Array | Tensor]:
        """A sentence and its target ids, after BOS, as inputs of the graphs."""
        source = (self.encode_sources([source_ids])[0] if encoded is None else encoded).without_context
        assert isinstance(source, EncodedOnDevice)
        return {
            "source_keep": np.ones((1, source.length), np.int32),
            "target_ids": np.array([[self._bos_id, *target_ids]], np.int64),
            **source.named(),
        }
