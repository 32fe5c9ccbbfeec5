"""The signatures in a manifest: planned from the model, read from the written graphs, and compared."""

import dataclasses
import json
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

import onnx

from model.translation_model import TranslationModel
from server.artifact.manifest import GraphFiles, Manifest
from server.artifact.signature import (
    ALIGNMENT,
    LOG_PROBABILITY,
    STATE,
    UNSURE,
    Axis,
    Role,
    Signature,
    Tensor,
    parse_signature,
)

ROWS: dict[str, tuple[str, tuple[Axis, ...]]] = {
    "token": ("int64", ("slot", "beam")),
    "parent": ("int64", ("slot", "beam")),
    "score": ("float32", ("slot", "beam")),
    "ancestry": ("bool", ("slot", "beam", "entry")),
    "is_row": ("bool", ("slot", "beam")),
    "position": ("int64", ("slot",)),
    "own_key": ("bool", ("slot", "beam", "entry")),
    "kept_key": ("bool", ("slot", 1, "entry")),
    "key_age": ("int64", ("slot", "entry")),
    "write_index": ("int64", ("slot", "beam", "heads", 3)),
    "first_row": ("int64", ("slot", 1)),
    "num_rows": ("int64", (1,)),
    "num_candidates": ("int64", (1,)),
    "num_entries": ("int64", (1,)),
}
"""Tensors of rows that a step may read: dtype and axes; `heads` is the model's number of heads."""
CONTINUED = ("token", "parent", "score", "ancestry")
"""Rows that a step also outputs, as next_..."""
CANDIDATES = {"candidate_score": "float32", "candidate_token": "int64", "candidate_parent": "int64"}
SOURCE = ("source_ids", "source_keep", "keep", "memory")
RESULTS = (
    *CANDIDATES, LOG_PROBABILITY, ALIGNMENT, STATE, UNSURE, "new_memory", "sentence_weights", "word_weights", "gate",
    "looked",
)  # fmt: skip
TRACED = "signature.json"
"""The signature within the file of a TorchScript graph."""
FALLBACK_NAMES = {1: "heads", 3: "head_dim"}
"""Axis -> name of its size, where it is neither planned nor inferred by the exporter."""


class SignatureError(ValueError):
    """A graph whose tensors a server cannot bind."""


def role_of(name: str) -> Role:
    """The role of a tensor, by its name. Raises SignatureError for an unknown name."""
    name = name.removeprefix("next_")
    plain = re.sub(r"\.\d+$", "", name)
    if name in ROWS:
        return "row"
    if name.startswith("ring."):
        return "ring"
    if name.startswith("recurrent."):
        return "recurrent"
    if plain in RESULTS:
        return "result"
    if plain in SOURCE or name.startswith(("source.", "shortlist.")):
        return "source"
    if plain == "target_ids" or plain.startswith(("sentence_", "word_")):
        return "document"
    raise SignatureError(f"a graph has the tensor {name}, which is unknown to the server")


def tensor(name: str, dtype: str, *axes: Axis) -> Tensor:
    return Tensor(name, dtype, axes, role_of(name))


def step_signature(model: TranslationModel) -> Signature:
    """Everything that a step of the model may read, and its outputs except for log-probabilities."""
    config = model.config
    layers = list(model.decoder.decoder_layers())
    sizes = {"heads": config.num_heads}
    rows = [tensor(name, dtype, *(sizes.get(str(axis), axis) for axis in axes)) for name, (dtype, axes) in ROWS.items()]
    past = [
        tensor(f"recurrent.{index}.{name}", "float32", "slot", "beam", config.d_model)
        if layer.is_recurrent
        else tensor(f"ring.{index}.{name}", "float32", "slot", config.num_heads, "entry", config.head_dim)
        for index, layer in enumerate(layers)
        for name in layer.self_attention.memory_names
    ]
    sources = [
        tensor(f"source.{index}.{name}", "float32", "slot", config.num_heads, "source", config.head_dim)
        for index, layer in enumerate(layers)
        for name in layer.cross_attention.memory_names
    ]
    given = [tensor(name, dtype, "slot", "candidate") for name, dtype in CANDIDATES.items()]
    given += [dataclasses.replace(entry, name=f"next_{entry.name}") for entry in rows if entry.name in CONTINUED]
    given += [dataclasses.replace(entry, name=f"next_{entry.name}") for entry in past]
    return Signature((*rows, tensor("source_keep", "int32", "slot", "source"), *past, *sources), tuple(given))


def encode_signature(model: TranslationModel) -> Signature:
    """The inputs and outputs of every encode graph of the model."""
    inputs = (tensor("source_ids", "int64", "batch", "source"), tensor("source_keep", "int32", "batch", "source"))
    sources = (entry for entry in step_signature(model).inputs if entry.name.startswith("source."))
    return Signature(inputs, tuple(dataclasses.replace(entry, axes=("batch", *entry.axes[1:])) for entry in sources))


def planned_signatures(model: TranslationModel, graphs: Iterable[GraphFiles]) -> dict[str, Signature]:
    """The signatures of the encode and step graphs, before they are written."""
    encode, step = encode_signature(model), step_signature(model)
    return {file: planned for graph in graphs for file, planned in ((graph.encode, encode), (graph.step, step))}


