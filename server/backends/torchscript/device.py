"""The devices of PyTorch."""

import dataclasses

import torch

from server.artifact.manifest import ArtifactError
from server.backends.device import CPU, GPU_SIZES, Device

PRECISIONS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
"""Of weights, rings and source tensors. Graphs compute softmax, probabilities and scores in fp32 at each."""
ON_CPU = dataclasses.replace(CPU, precisions=tuple(PRECISIONS))


def find_device(name: str) -> Device:
    """The device "cpu", "cuda", "cuda:1", ... or "mps". Raises ArtifactError for one that is not there; no other is
    taken in its place."""
    kind, _, number = name.partition(":")
    index = int(number or 0)
    if kind == "cpu":
        return ON_CPU
    if kind == "cuda":
        count = torch.cuda.device_count()
        if index >= count:
            found = f"it has {', '.join(f'cuda:{each}' for each in range(count))}" if count else "it has none"
            raise ArtifactError(
                f"torch {torch.__version__} finds no device {name} on this machine ({found}): install the driver and a "
                "torch for CUDA, name a device that is there, or serve with --device cpu"
            )
        properties = torch.cuda.get_device_properties(index)
        memory = properties.total_memory
        return Device("cuda", index, properties.name, memory, tuple(PRECISIONS), 1, *GPU_SIZES)
    if kind == "mps" and torch.backends.mps.is_available():
        return Device("mps", 0, "Apple GPU", None, ("fp32", "fp16"), 1, *GPU_SIZES)
    raise ArtifactError(f"torch {torch.__version__} finds no device {name} on this machine: serve with --device cpu")


def check_precision(device: Device, precision: str) -> torch.dtype:
    """The type of weights and memory. Raises ArtifactError for a precision that the device has not."""
    if precision not in device.precisions:
        raise ArtifactError(
            f"torch computes at {', '.join(device.precisions)} on {device.name}, not at {precision}: choose one of "
            "these with --precision, or serve with --backend onnx"
        )
    return PRECISIONS[precision]
