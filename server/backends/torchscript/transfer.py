"""Arrays that cross between host and device in one copy."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from server.backends.arrays import Array
from server.backends.memory import Layout

ALIGNMENT = 16
"""Bytes: every array begins at a multiple."""


class Transfer:
    """Arrays by name, side by side in one buffer on the host and one on the device; on the CPU they are the same
    buffer. `host`: what the host reads and writes; `values`: the same on the device."""

    def __init__(self, layouts: Mapping[str, Layout], device: torch.device) -> None:
        starts, end = dict[str, int](), 0
        for name, layout in layouts.items():
            starts[name] = end
            end += -(-_num_bytes(layout) // ALIGNMENT) * ALIGNMENT
        # A copy from and to memory that the system cannot move waits for nothing.
        self._on_host = torch.zeros(end, dtype=torch.uint8, pin_memory=device.type == "cuda")
        self._on_device = self._on_host if device.type == "cpu" else torch.zeros(end, dtype=torch.uint8, device=device)
        self.host: dict[str, Array] = {}
        self.values: dict[str, Tensor] = {}
        for name, layout in layouts.items():
            cut = slice(starts[name], starts[name] + _num_bytes(layout))
            self.host[name] = self._on_host.numpy()[cut].view(layout.dtype).reshape(layout.shape)
            dtype = torch.from_numpy(np.zeros(0, layout.dtype)).dtype
            self.values[name] = self._on_device[cut].view(dtype).view(layout.shape)

    def to_device(self) -> None:
        if self._on_device is not self._on_host:
            self._on_device.copy_(self._on_host, non_blocking=True)

    def to_host(self) -> None:
        """The host must wait for the device before it reads."""
        if self._on_device is not self._on_host:
            self._on_host.copy_(self._on_device, non_blocking=True)


def _num_bytes(layout: Layout) -> int:
    return int(np.prod(layout.shape)) * np.dtype(layout.dtype).itemsize
