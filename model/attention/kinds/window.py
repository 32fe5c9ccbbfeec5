"""Differentiable window (Nguyen et al. 2020, "Differentiable Window for Dynamic Local Attention").

Every query and head points with two softmax distributions, left and right, at the keys between which its window lies.
The mask m (Eq. 9) says for every key how probable it is to lie between the two pointers, in either order:

    m = prefix(left) * suffix(right) + prefix(right) * suffix(left)

Multiplicative attention (MW, Eq. 12-13) multiplies the softmax weights with m; additive attention (AW, Eq. 14-17)
lets m scale the energies of a second, local pair of projections that are added to the global ones. With segments
(Eq. 10-11) the keys are taken in runs of b, and all keys of a run share a mask value.

The formulas are the paper's, but one of its remarks does not hold: it calls m an expectation of a 0/1 mask. When both
pointers fall on one key, both products count that key, so m lies in [0, 2] and is exactly 2 for a single visible key.
MW weights do not sum to one. Differs from the paper: with `renormalize` they are scaled to one; every linear map has a
bias, which its equations lack; and its Table 1 prints other counts of parameters than its equations give.
"""

import torch
from torch import Tensor, nn

from model.attention.multi_head import MultiHeadAttention
from model.attention.scaled_dot_product import attention_energy, halves, masked_softmax, merge_heads, split_heads
from model.attention.visible_keys import VisibleKeys
from model.config import AttentionConfig, ModelConfig
from model.symbolic import cast_like

SMALLEST_SUM = 1e-6
"""A row of multiplicative weights whose sum is smaller is not scaled up to one."""


class WindowAttention(MultiHeadAttention):
    """The two pointers, which both forms have. `segment`: keys in a segment; None: no segments."""

    def __init__(self, d_model: int, num_heads: int, segment: int | None) -> None:
        super().__init__(d_model, num_heads)
        self.segment = segment
        self.boundary_query = nn.Linear(d_model, 2 * d_model)
        self.boundary_key = nn.Linear(d_model, 2 * d_model)

    def project_boundaries(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """x [batch, key, d] -> left and right pointer keys, each [batch, heads, key, head_dim]."""
        left, right = halves(self.boundary_key(x))
        return split_heads(left, self.num_heads), split_heads(right, self.num_heads)

    def window_mask(self, x: Tensor, left_key: Tensor, right_key: Tensor, visible: VisibleKeys) -> Tensor:
        """x [batch, query, d] -> m, [batch, heads, query, key] fp32 (Eq. 7-11)."""
        left_query, right_query = halves(self.boundary_query(x))
        left = masked_softmax(attention_energy(split_heads(left_query, self.num_heads), left_key), visible.keep)
        right = masked_softmax(attention_energy(split_heads(right_query, self.num_heads), right_key), visible.keep)
        if self.segment is None:
            return token_mask(left, right, visible)
        return segment_mask(left, right, visible, self.segment)

    def forward(self, x: Tensor, memory: tuple[Tensor, ...], visible: VisibleKeys) -> Tensor:
        """See MultiHeadAttention.forward."""
        value = memory[1]
        weights = self.weights(x, memory, visible)
        return self.output(merge_heads(torch.matmul(cast_like(weights, value), value)))  # type: ignore[no-any-return]


class MultiplicativeWindow(WindowAttention):
    """MW: softmax(qk) * m. 4(d^2+d) parameters more than plain attention: 3.2 million in three layers at d=512."""

    memory_names = ("key", "value", "left_key", "right_key")

    def __init__(self, d_model: int, num_heads: int, segment: int | None, renormalize: bool) -> None:
        super().__init__(d_model, num_heads, segment)
        self.renormalize = renormalize

    def project_memory(self, x: Tensor) -> tuple[Tensor, ...]:
        """x [batch, key, d] -> one tensor per memory name, each [batch, heads, key, head_dim]."""
        return *super().project_memory(x), *self.project_boundaries(x)

    def weights(self, x: Tensor, memory: tuple[Tensor, ...], visible: VisibleKeys) -> Tensor:
        """See MultiHeadAttention.weights; Eq. 12-13."""
        key, _, left_key, right_key = memory
        mask = self.window_mask(x, left_key, right_key, visible)
        weights = masked_softmax(attention_energy(split_heads(self.query(x), self.num_heads), key), visible.keep) * mask
        if self.renormalize:
            weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=SMALLEST_SUM)
        return weights


class AdditiveWindow(WindowAttention):
    """AW: softmax(global qk + local qk * m). 6(d^2+d) parameters more than plain attention: 4.7 million in three layers
    at d=512. The paper's Table 1 prints 2 million for them, and 5 and 10 million where these equations give 7.9 and
    12.6 million (Enc(AW)-Dec(MW), all three places)."""

    memory_names = ("key", "value", "local_key", "left_key", "right_key")

    def __init__(self, d_model: int, num_heads: int, segment: int | None) -> None:
        super().__init__(d_model, num_heads, segment)
        self.local_query = nn.Linear(d_model, d_model)
        self.local_key = nn.Linear(d_model, d_model)

    def project_memory(self, x: Tensor) -> tuple[Tensor, ...]:
        """x [batch, key, d] -> one tensor per memory name, each [batch, heads, key, head_dim]."""
        local = split_heads(self.local_key(x), self.num_heads)
        return *super().project_memory(x), local, *self.project_boundaries(x)

    def weights(self, x: Tensor, memory: tuple[Tensor, ...], visible: VisibleKeys) -> Tensor:
        """See MultiHeadAttention.weights; Eq. 14-17."""
        key, _, local_key, left_key, right_key = memory
        mask = self.window_mask(x, left_key, right_key, visible)
        local = attention_energy(split_heads(self.local_query(x), self.num_heads), local_key).float()
        energy = attention_energy(split_heads(self.query(x), self.num_heads), key).float() + local * mask
        return masked_softmax(energy, visible.keep)


def build(config: ModelConfig, attention: AttentionConfig) -> WindowAttention:
    shape = config.d_model, config.num_heads
    if attention.window_mode == "multiplicative":
        return MultiplicativeWindow(*shape, attention.segment, attention.window_renorm)
    return AdditiveWindow(*shape, attention.segment)


def token_mask(left: Tensor, right: Tensor, visible: VisibleKeys) -> Tensor:
    """Pointers [batch, heads, query, key], zero at hidden keys -> m of the same shape (Eq. 9)."""
    return visible.prefix_sum(left) * visible.suffix_sum(right) + visible.prefix_sum(right) * visible.suffix_sum(left)


def segment_mask(left: Tensor, right: Tensor, visible: VisibleKeys, size: int) -> Tensor:
    """Eq. 9 over segments instead of keys: key i counts before key j when its segment does (Eq. 10-11).

    Pointers [batch, heads, query, key] -> m of the same shape; the last segment may be shorter than `size`.
    """
    members = visible.segment_members(size)  # [batch, 1, segment, key]
    left, right = (torch.matmul(pointer, members.transpose(-2, -1)) for pointer in (left, right))
    mask = left.cumsum(-1) * right.flip(-1).cumsum(-1).flip(-1) + right.cumsum(-1) * left.flip(-1).cumsum(-1).flip(-1)
    return torch.matmul(mask, members)
