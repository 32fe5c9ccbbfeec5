"""Where tensors are."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from server.backends.arrays import Array


@dataclass(frozen=True)
class Place:
    """Where tensors are, and their precision."""

    device: torch.device
    dtype: torch.dtype

    def zeros(self, shape: Sequence[int], dtype: str = "float32") -> Tensor:
        return torch.zeros(tuple(shape), dtype=self._kind(dtype), device=self.device)

    def _kind(self, dtype: str) -> torch.dtype:
        return self.dtype if dtype == "float32" else getattr(torch, dtype)

    def tensor(self, array: Array) -> Tensor:
        """A copy of an array on the host; on the CPU it may be the array itself, which nobody may write."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            return torch.from_numpy(array).to(self.device, self._kind(array.dtype.name))


def to_host(tensors: Sequence[Tensor]) -> list[Array]:
    """Tensors of real numbers at fp32 on the host, in one copy."""
    if not tensors:
        return []
    whole: Array = torch.cat([each.float().flatten() for each in tensors]).cpu().numpy()
    ends = np.cumsum([each.numel() for each in tensors])
    parts = np.split(whole, ends[:-1])
    return [part.reshape(tuple(each.shape)) for part, each in zip(parts, tensors, strict=True)]
