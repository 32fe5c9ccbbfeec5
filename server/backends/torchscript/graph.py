"""Loads TorchScript graphs for a device and a precision.

The file of a graph may name weights that are in another graph's: then SHARED, a JSON object in the file, has for each
of them the owner ("encode" or "step") and the name there, and the weight itself is empty.
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from server.artifact.artifact import Artifact
from server.artifact.manifest import ArtifactError
from server.artifact.signature import Signature
from server.backends.arrays import Array
from server.backends.torchscript.place import Place

SHARED = "shared.json"


class Graph(Protocol):
    """A graph takes and returns a list of tensors, in the order of its signature."""

    def __call__(self, tensors: list[Tensor]) -> Sequence[Tensor]: ...


class PlainGraph:
    """Runs a module without the optimizations of torch.jit. They compile kernels for the shapes that they have seen,
    while a step is bound to one shape and soon recorded as a whole."""

    def __init__(self, module: Any, name: str = "forward") -> None:
        self.module, self._run = module, getattr(module, name)

    def __call__(self, tensors: list[Tensor]) -> Sequence[Tensor]:
        with torch.jit.optimized_execution(False):  # type: ignore[attr-defined]
            result: Sequence[Tensor] = self._run(tensors)
            return result

    def has(self, name: str) -> bool:
        """Whether the module has another method of this name."""
        return name in self.module._c._method_names()

    def method(self, name: str) -> "PlainGraph":
        """Another method of the module, with the same weights."""
        return PlainGraph(self.module, name)


NO_OWNERS: Mapping[str, PlainGraph] = {}


def load_graph(
    path: Path, device: torch.device, dtype: torch.dtype, owners: Mapping[str, PlainGraph] = NO_OWNERS
) -> PlainGraph:
    """A graph with its weights on the device, in this precision; those that it shares are the `owners`'. Raises
    ArtifactError for a file that torch cannot load."""
    extra = {SHARED: ""}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit warns of its deprecation at every load
        try:
            module: Any = torch.jit.load(str(path), map_location="cpu", _extra_files=extra).eval()  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            raise ArtifactError(f"torch cannot load {path}: {error}") from error
    if (device.type, dtype) != ("cpu", torch.float32):
        move_weights(module, device, dtype)
        move_constants(module, device)
    for name, (owner, there) in json.loads(extra[SHARED] or "{}").items():
        module._c.setattr(name, owners[owner].module._c.getattr(there))
    return PlainGraph(module)


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


@dataclass(frozen=True)
class NamedGraph:
    """A graph with its signature, for single runs. Runs may overlap."""

    graph: Graph
    signature: Signature
    place: Place

    @torch.inference_mode()
    def __call__(self, feeds: Mapping[str, Array | Tensor]) -> dict[str, Tensor]:
        """Run over arrays of the host and tensors of any device, by name; there may be more than the graph reads.
        Returns the outputs by name, on the device."""
        given, device = [feeds[name] for name in self.signature.input_names], self.place.device
        tensors = [each.to(device) if isinstance(each, Tensor) else self.place.tensor(each) for each in given]
        return dict(zip(self.signature.output_names, self.graph(tensors), strict=True))


class Loader:
    """Loads the graphs of one artifact to one place."""

    def __init__(self, artifact: Artifact, place: Place, encode: str, step: str) -> None:
        """`encode` and `step`: the files whose weights others share."""
        self._artifact, self._place = artifact, place
        self._owners = dict[str, PlainGraph]()
        self.encode, self.step = (self._owner(*pair) for pair in (("encode", encode), ("step", step)))

    def _owner(self, name: str, file: str) -> NamedGraph:
        graph = self.load(file)
        assert isinstance(graph.graph, PlainGraph)
        self._owners[name] = graph.graph
        return graph

    def load(self, file: str) -> NamedGraph:
        """Raises ArtifactError."""
        path, place = self._artifact.path(file), self._place
        graph = load_graph(path, place.device, place.dtype, self._owners)
        return NamedGraph(graph, self._artifact.manifest.signature(file), place)
