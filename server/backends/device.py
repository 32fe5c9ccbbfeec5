"""Devices that execute graphs."""

from dataclasses import dataclass
from typing import Literal

DeviceKind = Literal["cpu", "cuda", "mps"]


@dataclass(frozen=True)
class Device:
    """A device of this machine. `index`: which one of several, from 0. `memory`: its bytes, None where it shares the
    memory of the host. `precisions`: of graphs that it executes. `engines`: engines that are faster than one, None for
    as many as there are cores. `slots`: sentences at the same time from which a step takes longer with each more.
    `encoder_tokens`: padded source tokens of one encoder batch, at most."""

    kind: DeviceKind
    index: int
    description: str
    memory: int | None
    precisions: tuple[str, ...]
    engines: int | None
    slots: int
    encoder_tokens: int

    @property
    def name(self) -> str:
        """As in settings: cpu, mps, cuda:0."""
        return f"cuda:{self.index}" if self.kind == "cuda" else self.kind


CPU = Device("cpu", 0, "CPU", None, ("int8", "fp32"), None, 32, 1024)
"""With 1024 tokens a step of running sentences waits for the encoder about as long as for itself."""
GPU_SLOTS, GPU_ENCODER_TOKENS = 256, 16_384
"""A GPU takes as long for few sentences as for many, and for one token of padding nothing that can be measured."""
