"""Mixed precision by hand: the model computes in bf16, the optimizer owns an fp32 master copy of every weight.

Matrices inside the layers are updated by Muon (orthogonalized momentum), everything else (norms, biases) by Adam. A
module whose two-dimensional parameters are no maps between hidden states, but tables of vectors or narrow maps to a
number per head, names them in `adam_matrices`: orthogonal updates have no meaning for them.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from model.training.muon import Muon


def has_fast_bf16(device: torch.device) -> bool:
    """Whether `device` multiplies bf16 matrices faster than fp32 ones; emulation is ten times slower."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def adam_matrices(model: nn.Module) -> set[str]:
    """Full names of the matrices that their modules leave to Adam."""
    return {
        f"{prefix}.{name}".removeprefix(".")
        for prefix, module in model.named_modules()
        for name in getattr(module, "adam_matrices", ())
    }


def uniform_scale(name: str) -> float:
    """All parameters learn at the same rates."""
    return 1.0


class MasterOptimizer:
    """Steps fp32 masters from the model's gradients and writes them back into the model's own precision. `scale`: the
    name of a parameter -> the factor of its learning rates."""

    def __init__(
        self,
        model: nn.Module,
        matrix_weight_decay: float,
        use_muon: bool,
        scale: Callable[[str], float] = uniform_scale,
    ) -> None:
        named = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
        self._pairs: list[tuple[nn.Parameter, Tensor]] = []
        by_adam = adam_matrices(model)
        matrices: dict[float, list[Tensor]] = {}
        rest: dict[float, list[Tensor]] = {}
        for name, parameter in named:
            master = parameter.detach().float().clone()
            self._pairs.append((parameter, master))
            is_matrix = use_muon and parameter.dim() == 2 and name not in by_adam
            (matrices if is_matrix else rest).setdefault(scale(name), []).append(master)
        adam = torch.optim.Adam(groups(rest), betas=(0.9, 0.98), eps=1e-9, fused=True)
        self._optimizers: list[torch.optim.Optimizer] = [adam]
        if matrices:
            precision = torch.bfloat16 if has_fast_bf16(self._pairs[0][1].device) else torch.float32
            self._optimizers.append(Muon(groups(matrices), matrix_weight_decay, precision))

    def step(self, learning_rates: tuple[float, float], max_norm: float) -> float:
        """One update at (adam rate, muon rate), gradients clipped to `max_norm` in fp32. Returns the norm before."""
        for parameter, master in self._pairs:
            master.grad = None if parameter.grad is None else parameter.grad.float()
            parameter.grad = None
        norm = torch.nn.utils.clip_grad_norm_([master for _, master in self._pairs], max_norm)
        for optimizer, rate in zip(self._optimizers, learning_rates, strict=False):
            for group in optimizer.param_groups:
                group["lr"] = rate * group.get("scale", 1.0)  # states without a scale can be resumed
            optimizer.step()
        with torch.no_grad():
            for parameter, master in self._pairs:
                parameter.copy_(master)
        return float(norm)

    def master_weights(self) -> list[Tensor]:
        return [master for _, master in self._pairs]

    def state_dict(self) -> dict[str, Any]:
        return {"masters": self.master_weights(), "optimizers": [o.state_dict() for o in self._optimizers]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        with torch.no_grad():
            for (parameter, master), saved in zip(self._pairs, state["masters"], strict=True):
                master.copy_(saved)
                parameter.copy_(saved)
        for optimizer, saved in zip(self._optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)


def groups(by_scale: dict[float, list[Tensor]]) -> list[dict[str, Any]]:
    """Parameters by the factor of their rate -> parameter groups."""
    return [{"params": parameters, "scale": scale} for scale, parameters in by_scale.items()]
