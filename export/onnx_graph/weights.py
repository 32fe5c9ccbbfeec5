"""A model's weights as NumPy arrays under their state-dict names, and the blocks that encode and step graphs share."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from export.onnx_graph.builder import MICROSOFT, GraphBuilder
from export.onnx_graph.linear import Array, Linear
from model.layers import sinusoidal_positions
from model.translation_model import TranslationModel

EPSILON = 1e-5


@dataclass(frozen=True)
class Weights:
    arrays: dict[str, Array]

    @classmethod
    def of(cls, model: TranslationModel) -> "Weights":
        return cls({name: tensor.detach().float().numpy() for name, tensor in model.state_dict().items()})

    def __getitem__(self, name: str) -> Array:
        return self.arrays[name]

    def linear(self, prefix: str) -> tuple[Array, Array]:
        """weight [out, in] and bias [out]"""
        return self[f"{prefix}.weight"], self[f"{prefix}.bias"]

    def halves(self, prefix: str) -> list[tuple[Array, Array]]:
        """The linear map `prefix` to keys and values as two."""
        weight, bias = self.linear(prefix)
        return list(zip(np.split(weight, 2), np.split(bias, 2), strict=True))

    def fused(self, *prefixes: str) -> tuple[Array, Array]:
        """Several linear maps of one input as one: outputs one after the other."""
        pairs = [self.linear(prefix) for prefix in prefixes]
        return np.concatenate([w for w, _ in pairs]), np.concatenate([b for _, b in pairs])


def positions_table(max_length: int, d_model: int) -> NDArray[np.float32]:
    return sinusoidal_positions(max_length, d_model).numpy()


def layer_norm(graph: GraphBuilder, x: str, weights: Weights, prefix: str) -> str:
    gain, bias = weights.linear(prefix)
    return graph.op("LayerNormalization", x, graph.constant(gain), graph.constant(bias), axis=-1, epsilon=EPSILON)


def feed_forward(graph: GraphBuilder, linear: Linear, x: str, weights: Weights, prefix: str) -> str:
    """[..., d] -> [..., d]"""
    hidden = linear.apply(graph, x, *weights.linear(f"{prefix}.expand"), f"{prefix}.expand")  # [..., ffn]
    return linear.apply_rectified(graph, hidden, *weights.linear(f"{prefix}.contract"), f"{prefix}.contract")


def attention(
    graph: GraphBuilder, query: str, key: str, value: str, num_heads: int, padding: str = "", bias: str = ""
) -> str:
    """softmax(query key^T / sqrt(head_dim) + bias) value, without projections.

    query [batch, query, d]; key and value [batch, key, d] or [batch, heads, key, head_dim]; padding int32 [batch, key]
    with 1 for keys that exist; bias float [batch, 1, query, key]. Returns [batch, query, d].
    """
    return graph.op("MultiHeadAttention", query, key, value, "", padding, bias, domain=MICROSOFT, num_heads=num_heads)


def add(graph: GraphBuilder, x: str, y: str) -> str:
    return graph.op("Add", x, y)
