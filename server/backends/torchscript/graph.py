"""Loads TorchScript graphs for a device and a precision."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from server.artifact.manifest import ArtifactError


class Graph(Protocol):
    """A graph takes and returns a list of tensors, in the order of its signature."""

    def __call__(self, tensors: list[Tensor]) -> Sequence[Tensor]: ...


def load_graph(path: Path, device: torch.device, dtype: torch.dtype) -> Graph:
    """A graph with its weights on the device, in this precision. Raises ArtifactError for a file that torch cannot
    load."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit warns of its deprecation at every load
        try:
            module: Any = torch.jit.load(str(path), map_location="cpu").eval()  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            raise ArtifactError(f"torch cannot load {path}: {error}") from error
    if (device.type, dtype) != ("cpu", torch.float32):
        move_weights(module, device, dtype)
        move_constants(module, device)
    return PlainGraph(module)


class PlainGraph:
    """Runs a module without the optimizations of torch.jit. They compile kernels for the shapes that they have seen,
    while a step is bound to one shape and soon recorded as a whole."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __call__(self, tensors: list[Tensor]) -> Sequence[Tensor]:
        with torch.jit.optimized_execution(False):  # type: ignore[attr-defined]
            result: Sequence[Tensor] = self._module(tensors)
            return result


def move_weights(module: Any, device: torch.device, dtype: torch.dtype) -> None:
    """`module.to`, for every kind of device; weights that are the same stay the same."""
    moved: dict[tuple[object, ...], Tensor] = {}
    for part in module.modules():
        parameters, buffers = (
            named(recurse=False, remove_duplicate=False) for named in (part.named_parameters, part.named_buffers)
        )
        for name, tensor in [*parameters, *buffers]:
            same = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)  # a view begins where its whole may
            if same not in moved:
                kind = dtype if tensor.is_floating_point() else tensor.dtype
                moved[same] = tensor.detach().to(device, kind)
            part._c.setattr(name, moved[same])


def move_constants(module: Any, device: torch.device) -> None:
    """A trace names the device of the example wherever a line creates a tensor: name this one there."""
    for part in module.modules():
        for method in part._c._method_names():
            for node in part._c._get_method(method).graph.findAllNodes("prim::Constant"):
                if node.output().type().kind() == "DeviceObjType":
                    node.s_("value", str(device))
