"""Weights that half precision holds exactly are stored in it: a graph of half the size that computes the same."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SMALLEST = 1024
"""Numbers; smaller constants stay as they are."""


def halve_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its large fp32 constants in fp16 and a Cast behind each, which runtimes fold when they load the
    graph. Constants that fp16 would round stay in fp32, so that nothing changes."""
    casts = []
    for tensor in model.graph.initializer:
        if tensor.data_type != TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(tensor)
        if values.size < SMALLEST or not is_exact_in_half(values):
            continue
        name, half = tensor.name, f"{tensor.name}.half"
        tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16), half))
        casts.append(helper.make_node("Cast", [half], [name], name=f"{name}.cast", to=TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def is_exact_in_half(values: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> bool:
    """Whether fp16 holds every value (a value beyond its range becomes infinite, which is not the same)."""
    with np.errstate(over="ignore"):
        return bool((values.astype(np.float16).astype(np.float32) == values).all())
