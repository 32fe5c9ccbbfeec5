"""The signatures that a manifest lists: planned from the model, read from the graphs that were written, and
compared."""

import dataclasses
import re
from collections.abc import Iterable
from pathlib import Path

import onnx

from model.translation_model import TranslationModel
from server.artifact.manifest import GraphFiles, Manifest
from server.artifact.signature import ALIGNMENT, LOG_PROBABILITY, Axis, Role, Signature, Tensor

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
}
"""What a step may read of its rows: dtype and axes; `heads` is the model's number."""
CONTINUED = ("token", "parent", "score", "ancestry")
"""Rows that a step gives out again, as next_..."""
CANDIDATES = {"candidate_score": "float32", "candidate_token": "int64", "candidate_parent": "int64"}
SOURCE = ("source_ids", "source_keep", "keep", "memory")
RESULTS = (*CANDIDATES, LOG_PROBABILITY, ALIGNMENT, "new_memory", "sentence_weights", "word_weights", "gate", "looked")
INVENTED = {1: "heads", 3: "head_dim"}
"""Axis -> name of its size, where that is not planned and the exporter could not infer it."""


class SignatureError(ValueError):
    """A graph with tensors that a server cannot bind."""


def role_of(name: str) -> Role:
    """The role of a tensor, by its name. Raises SignatureError for an unknown name."""
    name = name.removeprefix("next_")
    plain = re.sub(r"\.\d+$", "", name)
    if name in ROWS:
        return "row"
    if name.startswith("ring."):
        return "ring"
    if plain in RESULTS:
        return "result"
    if plain in SOURCE or name.startswith(("source.", "shortlist.")):
        return "source"
    if plain == "target_ids" or plain.startswith(("sentence_", "word_")):
        return "document"
    raise SignatureError(f"a graph has a tensor {name}, which no server would know")


def tensor(name: str, dtype: str, *axes: Axis) -> Tensor:
    return Tensor(name, dtype, axes, role_of(name))


def step_signature(model: TranslationModel) -> Signature:
    """Everything that a step of the model may read, and its outputs except for log-probabilities."""
    config = model.config
    layers = list(model.decoder.decoder_layers())
    sizes = {"heads": config.num_heads}
    rows = [tensor(name, dtype, *(sizes.get(str(axis), axis) for axis in axes)) for name, (dtype, axes) in ROWS.items()]
    rings = [
        tensor(f"ring.{index}.{name}", "float32", "slot", config.num_heads, "entry", config.head_dim)
        for index, layer in enumerate(layers)
        for name in layer.self_attention.memory_names
    ]
    sources = [
        tensor(f"source.{index}.{name}", "float32", "slot", config.num_heads, "source", config.head_dim)
        for index, layer in enumerate(layers)
        for name in layer.cross_attention.memory_names
    ]
    given = [tensor(name, dtype, "slot", "candidate") for name, dtype in CANDIDATES.items()]
    given += [dataclasses.replace(one, name=f"next_{one.name}") for one in rows if one.name in CONTINUED]
    given += [dataclasses.replace(one, name=f"next_{one.name}") for one in rings]
    return Signature((*rows, tensor("source_keep", "int32", "slot", "source"), *rings, *sources), tuple(given))


def encode_signature(model: TranslationModel) -> Signature:
    """What every encode graph of the model reads and gives."""
    inputs = (tensor("source_ids", "int64", "batch", "source"), tensor("source_keep", "int32", "batch", "source"))
    sources = (one for one in step_signature(model).inputs if one.name.startswith("source."))
    return Signature(inputs, tuple(dataclasses.replace(one, axes=("batch", *one.axes[1:])) for one in sources))


def planned_signatures(model: TranslationModel, graphs: Iterable[GraphFiles]) -> dict[str, Signature]:
    """The signatures of the encode and step graphs, before they are written."""
    encode, step = encode_signature(model), step_signature(model)
    return {file: planned for graph in graphs for file, planned in ((graph.encode, encode), (graph.step, step))}


