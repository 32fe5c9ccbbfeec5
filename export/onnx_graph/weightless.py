"""Graphs without the values of their weights, for onnx's checker and its inference of types: both copy what they are
given several times, and take at most 2 GiB of it."""

import onnx
from onnx import TensorProto, helper

SMALLEST = 4096
"""Bytes of a weight; smaller constants, such as shapes, keep their values."""


def without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy whose weights, in memory or in a file, are inputs."""
    graph = model.graph
    light = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import)
    light.graph.name = graph.name
    light.graph.node.extend(graph.node)
    light.graph.output.extend(graph.output)
    light.graph.input.extend(graph.input)
    for tensor in graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL or len(tensor.raw_data) >= SMALLEST:
            light.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
        else:
            light.graph.initializer.append(tensor)
    return light
