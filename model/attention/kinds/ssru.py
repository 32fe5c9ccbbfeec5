"""The simpler simple recurrent unit in place of a decoder's self-attention (Kim et al. 2019, "From Research to
Production and Back: Ludicrously Fast Neural Machine Translation", section 3.1).

    f_t = sigmoid(W_f x_t + b_f)
    c_t = f_t * c_(t-1) + (1 - f_t) * W x_t
    o_t = relu(c_t)

The residual sum and its norm follow, as behind attention. Only a decoder has it: c sees the tokens before, none after.

Differs from the paper: nothing in these equations. It has no cell inside the recurrence to be normalised, and targets
are computed as in model.attention.recurrent, where the paper loops over them.
"""

import torch
from torch import Tensor, nn

from model.attention.recurrent import Gates, RecurrentCell
from model.config import AttentionConfig, ModelConfig


class SSRU(RecurrentCell):
    """W has no bias, W_f has one."""

    def __init__(self, d_model: int, max_length: int) -> None:
        super().__init__(max_length)
        self.forget = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model, bias=False)

    def project_memory(self, x: Tensor) -> Gates:
        """See RecurrentCell.project_memory."""
        forget = torch.sigmoid(self.forget(x))
        return forget, (1 - forget) * self.value(x)

    def forward(self, x: Tensor, cells: tuple[Tensor, ...], visible: object = None) -> Tensor:
        """See RecurrentCell.forward."""
        return torch.relu(cells[0])


def build(config: ModelConfig, attention: AttentionConfig) -> SSRU:
    return SSRU(config.d_model, config.max_length)
