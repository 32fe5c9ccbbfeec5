"""ONNX graphs of any mechanism, fp32 and int8: the same as PyTorch, and safe to write into their rings."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray
from onnx import helper
from torch import Tensor, nn

from export.calibration import input_ranges
from export.example_state import example_state
from export.graphs import StepGraph
from export.onnx_graph.step import InPlaceError, check_in_place
from export.parity import padded, sample_sources, step_difference
from model.attention.scaled_dot_product import attention_energy, masked_softmax, merge_heads, split_heads
from model.attention.visible_keys import VisibleKeys
from model.config import BOS_ID
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact
from server.backends.load import load_backend
from server.backends.memory import HostMemory
from server.backends.state import DEAD_SCORE, DecoderState
from tests.documents import lively_document_model
from tests.graphs import write_graphs
from tests.models import lively_model, tiny_config

ROOT = Path(__file__).parent.parent.parent


class OrderedAttention(nn.Module):
    """A mechanism with four cached tensors that asks for the order of keys: weights times a soft window between two
    pointers."""

    memory_names = ("key", "value", "left_key", "right_key")

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query, self.output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.memory = nn.Linear(d_model, 4 * d_model)

    def project_memory(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(split_heads(part, self.num_heads) for part in self.memory(x).chunk(4, dim=-1))

    def forward(self, x: Tensor, memory: tuple[Tensor, ...], visible: VisibleKeys) -> Tensor:
        query = split_heads(self.query(x), self.num_heads)
        key, value, left_key, right_key = memory
        weights, left, right = (
            masked_softmax(attention_energy(query, part), visible.keep) for part in (key, left_key.float(), right_key)
        )
        position = visible.key_position
        before = (position[:, None, :, None] <= position[:, None, None, :]).float()
        window = (left @ before) * (right @ before.transpose(-2, -1))
        return self.output(merge_heads((weights * window) @ value))  # type: ignore[no-any-return]


def ordered_model(order: int | None = 4) -> TranslationModel:
    """A lively model whose decoder attends to its own past with OrderedAttention."""
    model = lively_model(tiny_config(ngram=order, max_length=40))
    torch.manual_seed(1)
    for layer in model.decoder.decoder_layers():
        layer.add_module("self_attention", OrderedAttention(model.config.d_model, model.config.num_heads))
    return model.eval()


def exported(model: TranslationModel, folder: Path, precision: str = "fp32") -> Artifact:
    ranges = input_ranges(model, [[*range(4, 20), 3], [7, 9, 3]]) if precision == "int8" else {}
    return write_graphs(model, folder, ("onnx", precision), ranges=ranges)


def step_model(artifact: Artifact) -> onnx.ModelProto:
    return onnx.load(artifact.path(artifact.manifest.graphs[0].step))


@pytest.fixture(scope="module")
def ordered(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return exported(ordered_model(), tmp_path_factory.mktemp("ordered"))


@pytest.mark.parametrize("order", [2, 4, None])
@pytest.mark.parametrize("build", [lambda order: lively_model(tiny_config(ngram=order, max_length=40)), ordered_model])
def test_log_probabilities_are_the_models_after_several_wraps(build: object, order: int | None, tmp_path: Path) -> None:
    model = build(order)  # type: ignore[operator]
    artifact = exported(model, tmp_path)
    assert step_difference(model, load_backend(artifact, "onnx", "fp32"), 30) < 1e-4


@pytest.mark.parametrize("beam", [1, 4])
def test_every_tensor_is_the_step_graphs_although_the_ring_is_written_in_place(ordered: Artifact, beam: int) -> None:
    """Five wraps, beside the eager graph, whose rings are copies; one slot is idle."""
    graph, backend = StepGraph(ordered_model()), load_backend(ordered, "onnx", "fp32")
    ids, keep = padded(sample_sources(320, 40))
    ours = backend.new_state(len(ids) + 1, beam, ids.shape[1])
    eager = example_state(ordered.manifest, len(ids) + 1, beam, ids.shape[1])
    eager.source_keep[:], eager.is_row[:], eager.current.score[:] = ours.source_keep, False, DEAD_SCORE
    for state in (ours, eager):
        for slot, sentence in enumerate(backend.encode(ids, keep)):
            state.admit(slot, sentence, BOS_ID, beam)
    step = backend.bind(ours)
    for _ in range(15):
        step()
        with torch.inference_mode():
            arrays = {**eager.inputs(eager.clock % 2), **eager.arrays}
            actual = graph({name: torch.from_numpy(array) for name, array in arrays.items()})
            outputs = [tensor.numpy() for tensor in actual.values()]
        for result, state_array in zip(outputs, written_arrays(eager), strict=True):
            state_array[:] = result
        for mine, expected in zip(written_arrays(ours), outputs, strict=True):
            np.testing.assert_allclose(mine[: len(ids)], expected[: len(ids)], atol=1e-4)
        ours.tick()
        eager.tick()


def written_arrays(state: DecoderState) -> list[NDArray[Any]]:
    """What a step writes, in the order of StepGraph's outputs."""
    candidates, rows = state.candidates, state.following
    assert isinstance(state.memory, HostMemory)
    return [
        candidates.score, candidates.token, candidates.parent, rows.token, rows.parent, rows.score, rows.ancestry,
        *(state.memory.arrays[name] for name in state.memory.names("ring")),
    ]  # fmt: skip


