"""Writes the encode and step graphs as TorchScript; they are traced, since no branch in them depends on data.

They are traced at bf16 and written at fp32. A cast that changes nothing is lost in a trace: so every cast between fp32,
in which softmax and probabilities are computed, and the precision of the weights is recorded as such. A server may
therefore run them at fp32, fp16 or bf16.
"""

import copy
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

from export.example_state import example_source, example_state
from export.graphs import EncodeGraph, StepGraph
from export.signature import traced_signature
from model.translation_model import TranslationModel
from server.artifact.manifest import Manifest
from server.artifact.signature import Signature


class FlatEncode(nn.Module):
    """EncodeGraph over one list."""

    def __init__(self, model: TranslationModel) -> None:
        super().__init__()
        self.graph = EncodeGraph(model)

    def forward(self, tensors: list[Tensor]) -> list[Tensor]:
        return self.graph(*tensors)  # type: ignore[no-any-return]


class FlatStep(nn.Module):
    """StepGraph over one list, in the order of a signature."""

    def __init__(self, model: TranslationModel, signature: Signature) -> None:
        super().__init__()
        self.graph, self.names, self.given = StepGraph(model), signature.input_names, signature.output_names

    def forward(self, tensors: list[Tensor]) -> list[Tensor]:
        result = self.graph(dict(zip(self.names, tensors, strict=True)))
        return [result[name] for name in self.given]


class OneModule(nn.Module):
    """A module whose tensors are all its own, "a.b" as "a/b": torch.jit.trace copies every submodule, which takes
    longer than the trace. The tracer knows a tensor wherever it is read."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._whole = (module,)  # a tuple is no submodule
        for name, tensor in tensors_of(module):
            if isinstance(tensor, nn.Parameter):
                self.register_parameter(flat(name), tensor)
            else:
                self.register_buffer(flat(name), tensor)

    def forward(self, tensors: list[Tensor]) -> list[Tensor]:
        result: list[Tensor] = self._whole[0](tensors)
        return result


def flat(name: str) -> str:
    """The name of a submodule's tensor in OneModule."""
    return name.replace(".", "/")


def trace(module: nn.Module, arguments: list[Tensor], path: Path) -> None:
    """Write the trace of a module over one list; its tensors that a step keeps at the precision of the weights are
    given at bf16."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # torch.jit announces its retirement; shape comparisons are traced on purpose
        half = OneModule(copy.deepcopy(module).bfloat16().eval())
        traced = torch.jit.trace(half, (arguments,), check_trace=False, strict=False).float()  # type: ignore[no-untyped-call]
        exact = {flat(name): tensor for name, tensor in tensors_of(module)}
        for name, tensor in tensors_of(traced):
            tensor.data.copy_(exact[name].data)
        traced.save(str(path))


def tensors_of(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """All parameters and buffers, a shared one under each of its names."""
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


def write_torchscript(model: TranslationModel, manifest: Manifest, encode: Path, step: Path) -> None:
    """Write both graphs, whose argument and result are lists of tensors in the order of their signatures. Traced at
    sizes larger than one, so that tracing makes no axis a constant."""
    trace(FlatEncode(model), list(example_source()), encode)
    signature, state = traced_signature(manifest.signatures[step.name]), example_state(manifest, 3, 2, 5)
    arrays = {**state.inputs(0), **state.arrays}
    arguments = [
        torch.from_numpy(arrays[tensor.name]).to(torch.bfloat16 if tensor.name in state.arrays else None)
        for tensor in signature.inputs
    ]
    trace(FlatStep(model, signature), arguments, step)
