"""One weights file for several ONNX graphs: constants that are equal are stored once, beside the graphs."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import onnx
from onnx import external_data_helper

SMALLEST = 4096
"""Bytes; smaller constants stay in their graph."""
ALIGNMENT = 64


def share_weights(models: Sequence[onnx.ModelProto], path: Path) -> None:
    """Move the large constants of all models into the file `path`; the models then name it relative to themselves. Of
    equal ones a model has one: the runtime maps each constant by itself, and its pages count as often."""
    offsets: dict[bytes, int] = {}
    with path.open("wb") as file:
        for model in models:
            join_equal(model.graph)
            for tensor in model.graph.initializer:
                if len(tensor.raw_data) >= SMALLEST:
                    key = hashlib.sha256(tensor.raw_data).digest()
                    if key not in offsets:
                        file.write(bytes(-file.tell() % ALIGNMENT))
                        offsets[key] = file.tell()
                        file.write(tensor.raw_data)
                    offset, length = offsets[key], len(tensor.raw_data)
                    external_data_helper.set_external_data(tensor, path.name, offset=offset, length=length)
                    tensor.ClearField("raw_data")


def join_equal(graph: onnx.GraphProto) -> None:
    """Let nodes read the first of large constants that are equal, and drop the others. All stay where nodes have graphs
    of their own, which may read them."""
    if any(attribute.HasField("g") or attribute.graphs for node in graph.node for attribute in node.attribute):
        return
    outputs = {output.name for output in graph.output}
    first: dict[tuple[int, tuple[int, ...], bytes], str] = {}
    renamed: dict[str, str] = {}
    for tensor in graph.initializer:
        if len(tensor.raw_data) >= SMALLEST and tensor.name not in outputs:
            key = (tensor.data_type, tuple(tensor.dims), hashlib.sha256(tensor.raw_data).digest())
            name = first.setdefault(key, tensor.name)
            if name != tensor.name:
                renamed[tensor.name] = name
    if not renamed:
        return
    for node in graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
    kept = [tensor for tensor in graph.initializer if tensor.name not in renamed]
    del graph.initializer[:]
    graph.initializer.extend(kept)
