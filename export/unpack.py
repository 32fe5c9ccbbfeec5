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
from export.onnx_graph.candidates import padded_vocabulary
from export.onnx_graph.linear import Array
from model.config import SPECIAL_IDS, ConfigError, ModelConfig
from model.masks import HIDDEN
from model.training.checkpoint import SUMMARY, VOCABULARY, new_model, save_model, write_json
from model.training.imported import SOURCE_VOCABULARY, Imported, check_trainable, load_imported
from server.artifact.artifact import Artifact
from server.artifact.manifest import Manifest
from server.subwords.words import is_words_file

INT8, ROWS = ".int8", ".row_scale"
PREFIXES = ("model.", "base.")
"""Prefixes of the names of a model's weights in graphs, in this order."""


def unpack(artifact: Path, out: Path) -> ModelConfig:
    """Write weights, configuration, vocabulary and record of the artifact's sentence model as a checkpoint; returns the
    configuration. Weights are exact where there are fp32 graphs. Raises ConfigError for artifacts without ONNX graphs
    or without the model's configuration, for graphs with other weights, and for imported models that nothing can be
    trained on."""
    loaded = Artifact.load(artifact)
    manifest = loaded.manifest
    config = model_config(manifest)
    if is_words_file(loaded.path(manifest.vocabulary_file)):
        raise ConfigError(
            f"artifact '{manifest.name}' has words of subword-nmt, for which nothing is trained here: make a student "
            "of it by `ringmt distil`"
        )
    imported = _imported(manifest, config)
    precision = next((precision for precision in ("fp32", "int8") if _has(manifest, precision)), None)
    if precision is None:
        raise ConfigError(f"artifact '{manifest.name}' has no ONNX graphs to read weights from")
    graphs = manifest.graph("onnx", precision)
    actual: dict[str, Array] = {}
    for name in (graphs.encode, graphs.step):
        graph = GraphBuilder.of(onnx.load(loaded.path(name)), name)
        actual |= _weights(graph, config)
        if name == graphs.step:
            actual |= _projection(graph, config)
    expected = {name: tuple(value.shape) for name, value in new_model(config).named_parameters()}
    weights = _joined(actual)
    wrong = [name for name, shape in expected.items() if name not in weights or weights[name].shape != shape]
    if wrong:
        raise ConfigError(
            f"the graphs of artifact '{manifest.name}' do not hold {wrong[0]} ({len(wrong)} of {len(expected)} weights "
            "are missing): it was not written by `ringmt export`, or imported without fp32"
        )
    save_model({name: weights[name] for name in expected}, config, out)
    shutil.copyfile(loaded.path(manifest.vocabulary_file), out / VOCABULARY)
    if imported is not None:
        imported.save(out)
        if manifest.source_vocabulary_file:
            shutil.copyfile(loaded.path(manifest.source_vocabulary_file), out / SOURCE_VOCABULARY)
    record = {**manifest.origin, "unpacked_from": f"{manifest.name}, {precision}"}
    write_json(out / SUMMARY, record)
    return config


def _imported(manifest: Manifest, config: ModelConfig) -> Imported | None:
    """What a model that others trained has beside its configuration; None for one of ours. Raises ConfigError for those
    that nothing can be trained on."""
    imported = Imported(manifest.source_prefix, manifest.forced_eos)
    is_ours = imported == Imported() and not manifest.source_vocabulary_file and config.ids == SPECIAL_IDS
    if is_ours and not config.output_bias and config.source_eos:
        return None
    if manifest.languages is not None:
        raise ConfigError(
            f"artifact '{manifest.name}' translates between many languages, for which nothing is trained here; a "
            "Marian model of several targets can be imported for one of them, by --language-token"
        )
    check_trainable(config, f"artifact '{manifest.name}'")
    return imported


def _has(manifest: Manifest, precision: str) -> bool:
    return any((graph.format, graph.precision) == ("onnx", precision) for graph in manifest.graphs)


def model_config(manifest: Manifest) -> ModelConfig:
    """The configuration of an artifact's model. Raises ConfigError where the artifact has none."""
    recipe: dict[str, Any] = manifest.origin.get("recipe", {})
    described = manifest.origin.get("model", recipe.get("model"))
    if described is None:
        raise ConfigError(
            f"artifact '{manifest.name}' has no model configuration: it was imported, or exported by an old version; "
            "import or export it again"
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


def _projection(graph: GraphBuilder, config: ModelConfig) -> dict[str, Array]:
    """What the step graph has without a name, padded to whole groups of words: the bias of the output, in which words
    that are never chosen are hidden, and at fp32 a projection that is not tied."""
    size, results = padded_vocabulary(config.vocab_size), dict[str, Array]()
    for name in graph.constant_names():
        values = graph.array(name)
        if values is None or values.dtype != np.float32 or _own_name(name) is not None:
            continue
        if config.output_bias and values.shape == (size,) and (values[[*config.ids.suppressed]] == HIDDEN).all():
            results["embedding.output_bias"] = values[: config.vocab_size]
        if not config.tied_output and values.shape == (size, config.d_model):
            results["embedding.output_weight"] = values[: config.vocab_size]
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


def _joined(arrays: dict[str, Array]) -> dict[str, Tensor]:
    """Parts of split weights in one."""
    parts: defaultdict[str, dict[int, Array]] = defaultdict(dict)
    for name, values in arrays.items():
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
        if load_imported(args.out) is None:
            print(f"{args.out}: a checkpoint; train on with `start: {args.out}` in a recipe")
        else:
            penalty = Artifact.load(args.artifact).manifest.length_penalty
            print(
                f"{args.out}: a checkpoint of an imported model; train a context layer with `document: {{base: "
                f"{args.out}}}` in a recipe, then export with --length-penalty {penalty:g}"
            )
        return 0


unpack_command = UnpackCommand()
