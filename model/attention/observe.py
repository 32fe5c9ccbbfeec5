"""Records the calls of attentions while a model runs, from which widths of windows and soft windows follow."""

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
class AttentionCall:
    """One call of one attention; see MultiHeadAttention.forward."""

    attention: MultiHeadAttention
    x: Tensor
    memory: tuple[Tensor, ...]
    visible: VisibleKeys

    @property
    def window_sizes(self) -> Tensor | None:
        """D of every query, [batch, heads, query, 1], of an attention with Gaussian localness; None for other
        attentions."""
        terms = self.attention.terms.values() if isinstance(self.attention, TermedAttention) else ()
        for term in terms:
            if isinstance(term, GaussianLocalness):
                return term.window_sizes(
                    split_heads(self.attention.query(self.x), self.attention.num_heads), self.memory[0], self.visible
                )
        return None

    @property
    def window_mask(self) -> Tensor | None:
        """m, [batch, heads, query, key], of an attention with a differentiable window; None for other attentions."""
        if not isinstance(self.attention, WindowAttention):
            return None
        by_name = dict(zip(self.attention.memory_names, self.memory, strict=True))
        return self.attention.window_mask(self.x, by_name["left_key"], by_name["right_key"], self.visible)


@contextmanager
def record_calls(model: nn.Module) -> Iterator[dict[str, list[AttentionCall]]]:
    """While the context is open, every call of every attention of `model` is added to the list at the attention's
    name."""
    calls: dict[str, list[AttentionCall]] = {}
    hooks = []

    def recorder(name: str) -> Any:
        def record(attention: nn.Module, given: tuple[Tensor, tuple[Tensor, ...], VisibleKeys]) -> None:
            assert isinstance(attention, MultiHeadAttention)
            calls.setdefault(name, []).append(AttentionCall(attention, *given))

        return record

    for name, module in model.named_modules():
        if isinstance(module, MultiHeadAttention):
            hooks.append(module.register_forward_pre_hook(recorder(name)))
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()
