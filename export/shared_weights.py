"""One weights file for several ONNX graphs: constants that are equal are stored once, beside the graphs."""

import hashlib
from pathlib import Path
from types import TracebackType
from typing import Self

import onnx
from onnx import external_data_helper

SMALLEST = 4096
"""Bytes; smaller constants stay in their graph."""
ALIGNMENT = 64


class SharedWeights:
    """The file, while graphs are built and leave their weights in it one after the other."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offsets: dict[bytes, int] = {}

    def __enter__(self) -> Self:
        self._file = self.path.open("wb")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def outside(self, model: onnx.ModelProto) -> onnx.ModelProto:
        """A copy whose large constants are in the file, which it names relative to itself. The memory of the model's
        own is free once the model is: a message keeps what a field had."""
        graph = model.graph
        copy = onnx.ModelProto(
            ir_version=model.ir_version, producer_name=model.producer_name, opset_import=model.opset_import
        )
        copy.graph.name = graph.name
        for field in ("node", "input", "output", "value_info"):
            getattr(copy.graph, field).extend(getattr(graph, field))
        for tensor in graph.initializer:
            copy.graph.initializer.append(self._outside(tensor))
        return copy

    def _outside(self, tensor: onnx.TensorProto) -> onnx.TensorProto:
        values = tensor.raw_data  # a copy
        if len(values) < SMALLEST:
            return tensor
        moved = onnx.TensorProto(name=tensor.name, dims=tensor.dims, data_type=tensor.data_type)
        moved.raw_data = b""  # set_external_data wants the field
        external_data_helper.set_external_data(moved, self.path.name, self._add(values), len(values))
        moved.ClearField("raw_data")
        return moved

    def _add(self, values: bytes) -> int:
        """The offset of `values` in the file."""
        key = hashlib.sha256(values).digest()
        if key not in self._offsets:
            self._file.write(bytes(-self._file.tell() % ALIGNMENT))
            self._offsets[key] = self._file.tell()
            self._file.write(values)
        return self._offsets[key]
