"""Multi-head attention with plain softmax weights, split at the seam that every cache needs.

`project_memory` makes what may be cached (once per source for cross-attention, one ring slot per token for the
decoder); `forward` does everything that depends on the query. All mechanisms share this shape.
"""

from torch import Tensor, nn

from model.attention.scaled_dot_product import attend, merge_heads, split_heads


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
        key, value = self.memory(x).chunk(2, dim=-1)
        return split_heads(key, self.num_heads), split_heads(value, self.num_heads)

    def forward(
        self,
        x: Tensor,
        memory: tuple[Tensor, ...],
        keep: Tensor,
        query_position: Tensor,
        key_position: Tensor,
        ordered: bool = True,
    ) -> Tensor:
        """x [batch, query, d], memory from project_memory, keep [batch, 1, query, key] -> [batch, query, d].

        Positions ([batch or 1, query] and [batch or 1, key], absolute) are for mechanisms that know an order of keys;
        plain attention needs none. `ordered`: the keys lie in memory by rising position (see key_order.py).
        """
        key, value = memory
        return self.output(merge_heads(attend(split_heads(self.query(x), self.num_heads), key, value, keep)))  # type: ignore[no-any-return]
