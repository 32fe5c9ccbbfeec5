"""Every edit of an exported graph alone: the graph is smaller, or at int8, and computes what it did."""

from collections import Counter, OrderedDict
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper
from torch import Tensor, nn

from export.onnx_graph.builder import GraphBuilder, needed_in_order
from export.onnx_graph.exporter import export_module
from export.onnx_graph.linear import WEIGHT_LEVELS, quantize_weight
from export.onnx_graph.linear_maps import linear_maps, split_linear_maps
from export.onnx_graph.quantize import quantize_embedding, quantize_linear
from export.onnx_graph.tidy import drop_idle_casts, join_heads, keep_flags
from model.attention.multi_head import MultiHeadAttention
from model.attention.scaled_dot_product import halves, merge_heads, split_heads
from model.attention.visible_keys import VisibleKeys
from model.layers import FeedForward, TokenEmbedding
from tests.models import tiny_config

D = 32
Array = NDArray[Any]


def run(model: onnx.ModelProto, **feeds: Array) -> Array:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (result,) = session.run(None, feeds)
    return np.asarray(result)


def kinds(model: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


def some_input(rows: int = 3, length: int = 5, width: int = D) -> NDArray[np.float32]:
    return np.random.default_rng(0).normal(size=(rows, length, width)).astype(np.float32)


def exported(module: nn.Module) -> onnx.ModelProto:
    """Of a module from x [batch, length, D] to a tensor of as many axes."""
    torch.manual_seed(0)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    axes = ("batch", "length", None)
    return export_module(module, (torch.randn(2, 4, D),), {"x": axes}, {"y": axes})


class Heads(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return merge_heads(torch.relu(split_heads(x, 4)))


class Halves(nn.Module):
    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.both = nn.Linear(D, 2 * D, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        first, other = halves(self.both(x))
        return first * torch.tanh(other)


class Casts(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return (x.float().half().float() + x.to(x.dtype)).float()


class Attention(nn.Module):
    """With the mask as graphs get it: flags."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(D, 2)

    def forward(self, x: Tensor, flags: Tensor) -> Tensor:
        keep, position = (flags > 0)[:, None, None], torch.zeros(1, 1)
        visible = VisibleKeys(keep, position, position)
        return self.attention(x, self.attention.project_memory(x), visible)  # type: ignore[no-any-return]


@pytest.fixture
def attention() -> tuple[Attention, onnx.ModelProto]:
    torch.manual_seed(0)
    module, example = Attention().eval(), (torch.randn(2, 4, D), torch.ones(2, 4, dtype=torch.int32))
    inputs = {"x": ("batch", "length"), "flags": ("batch", "length")}
    return module, export_module(module, example, inputs, {"y": ("batch", "length")})


def test_heads_are_split_and_merged_without_any_arithmetic_of_shapes() -> None:
    model = exported(Heads())
    assert not kinds(model) & Counter(("Shape", "Gather", "Concat"))
    np.testing.assert_allclose(run(model, x=some_input()), np.maximum(some_input(), 0), atol=1e-6)


def test_casts_that_change_nothing_go_and_others_stay() -> None:
    model = exported(Casts())
    graph = GraphBuilder.of(model, "casts")
    drop_idle_casts(graph, model)
    assert kinds(model)["Cast"] > kinds(graph.model())["Cast"] == 2
    np.testing.assert_array_equal(run(graph.model(), x=some_input()), run(model, x=some_input()))


def test_a_mask_that_was_flags_is_the_flags_and_whole_keys_stay_whole(
    attention: tuple[Attention, onnx.ModelProto],
) -> None:
    module, model = attention
    graph = GraphBuilder.of(model, "attention")
    keep_flags(graph)
    join_heads(graph)
    [node] = graph.nodes("MultiHeadAttention")
    assert node.input[4] == "flags"
    assert not kinds(graph.model()) & Counter(("Greater", "Unsqueeze", "Squeeze", "Transpose", "Reshape")) - Counter(
        Transpose=3
    )
    x, flags = some_input(2, 5), np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], np.int32)
    expected = module(torch.from_numpy(x), torch.from_numpy(flags)).detach().numpy()
    np.testing.assert_allclose(run(graph.model(), x=x, flags=flags), expected, atol=1e-5)


def test_heads_in_another_order_are_not_joined(attention: tuple[Attention, onnx.ModelProto]) -> None:
    """A key whose axes were turned otherwise would be read as other numbers."""
    graph = GraphBuilder.of(attention[1], "attention")
    [node] = graph.nodes("MultiHeadAttention")
    key = graph.maker(node.input[1], "Transpose")
    assert key is not None
    key.attribute[0].ints[:] = [0, 2, 3, 1]
    before = list(node.input)
    join_heads(graph)
    assert list(node.input) == before


@pytest.mark.parametrize("bias", [True, False])
def test_a_linear_map_that_is_split_becomes_two(bias: bool) -> None:
    model = exported(Halves(bias))
    graph = GraphBuilder.of(model, "halves")
    split_linear_maps(graph)
    assert "Split" not in kinds(graph.model())
    assert [split.site for split in linear_maps(graph) if split.weight.endswith((".0", ".1"))] == [
        "both",
        "both",
    ]
    np.testing.assert_allclose(run(graph.model(), x=some_input()), run(model, x=some_input()), atol=1e-6)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_linear_maps_with_a_range_are_int8_and_others_stay(activation: str) -> None:
    module = FeedForward(D, 64) if activation == "relu" else Halves(bias=False)
    model, x = exported(module), np.clip(some_input(1, 7), -4, 4)
    expected = run(model, x=x)
    graph = GraphBuilder.of(model, "maps")
    quantize_linear(graph, {"expand": 4.0, "contract": 12.0, "both": 4.0})
    ours = kinds(graph.model())
    assert "MatMul" not in ours
    assert "Relu" not in ours, "levels from zero up do its work"
    assert np.abs(run(graph.model(), x=x) - expected).mean() < 0.05 * np.abs(expected).mean()
    graph = GraphBuilder.of(exported(module), "maps")
    quantize_linear(graph, {"expand": 4.0})
    assert kinds(graph.model())["MatMul"] == 1


def test_int8_products_do_not_see_other_rows() -> None:
    graph = GraphBuilder.of(exported(FeedForward(D, 64)), "maps")
    quantize_linear(graph, {"expand": 4.0, "contract": 12.0})
    x, model = np.clip(some_input(1, 7), -4, 4), graph.model()
    louder = np.concatenate([x[:, :1], 100 * x[:, 1:]], axis=1)
    np.testing.assert_array_equal(run(model, x=louder)[:, 0], run(model, x=x)[:, 0])


def test_the_largest_int8_sums_do_not_saturate() -> None:
    """The loudest inputs meet the largest weights; with eight bits, processors without VNNI got this wrong."""
    module = FeedForward(D, 64)
    model = exported(module)
    for tensor in model.graph.initializer:
        sizes, ones = list(tensor.dims), not tensor.name.endswith("bias")
        tensor.CopyFrom(onnx.numpy_helper.from_array(np.full(sizes, np.float32(ones)), tensor.name))
    graph = GraphBuilder.of(model, "maps")
    quantize_linear(graph, {"expand": 4.0, "contract": 4.0 * D})
    x = np.full((1, 4, D), 4.0, np.float32)
    np.testing.assert_allclose(run(graph.model(), x=x), 4.0 * D * 64, rtol=1e-5)


def test_rows_of_a_table_are_int8_with_a_scale_each() -> None:
    torch.manual_seed(0)
    module = TokenEmbedding(tiny_config(), 40).eval()
    ids = torch.tensor([[5, 9, 3], [7, 3, 0]])
    named = nn.Sequential(OrderedDict(embedding=module))
    model = export_module(named, (ids,), {"ids": ("batch", "length")}, {"y": ("batch", "length")})
    graph = GraphBuilder.of(model, "table")
    quantize_embedding(graph)
    weight = quantize_weight(module.weight.detach().numpy())
    rows = weight.values * weight.scale[:, None] * module.scale
    assert module.positions is not None
    expected = rows[ids.numpy()] + module.positions.numpy()[:3]
    np.testing.assert_allclose(run(graph.model(), ids=ids.numpy()), expected, atol=1e-5)
    assert TensorProto.INT8 in {tensor.data_type for tensor in graph.model().graph.initializer}


def test_quantized_weights_lose_at_most_half_a_level() -> None:
    weight = some_input(1, 9)[0]
    quantized = quantize_weight(weight)
    error = np.abs(quantized.values * quantized.scale[:, None] - weight)
    assert (error <= quantized.scale[:, None] / 2 + 1e-7).all()
    assert np.abs(quantized.values).max() == WEIGHT_LEVELS


def test_a_finished_graph_has_the_needed_nodes_in_topological_order() -> None:
    graph = GraphBuilder("order")
    x = graph.input("x", "float32", ["a"])
    graph.input("unread", "float32", ["a"])
    late, idle = graph.op("Relu", x), graph.op("Tanh", x)
    graph.op("Exp", idle)
    early = graph.op("Neg", late)
    graph.replace(late, graph.op("Abs", x))  # made after its reader
    graph.output(early, "y", "float32", ["a"])
    model = graph.model()
    assert [node.op_type for node in model.graph.node] == ["Abs", "Neg"]
    assert [tensor.name for tensor in model.graph.input] == ["x"]
    np.testing.assert_array_equal(run(model, x=np.array([-2, 3], np.float32)), [-2, -3])


def test_an_output_keeps_its_name_when_it_is_replaced() -> None:
    graph = GraphBuilder("output")
    x = graph.input("x", "float32", ["a"])
    graph.output(graph.op("Relu", x), "y", "float32", ["a"])
    graph.replace("y", graph.op("Abs", x))
    assert run(graph.model(), x=np.array([-2], np.float32)).tolist() == [2]


def test_a_copy_is_edited_for_itself() -> None:
    graph = GraphBuilder("copied")
    x = graph.input("x", "float32", ["a"])
    inner = graph.op("Neg", graph.op("Add", x, graph.constant(np.float32(1))))
    graph.output(graph.op("Exp", inner), "y", "float32", ["a"])
    before, twin = graph.model(), graph.copy()
    twin.replace(inner, twin.op("Abs", x))
    twin.read_instead(twin.nodes("Abs")[0], 0, twin.op("Mul", x, twin.constant(np.float32(2))))
    assert graph.model() == before
    assert [node.op_type for node in twin.model().graph.node] == ["Mul", "Abs", "Exp"]
    assert [node.op_type for node in twin.readers(x)] == ["Add", "Mul"]


def test_nodes_of_a_long_chain_are_ordered() -> None:
    """Graphs are deeper than Python's stack."""
    chain = [helper.make_node("Neg", [f"x{i}"], [f"x{i + 1}"]) for i in range(3000)]
    assert needed_in_order(chain[::-1], ["x3000"]) == chain