def with_signatures(manifest: Manifest, folder: Path) -> Manifest:
    """The manifest with the signatures of the graphs that it names, as they are in the folder. Raises SignatureError
    for one that is not as planned."""
    found, width = dict[str, Signature](), manifest.num_heads * manifest.head_dim
    for graph in manifest.graphs:
        for file in (graph.encode, graph.step, graph.step_shortlist):
            if file:
                planned = manifest.signatures[graph.encode if file == graph.encode else graph.step]
                found[file] = (
                    read_signature(folder / file, planned, width) if graph.format == "onnx" else traced(planned)
                )
                check(found[file], planned, file)
        if graph.score:
            planned = scoring(manifest.signatures[graph.step])
            found[graph.score] = read_signature(folder / graph.score, planned)
            check(found[graph.score], planned, graph.score)
        if graph.align:
            planned = aligning(manifest.signatures[graph.encode])
            found[graph.align] = read_signature(folder / graph.align, planned)
            check(found[graph.align], partly_read(planned, found[graph.align]), graph.align)
        if graph.context is not None:
            for file in graph.context.files:
                steps = file in (graph.context.step, graph.context.score)
                planned = manifest.signatures[graph.step if steps else graph.encode]
                found[file] = read_signature(folder / file, planned, width)
    return dataclasses.replace(manifest, signatures=found)


def traced(planned: Signature) -> Signature:
    """The signature of a TorchScript graph, which keeps no names: export.torchscript takes and gives tensors in this
    order."""
    left_out = ("kept_key", "first_row", "num_rows", "num_candidates")
    return dataclasses.replace(planned, inputs=tuple(one for one in planned.inputs if one.name not in left_out))


def scoring(planned: Signature) -> Signature:
    """The signature of a score graph: a step's without the choice among words."""
    words = Tensor(LOG_PROBABILITY, "float32", ("slot", "beam", "word"), "result")
    kept = (one for one in planned.outputs if one.name == "next_ancestry" or one.role == "ring")
    return Signature(planned.inputs, (*kept, words))


def aligning(encode: Signature) -> Signature:
    """The signature of an align graph that reads all that the encode graph gives for steps."""
    [keep] = (one for one in encode.inputs if one.name == "source_keep")
    sources = (one for one in encode.outputs if one.name.startswith("source."))
    target, aligned = tensor("target_ids", "int64", "batch", "target"), ("batch", "piece", "source")
    return Signature((target, keep, *sources), (tensor(ALIGNMENT, "float32", *aligned),))


def partly_read(planned: Signature, found: Signature) -> Signature:
    """`planned` without the source's tensors that a graph does not read: those above its layer."""
    names = {*found.input_names, "target_ids", "source_keep"}
    return dataclasses.replace(planned, inputs=tuple(one for one in planned.inputs if one.name in names))


def read_signature(path: Path, planned: Signature, width: int = 0) -> Signature:
    """The signature of an ONNX graph. Sizes that the exporter did not infer are the planned ones (`width` for the
    encoder output), or names. Raises SignatureError for unknown tensors."""
    graph = onnx.load(path, load_external_data=False).graph
    known = [*planned.inputs, *planned.outputs, tensor("memory", "float32", "batch", "source", width)]
    by_name = {one.name: one for one in known}
    inputs, outputs = (
        tuple(read_tensor(one, by_name.get(one.name), path.name) for one in side)
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
            known = planned.axes[index : index + 1] if planned is not None else [INVENTED.get(index)]
            if not known or known[0] is None:
                raise SignatureError(f"{file}: nobody knows axis {index} of {value.name}, {axis}")
            axis = known[0]
        axes.append(axis)
    return tensor(value.name, dtype, *axes)


def check(found: Signature, planned: Signature, file: str) -> None:
    """Raise SignatureError unless all rings and all of the source are there, and everything planned is as planned."""
    for there, wanted in ((found.inputs, planned.inputs), (found.outputs, planned.outputs)):
        by_name = {one.name: one for one in there}
        for one in wanted:
            present = by_name.get(one.name)
            needed = one.role != "row" or one in planned.outputs
            if (present is None and needed) or (present is not None and present != one):
                raise SignatureError(f"{file} has {describe(present)} where the model has {describe(one)}")


def describe(one: Tensor | None) -> str:
    return "nothing" if one is None else f"{one.name} {one.dtype} [{', '.join(map(str, one.axes))}]"