def test_another_mechanism_gets_int8_products_for_all_its_linear_maps(tmp_path: Path) -> None:
    artifact = exported(ordered_model(), tmp_path, "int8")
    products = [node for node in step_model(artifact).graph.node if node.op_type == "MatMulIntegerToFloat"]
    # Per layer: query, memory, output; cross query and output; expand, contract. And the projection to words.
    assert len(products) == 2 * (3 + 2 + 2) + 1
    assert step_difference(ordered_model(), load_backend(artifact, "onnx", "int8"), 4) < 1


def test_graphs_hold_no_control_flow_and_no_paths_of_the_exporting_machine(ordered: Artifact) -> None:
    (files,) = ordered.manifest.graphs
    for name in (files.encode, files.step):
        content = ordered.path(name).read_bytes()
        kinds = {node.op_type for node in onnx.load_from_string(content).graph.node}
        assert "MatMul" in kinds
        assert not kinds & {"If", "Loop", "Scan", "NonZero"}
        assert str(ROOT).encode() not in content


def test_inputs_that_a_mechanism_does_not_read_are_left_out(ordered: Artifact, tmp_path: Path) -> None:
    names = {tensor.name for tensor in step_model(ordered).graph.input}
    assert {"ring.0.left_key", "ring.1.right_key", "key_age", "num_candidates"} <= names
    assert "source.0.key" in names
    plain = exported(lively_model(tiny_config()), tmp_path)
    assert "key_age" not in {tensor.name for tensor in step_model(plain).graph.input}


def test_a_second_reader_of_a_ring_is_refused(ordered: Artifact) -> None:
    step = step_model(ordered)
    check_in_place(step, ordered.manifest.ring_tensors)
    step.graph.node.append(helper.make_node("Identity", ["ring.1.left_key"], ["copy"]))
    with pytest.raises(InPlaceError, match=r"reads ring\.1\.left_key in ScatterND, Identity"):
        check_in_place(step, ordered.manifest.ring_tensors)


def test_a_ring_that_is_not_given_out_again_is_refused(ordered: Artifact) -> None:
    with pytest.raises(InPlaceError, match=r"reads ring\.7\.key in nothing"):
        check_in_place(step_model(ordered), ("ring.7.key",))


def test_the_same_model_gives_the_same_files(ordered: Artifact, tmp_path: Path) -> None:
    again = exported(ordered_model(), tmp_path)
    (files,) = again.manifest.graphs
    for name in (files.encode, files.step):
        assert again.path(name).read_bytes() == ordered.path(name).read_bytes()


class Ranges(dict[str, float]):
    """Every linear map's inputs are between -3 and 3."""

    def __missing__(self, site: str) -> float:
        return 3.0

    def __contains__(self, site: object) -> bool:
        return True


RANGES = Ranges()


def new(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize("side", [None, "encoder", "decoder"])
def test_both_precisions_of_one_trace_are_those_of_a_trace_each(side: str | None, tmp_path: Path) -> None:
    model = lively_model(tiny_config()) if side is None else lively_document_model(side=side)
    kinds = (("onnx", "fp32"), ("onnx", "int8"))
    together = write_graphs(model, new(tmp_path / "together"), *kinds, ranges=RANGES, align=True).folder
    files = {path.name: path.read_bytes() for path in together.iterdir()}
    for kind in kinds:
        alone = write_graphs(model, new(tmp_path / kind[1]), kind, ranges=RANGES, align=True).folder
        for path in alone.iterdir():
            assert path.read_bytes() == files.pop(path.name), path.name
    assert not files
