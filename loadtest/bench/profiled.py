"""Where the kernels of a graph spend their time, and its matrix products alone."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import onnx

from server.artifact.artifact import Artifact
from server.backends.onnx.session import open_optimized, open_session, session_options

PRODUCTS = frozenset({
    "MatMul", "FusedMatMul", "Gemm", "FusedGemm", "MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul",
    "QGemm", "MatMulNBits",
})  # fmt: skip
GROUPS = {
    "products": PRODUCTS,
    "attention": frozenset({"MultiHeadAttention", "Attention", "Softmax", "LogSoftmax"}),
    "choice of words": frozenset({"TopK", "ReduceLogSumExp", "ReduceMax", "ArgMax"}),
    "copies": frozenset({
        "Gather", "GatherElements", "GatherND", "ScatterND", "ScatterElements", "Concat", "Transpose", "Slice",
        "Expand", "Reshape", "Unsqueeze", "Squeeze", "Cast", "Where", "Split", "Identity",
    }),
    "quantization": frozenset({"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"}),
}  # fmt: skip
"""Kinds of kernels by what they are for; the rest is called other."""
OTHER = "other"
_KERNEL = "_kernel_time"


@dataclass(frozen=True)
class Profile:
    """`seconds` of a run by group of kernels; `shapes`: type and shape of the inputs of each product, by its name."""

    seconds: dict[str, float]
    shapes: dict[str, list[tuple[str, tuple[int, ...]]]]


class ProfiledSession:
    """A session of a graph that is profiled from its beginning until `profile`. `optimized`: its nodes as they run."""

    def __init__(self, artifact: Artifact, file: str, folder: Path) -> None:
        options = session_options()
        options.enable_profiling = True
        options.profile_file_prefix = str(folder / file)
        options.optimized_model_filepath = str(folder / f"{file}.optimized")
        options.log_severity_level = 4  # it warns that the optimized graph is for this machine alone
        self.session = open_session(artifact, file, "cpu", options)
        self._optimized = Path(options.optimized_model_filepath)

    @property
    def optimized(self) -> onnx.ModelProto:
        return onnx.load(self._optimized)

    def profile(self) -> Profile:
        """Of all runs; products have the shapes of the last one."""
        events: list[dict[str, Any]] = json.loads(Path(self.session.end_profiling()).read_text(encoding="utf-8"))
        runs = sum(event["name"] == "model_run" for event in events)
        seconds, shapes = Counter[str](), dict[str, list[tuple[str, tuple[int, ...]]]]()
        for event in events:
            if event["cat"] != "Node" or not event["name"].endswith(_KERNEL):
                continue
            kind = event["args"]["op_name"]
            seconds[group_of(kind)] += event["dur"] * 1e-6
            if kind in PRODUCTS:
                shapes[event["name"].removesuffix(_KERNEL)] = [
                    (dtype, tuple(sizes)) for each in event["args"]["input_type_shape"] for dtype, sizes in each.items()
                ]
        return Profile({group: total / runs for group, total in seconds.items()}, shapes)


def group_of(kind: str) -> str:
    return next((group for group, kinds in GROUPS.items() if kind in kinds), OTHER)


def products_alone(optimized: onnx.ModelProto) -> onnx.ModelProto:
    """The products of a graph back to back: what they read from other nodes is an input, what they write an output."""
    graph = optimized.graph
    nodes = [node for node in graph.node if node.op_type in PRODUCTS]
    names = {name for node in nodes for name in node.input}
    weights = [weight for weight in graph.initializer if weight.name in names]
    written = [name for node in nodes for name in node.output if name]
    read = [name for name in dict.fromkeys(name for node in nodes for name in node.input if name)
            if name not in {weight.name for weight in weights} and name not in written]  # fmt: skip
    alone = onnx.GraphProto(name="products", node=nodes, initializer=weights)
    alone.input.extend(onnx.ValueInfoProto(name=name) for name in read)
    alone.output.extend(onnx.ValueInfoProto(name=name) for name in written)
    return onnx.ModelProto(ir_version=optimized.ir_version, opset_import=optimized.opset_import, graph=alone)


def weight_bytes(model: onnx.ModelProto) -> int:
    """Bytes of all weights, each of which a run reads once at least."""
    return sum(onnx.numpy_helper.to_array(weight).nbytes for weight in model.graph.initializer)


class ProductsAlone:
    """Runs the products of a graph on random numbers of the shapes that a profile had."""

    def __init__(self, optimized: onnx.ModelProto, profile: Profile) -> None:
        model = products_alone(optimized)
        weights = {weight.name: tuple(weight.dims) for weight in model.graph.initializer}
        known = {
            name: kind
            for node in model.graph.node
            for name, kind in read_kinds(node, profile.shapes[node.name], weights)
        }
        generator = np.random.default_rng(0)
        self._feeds = {
            each.name: (100 * generator.random(known[each.name][1])).astype(known[each.name][0].replace("float", "f4"))
            for each in model.graph.input
        }
        for each in model.graph.input:
            dtype = onnx.helper.np_dtype_to_tensor_dtype(self._feeds[each.name].dtype)
            each.type.tensor_type.elem_type = dtype
        self.weight_bytes = weight_bytes(model)
        self._session = open_optimized(model.SerializeToString())
        self._binding = self._session.io_binding()
        for name, array in self._feeds.items():
            self._binding.bind_cpu_input(name, array)
        for each in model.graph.output:
            self._binding.bind_output(each.name)
        self._session.run_with_iobinding(self._binding)
        outputs = self._binding.get_outputs()
        self._binding.clear_binding_outputs()
        for each, value in zip(model.graph.output, outputs, strict=True):  # later runs write to the same memory
            self._binding.bind_ortvalue_output(each.name, value)

    def seconds(self, runs: int) -> float:
        """Mean of so many runs."""
        started = perf_counter()
        for _ in range(runs):
            self._session.run_with_iobinding(self._binding)
        return (perf_counter() - started) / runs


def read_kinds(
    node: onnx.NodeProto, kinds: Sequence[tuple[str, tuple[int, ...]]], weights: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[str, tuple[str, tuple[int, ...]]]]:
    """Type and shape of each input of a node that is no weight. Profiles lack the weights that a kernel has packed."""
    left = list(kinds)
    for name in filter(None, node.input):
        if name not in weights:
            yield name, left.pop(0)
        elif left and left[0][1] == weights[name]:
            left.pop(0)
    assert not left, f"{node.name}: {kinds}"


def bandwidth(num_bytes: int = 2**28, repeats: int = 5) -> float:
    """Bytes a second that one thread reads from memory: the largest of some sums over an array that no cache holds."""
    array = np.ones(num_bytes // 8, np.int64)

    def seconds() -> float:
        started = perf_counter()
        array.sum()
        return perf_counter() - started

    return num_bytes / min(seconds() for _ in range(repeats))


def by_share(seconds: dict[str, float]) -> Sequence[tuple[str, float]]:
    """Largest first."""
    return sorted(seconds.items(), key=lambda item: -item[1])
