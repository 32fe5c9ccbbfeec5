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
    """Move the large constants of all models into the file `path`; the models then name it relative to themselves."""
    offsets: dict[bytes, int] = {}
    with path.open("wb") as file:
        for model in models:
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
