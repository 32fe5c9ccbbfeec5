"""Multi-head attention with plain softmax weights, in two functions, so that keys and values can be cached.

`project_memory` computes the tensors that are cached (once per source for cross-attention, one ring slot per token in
the decoder); `forward` computes what depends on the query. All mechanisms have these two functions.
"""

from typing import Any

import torch
from torch import Tensor, nn

from model.attention.scaled_dot_product import (
    attend,
    attention_energy,
    halves,
    masked_softmax,
    merge_heads,
    split_heads,
)
from model.attention.visible_keys import VisibleKeys
from model.masks import HIDDEN
from model.symbolic import constant, is_traced, nothing, shaped, sizes_of, with_symbolic


def symbolic_attend(graph: Any, query: Any, key: Any, value: Any, keep: Any) -> Any:
    """Export `attend_heads` as ONNX Runtime's fused kernel: a mask that is the same for all queries becomes the padding
    mask of the kernel, any other mask a bias."""
    num_heads, queries = sizes_of(key)[1], sizes_of(keep)[2]
    inputs = [query, key, value, nothing(graph)]
    if queries == 1:
        padding = graph.op("Squeeze", keep, constant(graph, [1, 2]))
        inputs.append(graph.op("Cast", padding, to_i=torch.onnx.TensorProtoDataType.INT32))
    else:
        bias = graph.op("Where", keep, constant(graph, 0.0), constant(graph, HIDDEN))
        inputs += [nothing(graph), bias]
    return shaped(graph.op("com.microsoft::MultiHeadAttention", *inputs, num_heads_i=num_heads), query, sizes_of(query))


@with_symbolic(symbolic_attend)
def attend_heads(query: Tensor, key: Tensor, value: Tensor, keep: Tensor) -> Tensor:
    """query [batch, query, d], key and value [batch, heads, key, head_dim], keep bool broadcastable to
    [batch, heads, query, key]. Returns [batch, query, d]. In a trace it is one operation, for which torch chooses a
    kernel of the device; there every query has a visible key."""
    if is_traced():
        heads = split_heads(query, key.shape[1])
        return merge_heads(nn.functional.scaled_dot_product_attention(heads, key, value, attn_mask=keep))
    return merge_heads(attend(split_heads(query, key.shape[1]), key, value, keep))


class MultiHeadAttention(nn.Module):
    """Vaswani et al. 2017, section 3.2.2. Projections carry biases."""

    memory_names: tuple[str, ...] = ("key", "value")

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query = nn.Linear(d_model, d_model)
        self.memory = nn.Linear(d_model, 2 * d_model)
        self.output = nn.Linear(d_model, d_model)

    def project_memory(self, x: Tensor) -> tuple[Tensor, ...]:
        """x [batch, key, d] -> key and value, each [batch, heads, key, head_dim]."""
        key, value = halves(self.memory(x))
        return split_heads(key, self.num_heads), split_heads(value, self.num_heads)

    def forward(self, x: Tensor, memory: tuple[Tensor, ...], visible: VisibleKeys) -> Tensor:
        """x [batch, query, d], memory from project_memory -> [batch, query, d]. Plain attention does not use the
        positions of the keys."""
        key, value = memory
        return self.output(attend_heads(self.query(x), key, value, visible.keep))  # type: ignore[no-any-return]

    def weights(self, x: Tensor, memory: tuple[Tensor, ...], visible: VisibleKeys) -> Tensor:
        """The attention weights of `forward`, with its arguments: fp32 [batch, heads, query, key], zero at hidden
        keys."""
        return masked_softmax(attention_energy(split_heads(self.query(x), self.num_heads), memory[0]), visible.keep)
