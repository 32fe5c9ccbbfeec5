"""Watches what attentions decide while a model runs: the widths of windows, and soft windows.

The modules compute these quantities; this only records the tensors that they are computed from.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from model.attention.kinds.localness import GaussianLocalness
from model.attention.kinds.window import WindowAttention
from model.attention.multi_head import MultiHeadAttention
from model.attention.scaled_dot_product import split_heads
from model.attention.terms import TermedAttention
from model.attention.visible_keys import VisibleKeys


@dataclass(frozen=True)
class Seen:
    """One call of one attention; see MultiHeadAttention.forward."""

    attention: MultiHeadAttention
    x: Tensor
    memory: tuple[Tensor, ...]
    visible: VisibleKeys

    @property
    def window_sizes(self) -> Tensor | None:
        """D of every query, [batch, heads, query, 1], of an attention with Gaussian localness; None of others."""
        terms = self.attention.terms.values() if isinstance(self.attention, TermedAttention) else ()
        for term in terms:
            if isinstance(term, GaussianLocalness):
                return term.window_sizes(
                    split_heads(self.attention.query(self.x), self.attention.num_heads), self.memory[0], self.visible
                )
        return None

    @property
    def window_mask(self) -> Tensor | None:
        """m, [batch, heads, query, key], of an attention with a differentiable window; None of others."""
        if not isinstance(self.attention, WindowAttention):
            return None
        by_name = dict(zip(self.attention.memory_names, self.memory, strict=True))
        return self.attention.window_mask(self.x, by_name["left_key"], by_name["right_key"], self.visible)


@contextmanager
def watch(model: nn.Module) -> Iterator[dict[str, list[Seen]]]:
    """While the context is open, every call of every attention of `model` is added to the list at the attention's
    name."""
    calls: dict[str, list[Seen]] = {}
    hooks = []

    def catcher(name: str) -> Any:
        def catch(attention: nn.Module, given: tuple[Tensor, tuple[Tensor, ...], VisibleKeys]) -> None:
            assert isinstance(attention, MultiHeadAttention)
            calls.setdefault(name, []).append(Seen(attention, *given))

        return catch

    for name, module in model.named_modules():
        if isinstance(module, MultiHeadAttention):
            hooks.append(module.register_forward_pre_hook(catcher(name)))
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()