def with_signatures(manifest: Manifest, folder: Path) -> Manifest:
    """The manifest with the signatures of the graphs that it names, as they are in the folder. Raises SignatureError
    for one that is not as planned."""
    result, width = dict[str, Signature](), manifest.num_heads * manifest.head_dim
    for graph in manifest.graphs:
        planned_of = {graph.encode: manifest.signatures[graph.encode], graph.step: manifest.signatures[graph.step]}
        planned_of[graph.step_shortlist] = planned_of[graph.step]
        planned_of[graph.score] = score_signature(planned_of[graph.step])
        planned_of[graph.align] = align_signature(planned_of[graph.encode])
        for file, planned in planned_of.items():
            if file:
                exported = result[file] = read_any(folder / file, planned, graph.format, width)
                check(exported, without_unread_sources(planned, exported) if file == graph.align else planned, file)
        context = graph.context
        for file in () if context is None else context.files:
            steps = context is not None and file in (context.step, context.score)
            planned = planned_of[graph.step if steps else graph.encode]
            result[file] = read_any(folder / file, planned, graph.format, width)
    return dataclasses.replace(manifest, signatures=result)


def read_any(path: Path, planned: Signature, format: str, width: int) -> Signature:
    """The signature of a graph: of ONNX see `read_signature`, of TorchScript what was written with it."""
    return read_signature(path, planned, width) if format == "onnx" else read_traced(path)


def read_traced(path: Path) -> Signature:
    """The signature that was written with a TorchScript graph."""
    with zipfile.ZipFile(path) as archive:
        [name] = (each for each in archive.namelist() if each.endswith(f"/extra/{TRACED}"))
        return parse_signature(json.loads(archive.read(name)))


def traced_signature(planned: Signature) -> Signature:
    """What a TorchScript graph of a step reads: it computes the rest itself."""
    left_out = ("kept_key", "first_row", "num_rows", "num_candidates", "num_entries")
    return dataclasses.replace(planned, inputs=tuple(entry for entry in planned.inputs if entry.name not in left_out))


def score_signature(planned: Signature) -> Signature:
    """The signature of a score graph: that of a step with log-probabilities instead of candidates."""
    words = Tensor(LOG_PROBABILITY, "float32", ("slot", "beam", "word"), "result")
    kept = (entry for entry in planned.outputs if entry.name == "next_ancestry" or entry.role in ("ring", "recurrent"))
    read = tuple(entry for entry in planned.inputs if entry.name not in ("score", "is_row"))
    return Signature(read, (*kept, words))


def align_signature(encode: Signature) -> Signature:
    """The signature of an align graph that reads all source tensors of the encode graph."""
    [keep] = (entry for entry in encode.inputs if entry.name == "source_keep")
    sources = (entry for entry in encode.outputs if entry.name.startswith("source."))
    target, aligned = tensor("target_ids", "int64", "batch", "target"), ("batch", "piece", "source")
    return Signature((target, keep, *sources), (tensor(ALIGNMENT, "float32", *aligned),))


def without_unread_sources(planned: Signature, exported: Signature) -> Signature:
    """`planned` without the source tensors that a graph does not read, those of layers above its own."""
    names = {*exported.input_names, "target_ids", "source_keep"}
    return dataclasses.replace(planned, inputs=tuple(entry for entry in planned.inputs if entry.name in names))


def read_signature(path: Path, planned: Signature, width: int = 0) -> Signature:
    """The signature of an ONNX graph. Sizes that the exporter did not infer are the planned ones (`width` for the
    encoder output), or names. Raises SignatureError for unknown tensors."""
    graph = onnx.load(path, load_external_data=False).graph
    known = [*planned.inputs, *planned.outputs, tensor("memory", "float32", "batch", "source", width)]
    by_name = {entry.name: entry for entry in known}
    inputs, outputs = (
        tuple(read_tensor(entry, by_name.get(entry.name), path.name) for entry in side)
        for side in (graph.input, graph.output)
    )
    return Signature(inputs, outputs)


def read_tensor(value: onnx.ValueInfoProto, planned: Tensor | None, file: str) -> Tensor:
    kind = value.type.tensor_type
    dtype = str(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
    axes: list[Axis] = []
    for index, size in enumerate(kind.shape.dim):
        axis: Axis = size.dim_param or size.dim_value
        if isinstance(axis, str) and axis.endswith(f"{value.name}_dim_{index}"):
            known = planned.axes[index : index + 1] if planned is not None else [FALLBACK_NAMES.get(index)]
            if not known or known[0] is None:
                raise SignatureError(f"{file}: the size of axis {index} of {value.name} is unknown ({axis})")
            axis = known[0]
        axes.append(axis)
    return tensor(value.name, dtype, *axes)


def check(exported: Signature, planned: Signature, file: str) -> None:
    """Raise SignatureError if a ring, recurrent or source tensor is missing, or a tensor differs from its plan."""
    for tensors, wanted in ((exported.inputs, planned.inputs), (exported.outputs, planned.outputs)):
        by_name = {entry.name: entry for entry in tensors}
        for entry in wanted:
            present = by_name.get(entry.name)
            needed = entry.role != "row" or entry in planned.outputs
            if (present is None and needed) or (present is not None and present != entry):
                raise SignatureError(f"{file} has {describe(present)} where the model has {describe(entry)}")


def describe(entry: Tensor | None) -> str:
    return "nothing" if entry is None else f"{entry.name} {entry.dtype} [{', '.join(map(str, entry.axes))}]"
