"""Turns an artifact's weights into a checkpoint for further training: the graphs have them under the model's names.

At int8 they are levels times a scale for every output channel. The largest weight of a channel is the highest level, so
that the checkpoint, exported again, has the same levels.
"""

import argparse
import math
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch import Tensor

from export.onnx_graph.builder import GraphBuilder
from export.onnx_graph.linear import Array
from model.config import ConfigError, ModelConfig
from model.training.checkpoint import SUMMARY, VOCABULARY, new_model, save_model, write_json
from server.artifact.artifact import Artifact
from server.artifact.manifest import Manifest

INT8, ROWS = ".int8", ".row_scale"
PREFIXES = ("model.", "base.")
"""Prefixes of the names of a model's weights in graphs, in this order."""


def unpack(artifact: Path, out: Path) -> ModelConfig:
    """Write weights, configuration, vocabulary and record of the artifact's sentence model as a checkpoint; returns the
    configuration. Weights are exact where there are fp32 graphs. Raises ConfigError for artifacts without ONNX graphs
    or without the model's configuration, and for graphs with other weights, as imported models have."""
    loaded = Artifact.load(artifact)
    manifest = loaded.manifest
    config = _config(manifest)
    precision = next((precision for precision in ("fp32", "int8") if _has(manifest, precision)), None)
    if precision is None:
        raise ConfigError(f"artifact '{manifest.name}' has no ONNX graphs to read weights from")
    graphs = manifest.graph("onnx", precision)
    actual: dict[str, Array] = {}
    for name in (graphs.encode, graphs.step):
        actual |= _weights(GraphBuilder.of(onnx.load(loaded.path(name)), name), config)
    expected = {name: tuple(value.shape) for name, value in new_model(config).named_parameters()}
    weights = _joined(actual)
    wrong = [name for name, shape in expected.items() if name not in weights or weights[name].shape != shape]
    if wrong:
        raise ConfigError(
            f"the graphs of artifact '{manifest.name}' do not hold {wrong[0]} ({len(wrong)} of {len(expected)} weights "
            "are missing): it was not written by `ringmt export`"
        )
    save_model({name: weights[name] for name in expected}, config, out)
    shutil.copyfile(loaded.path(manifest.vocabulary_file), out / VOCABULARY)
    record = {**manifest.origin, "unpacked_from": f"{manifest.name}, {precision}"}
    write_json(out / SUMMARY, record)
    return config


def _has(manifest: Manifest, precision: str) -> bool:
    return any((graph.format, graph.precision) == ("onnx", precision) for graph in manifest.graphs)


def _config(manifest: Manifest) -> ModelConfig:
    recipe: dict[str, Any] = manifest.origin.get("recipe", {})
    described = manifest.origin.get("model", recipe.get("model"))
    if described is None:
        raise ConfigError(
            f"artifact '{manifest.name}' has no model configuration: it was imported, or exported by an old version"
        )
    return ModelConfig.from_dict(described)


def _weights(graph: GraphBuilder, config: ModelConfig) -> dict[str, Array]:
    """Name -> value of all constants with a weight's name; parts of split weights under "NAME.0", "NAME.1"."""
    results = {}
    for name in graph.constant_names():
        own = _own_name(name)
        if own is not None and not own.endswith((INT8, ROWS)):
            results[own] = _array(graph, name)
    for product in graph.nodes("MatMulIntegerToFloat"):
        values, scale = product.input[1], product.input[3]
        own = _own_name(values)
        if own is not None:
            results[own.removesuffix(INT8)] = (_array(graph, values) * _array(graph, scale)).T
    for rows in graph.nodes("Gather"):
        own = _own_name(rows.input[0])
        if own is not None and own.endswith(INT8):
            scale = _array(graph, rows.input[0].removesuffix(INT8) + ROWS)
            factor = np.float32(math.sqrt(config.d_model) if config.scaled_embedding else 1)
            results[own.removesuffix(INT8)] = _array(graph, rows.input[0]) * scale / factor
    return results


def _own_name(name: str) -> str | None:
    """The name of a weight in the model; None for other constants."""
    if not name.startswith(PREFIXES[0]):
        return None
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    return name


def _array(graph: GraphBuilder, name: str) -> Array:
    values = graph.array(name)
    if values is None:
        raise ConfigError(f"{name} is no constant of the graph")
    return values.astype(np.float32)


def _joined(found: dict[str, Array]) -> dict[str, Tensor]:
    """Parts of split weights in one."""
    parts: defaultdict[str, dict[int, Array]] = defaultdict(dict)
    for name, values in found.items():
        whole, _, number = name.rpartition(".")
        parts[whole if number.isdecimal() else name][int(number) if number.isdecimal() else 0] = values
    return {
        name: torch.from_numpy(np.concatenate([pieces[place] for place in sorted(pieces)]))
        for name, pieces in parts.items()
    }


class UnpackCommand:
    """Artifact to checkpoint."""

    help = "take the weights out of an artifact, as a checkpoint that recipes can begin with (`start: FOLDER`)"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("artifact", type=Path, help="artifact folder with ONNX graphs, at best at fp32")
        parser.add_argument("out", type=Path, help="checkpoint folder; must not exist, or be empty")

    def run(self, args: argparse.Namespace) -> int:
        if args.out.exists() and (not args.out.is_dir() or any(args.out.iterdir())):
            raise ConfigError(f"{args.out} is not empty: name a folder that does not exist yet")
        unpack(args.artifact, args.out)
        print(f"{args.out}: a checkpoint; train on with `start: {args.out}` in a recipe")
        return 0


unpack_command = UnpackCommand()
