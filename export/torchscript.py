"""Writes the encode and step graphs as TorchScript; they are traced, since no branch in them depends on data."""

import warnings
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


def trace(module: nn.Module, arguments: tuple[object, ...], path: Path) -> None:
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # torch.jit announces its retirement; shape comparisons are traced on purpose
        torch.jit.trace(module.eval(), arguments, check_trace=False, strict=False).save(str(path))  # type: ignore[no-untyped-call]


def write_torchscript(model: TranslationModel, manifest: Manifest, encode: Path, step: Path) -> None:
    """Write both graphs, whose argument and result are lists of tensors in the order of their signatures. Traced at
    sizes larger than one, so that tracing makes no axis a constant."""
    trace(FlatEncode(model), (list(example_source()),), encode)
    signature, state = traced_signature(manifest.signatures[step.name]), example_state(manifest, 3, 2, 5)
    arrays = {**state.inputs(0), **state.arrays}
    arguments = [torch.from_numpy(arrays[name]) for name in signature.input_names]
    trace(FlatStep(model, signature), (arguments,), step)
