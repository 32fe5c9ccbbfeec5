"""Writes the same weights as a model of CTranslate2, which computes full attention; its models of this kind have no
decoder window.

If an encoder has relative positions, our model adds absolute positions, too, and CTranslate2 does not. Then the
position of every source word is a second factor of the word, whose embedding is the absolute position.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ctranslate2.specs.common_spec import Activation, EmbeddingsMerge
from ctranslate2.specs.transformer_spec import TransformerDecoderSpec, TransformerEncoderSpec, TransformerSpec
from numpy.typing import NDArray

from export.onnx_graph.shortlist import ShortlistPlan
from loadtest.bench.ctranslate2_peer import token
from model.config import EOS_ID
from model.layers import sinusoidal_positions
from model.translation_model import TranslationModel

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Weights:
    """A model's weights under their state-dict names."""

    arrays: dict[str, Array]

    @classmethod
    def of(cls, model: TranslationModel) -> "Weights":
        return cls({name: tensor.detach().float().numpy() for name, tensor in model.state_dict().items()})

    def __getitem__(self, name: str) -> Array:
        return self.arrays[name]

    def linear(self, prefix: str) -> tuple[Array, Array]:
        """weight [out, in] and bias [out]"""
        return self[f"{prefix}.weight"], self[f"{prefix}.bias"]

    def fused(self, *prefixes: str) -> tuple[Array, Array]:
        """Several linear maps of one input as one map with concatenated outputs."""
        pairs = [self.linear(prefix) for prefix in prefixes]
        return np.concatenate([w for w, _ in pairs]), np.concatenate([b for _, b in pairs])


ACTIVATIONS = {"relu": Activation.RELU, "swish": Activation.SWISH}


def convert(
    model: TranslationModel,
    folder: Path,
    words: Sequence[str] | None = None,
    add_source_eos: bool = False,
    quantization: str | None = None,
) -> None:
    """Write `model` as a CTranslate2 model. `words`: those of all ids (default: made-up ones). `add_source_eos`:
    CTranslate2 ends sources itself. `quantization`: of the weights in the file, by default none."""
    config, weights = model.config, Weights.of(model)
    relative, before = config.encoder_attention.relative, config.norm == "before"
    activation = ACTIVATIONS[config.activation]
    encoder = TransformerEncoderSpec(
        config.encoder_layers,
        config.num_heads,
        pre_norm=before,
        activation=activation,
        relative_position=relative,
        num_source_embeddings=2 if relative else 1,
        embeddings_merge=EmbeddingsMerge.ADD,
    )
    decoder = TransformerDecoderSpec(config.decoder_layers, config.num_heads, pre_norm=before, activation=activation)
    spec = TransformerSpec(encoder, decoder)
    words = list(words or map(token, range(config.vocab_size)))
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.layer_norm_epsilon = config.norm_epsilon
    spec.config.add_source_eos = add_source_eos
    embedding = weights["embedding.weight"]
    for side, embeddings in ((spec.encoder, spec.encoder.embeddings[0]), (spec.decoder, spec.decoder.embeddings)):
        embeddings.weight = embedding
        side.scale_embeddings = True
    positions = sinusoidal_positions(config.max_length, config.d_model).numpy()
    spec.decoder.position_encodings.encodings = positions
    if relative:
        spec.register_source_vocabulary([str(place) for place in range(config.max_length)])
        spec.encoder.embeddings[1].weight = positions / np.float32(config.d_model**0.5)  # scaled like the words
    else:
        spec.encoder.position_encodings.encodings = positions
    spec.decoder.start_from_zero_embedding = False
    spec.decoder.projection.weight = embedding
    bias = weights["embedding.output_bias"] if config.output_bias else np.zeros(config.vocab_size, np.float32)
    spec.decoder.projection.bias = bias
    if before:
        set_norm(spec.encoder.layer_norm, weights, "encoder.norm")
        set_norm(spec.decoder.layer_norm, weights, "decoder.norm")
    for index, layer in enumerate(spec.encoder.layer):
        set_self_attention(layer.self_attention, weights, f"encoder.layers.{index}")
        if relative:
            tables = f"encoder.layers.{index}.self_attention.terms.relative"
            layer.self_attention.relative_position_keys = weights[f"{tables}.rel_k"]
            layer.self_attention.relative_position_values = weights[f"{tables}.rel_v"]
        set_feed_forward(layer.ffn, weights, f"encoder.layers.{index}")
    for index, layer in enumerate(spec.decoder.layer):
        set_self_attention(layer.self_attention, weights, f"decoder.layers.{index}")
        set_cross_attention(layer.attention, weights, f"decoder.layers.{index}")
        set_feed_forward(layer.ffn, weights, f"decoder.layers.{index}")
    spec.validate()
    spec.optimize(quantization=quantization)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def write_vocabulary_map(plan: ShortlistPlan, folder: Path) -> None:
    """The same shortlist for a converted model, in CTranslate2's terms: words for every source, and for each source
    word its translations. A batch scores the union of its sentences' words."""
    lines = ["\t" + " ".join(token(int(word)) for word in plan.frequent)]
    lines += [
        f"{token(source)}\t" + " ".join(token(word) for word in plan.lists.row(source))
        for source in range(EOS_ID + 1, len(plan.lists))
    ]
    (folder / "vmap.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def set_norm(spec: object, weights: Weights, name: str) -> None:
    spec.gamma, spec.beta = weights.linear(name)  # type: ignore[attr-defined]


def set_linear(spec: object, pair: tuple[Array, ...]) -> None:
    spec.weight, spec.bias = pair  # type: ignore[attr-defined]


def set_self_attention(spec: object, weights: Weights, prefix: str) -> None:
    site = f"{prefix}.self_attention"
    set_norm(spec.layer_norm, weights, f"{prefix}.self_norm")  # type: ignore[attr-defined]
    set_linear(spec.linear[0], weights.fused(f"{site}.query", f"{site}.memory"))  # type: ignore[attr-defined]
    set_linear(spec.linear[1], weights.linear(f"{site}.output"))  # type: ignore[attr-defined]


def set_cross_attention(spec: object, weights: Weights, prefix: str) -> None:
    site = f"{prefix}.cross_attention"
    set_norm(spec.layer_norm, weights, f"{prefix}.cross_norm")  # type: ignore[attr-defined]
    for linear, name in zip(spec.linear, ("query", "memory", "output"), strict=True):  # type: ignore[attr-defined]
        set_linear(linear, weights.linear(f"{site}.{name}"))


def set_feed_forward(spec: object, weights: Weights, prefix: str) -> None:
    set_norm(spec.layer_norm, weights, f"{prefix}.ffn_norm")  # type: ignore[attr-defined]
    set_linear(spec.linear_0, weights.linear(f"{prefix}.ffn.expand"))  # type: ignore[attr-defined]
    set_linear(spec.linear_1, weights.linear(f"{prefix}.ffn.contract"))  # type: ignore[attr-defined]
