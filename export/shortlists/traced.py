"""Gives the TorchScript graphs of an artifact a step over a shortlist. It is traced from the model, whose weights the
files of the other graphs hold; these files stay as they are."""

import dataclasses
from pathlib import Path

import torch
from torch import Tensor

from export.onnx_graph.shortlist import ShortlistPlan
from export.torchscript import TraceWriter, read_trace, tensors_of
from export.torchscript_writer import write_listed_step
from export.unpack import model_config
from model.config import ConfigError
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact
from server.artifact.manifest import GraphFiles, Manifest

PREFIXES = {"encode": "graph/model/", "step": "graph/states/model/"}
"""The names of the model's weights in the files of two graphs begin with these."""
OUTPUT_BIAS = "graph/output_bias"


def can_be_listed(manifest: Manifest, graph: GraphFiles) -> bool:
    """Whether a step over a shortlist can be added to these graphs: not to all of older exports."""
    has_configuration = "model" in manifest.origin or "model" in manifest.origin.get("recipe", {})
    return bool(graph.score) and has_configuration


def add_listed_step(artifact: Artifact, graph: GraphFiles, plan: ShortlistPlan, folder: Path) -> None:
    """Write the step over a shortlist that `graph` names to `folder`, which has its other files. Raises ConfigError
    for an artifact without the model's configuration, or of other weights."""
    traces = TraceWriter(folder)
    traces.resume("encode", graph.encode)
    traces.resume("step", graph.step)
    manifest = dataclasses.replace(artifact.manifest, graphs=(graph,))
    write_listed_step(traces, graph.step_shortlist, model_of(artifact, graph), manifest, plan)


def model_of(artifact: Artifact, graph: GraphFiles) -> TranslationModel:
    """The model whose graphs `graph` names, except for weights that no graph reads. Raises ConfigError."""
    config = model_config(artifact.manifest)
    model = TranslationModel(config).eval()
    found, bias = dict[str, Tensor](), None
    for name, file in (("encode", graph.encode), ("step", graph.step)):
        for path, weight in tensors_of(read_trace(artifact.path(file))):
            if weight.numel() and path.startswith(PREFIXES[name]):
                found[path.removeprefix(PREFIXES[name]).replace("/", ".")] = weight
            elif path == OUTPUT_BIAS:
                bias = weight.detach().clone()
    if config.output_bias and bias is not None:
        bias[list(config.ids.suppressed)] = 0  # there it hides words that are never chosen
        found["embedding.output_bias"] = bias
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            stored = found.get(name)
            if stored is not None and stored.shape != parameter.shape:
                raise ConfigError(
                    f"the graphs of artifact '{artifact.manifest.name}' hold {name} as {list(stored.shape)}, not "
                    f"{list(parameter.shape)}: it was not written by `ringmt export`"
                )
            if stored is not None:
                parameter.copy_(stored)
    return model
