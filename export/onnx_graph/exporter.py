"""PyTorch modules to ONNX graphs by torch's tracing exporter."""

import io
import warnings
from collections.abc import Mapping
from itertools import chain
from typing import Any

import onnx
import torch
from onnx import numpy_helper
from torch import nn

from export.onnx_graph.builder import IR_VERSION, OPSET, opsets

Axes = Mapping[str, tuple[str | None, ...]]
"""Names of flat tensors in their order -> names of their axes; None, or no name, for a fixed axis."""
Traceable = tuple[nn.Module, tuple[object, ...], Axes, Axes]
"""A module, example arguments (tensors and lists of tensors), and its inputs and outputs."""

RETIREMENT = "You are using the legacy TorchScript-based ONNX export"
"""A warning at every call, which is ignored: the newer exporter does not name weights, so none could be quantized."""


def export_module(module: nn.Module, arguments: tuple[object, ...], inputs: Axes, outputs: Axes) -> onnx.ModelProto:
    """Trace a module; `inputs` and `outputs` name its flat tensors. Weights keep the names of the module's parameters;
    inputs and weights that no operator reads are left out."""
    free = {name: {i: axis for i, axis in enumerate(axes) if axis} for name, axes in {**inputs, **outputs}.items()}
    buffer: Any = io.BytesIO()  # taken by the tracing exporter, though torch's type hints know files only
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.filterwarnings("ignore", message=RETIREMENT, category=DeprecationWarning)
        warnings.filterwarnings("ignore", module=r"torch\.onnx\.", category=DeprecationWarning)
        torch.onnx.export(
            module.eval(),
            arguments,
            buffer,
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes=free,
            opset_version=OPSET,
            do_constant_folding=False,
            keep_initializers_as_inputs=True,  # or equal weights, such as biases of zero, lose their names but for one
            export_params=False,  # the exporter would copy weights several times, and takes at most 2 GiB of them
            dynamo=False,
        )
    model = onnx.load_from_string(buffer.getvalue())
    model.ir_version, model.producer_name = IR_VERSION, "ringmt"
    model.ClearField("producer_version")
    del model.opset_import[:]
    model.opset_import.extend(opsets())
    read = {name for node in model.graph.node for name in node.input}
    values = dict(chain(module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False)))
    for tensor in list(model.graph.input):
        if tensor.name not in inputs and tensor.name in read:
            weight = values[tensor.name].detach().cpu().numpy()
            model.graph.initializer.append(numpy_helper.from_array(weight, tensor.name))
        if tensor.name not in inputs or tensor.name not in read:
            model.graph.input.remove(tensor)
    return model
