"""Devices that execute graphs."""

from dataclasses import dataclass
from typing import Literal

DeviceKind = Literal["cpu", "cuda", "mps"]


@dataclass(frozen=True)
class Device:
    """A device of this machine. `index`: which one of several, from 0. `memory`: its bytes, None where it shares the
    memory of the host. `precisions`: of graphs that it executes. `engines`: the most that run side by side on it, None
    for as many as the settings say. `slots`: sentences at the same time below which it is idle for a part of each step.
    `encoder_tokens`: padded source tokens of one encoder batch, at most. `encoder_padding`: those of padding among
    them, at most. `threads`: of the host that compute a step together while no other engine works. `runs_on_caller`:
    whether the calling thread computes a step, and starts no others for it."""

    kind: DeviceKind
    index: int
    description: str
    memory: int | None
    precisions: tuple[str, ...]
    engines: int | None
    slots: int
    encoder_tokens: int
    encoder_padding: int
    threads: int = 1
    runs_on_caller: bool = False

    @property
    def name(self) -> str:
        """As in settings: cpu, mps, cuda:0."""
        return f"cuda:{self.index}" if self.kind == "cuda" else self.kind


CPU = Device("cpu", 0, "CPU", None, ("int8", "fp32"), None, 1, 256, 12)
"""The overhead of an encoder call costs as much as 6 tokens (bundled model) or 13 (OPUS-MT's size; int8, ONNX)."""
GPU_SIZES = (128, 16_384, 3072)
"""`slots`, `encoder_tokens` and `encoder_padding`. On an H200, 512 sentences of 24 pieces are one encoder batch; tokens
a second still more than double from 32 to 128 slots (loadtest/bench/results)."""
