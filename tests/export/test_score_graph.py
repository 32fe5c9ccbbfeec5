"""Score graphs: a step's log-probabilities and memory, without the choice among words."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from export.onnx_graph.builder import IR_VERSION, opsets
from export.onnx_writer import write_sharing
from export.score_graph import ScoreError, score_graph
from server.artifact.artifact import Artifact
from server.artifact.signature import LOG_PROBABILITY

ROWS = ("slot", "beam")


def small_step() -> onnx.ModelProto:
    """Chooses among words after padding their log-probabilities, under a name that is taken then."""
    value, float32 = helper.make_tensor_value_info, TensorProto.FLOAT
    nodes = [
        helper.make_node("MatMul", ["x", "weight"], ["logits"]),
        helper.make_node("LogSoftmax", ["logits"], ["raw"], axis=-1),
        helper.make_node("Add", ["raw", "score"], [LOG_PROBABILITY]),
        helper.make_node("Neg", [LOG_PROBABILITY], ["candidate_score"]),
        helper.make_node("Identity", ["x"], ["next_ring.0.key"]),
    ]
    weight = np.random.default_rng(0).normal(size=(32, 64)).astype(np.float32)
    graph = helper.make_graph(
        nodes,
        "step",
        [value("x", float32, ["slot", "beam", 32]), value("score", float32, ["slot", "beam", 1])],
        [
            value("candidate_score", float32, ["slot", "beam", 64]),
            value("next_ring.0.key", float32, ["slot", "beam", 32]),
        ],
        [onnx.numpy_helper.from_array(weight, "weight")],
    )
    return helper.make_model(graph, opset_imports=opsets(), ir_version=IR_VERSION)


def test_a_score_graph_is_the_step_up_to_its_log_probabilities(tmp_path: Path) -> None:
    step, score = tmp_path / "step.onnx", tmp_path / "score.onnx"
    write_sharing({step.name: small_step(), score.name: score_graph(small_step())}, tmp_path, "step.bin")
    onnx.checker.check_model(str(score))
    chooses, scores = (
        onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]) for path in (step, score)
    )
    assert [input_.name for input_ in scores.get_inputs()] == ["x"]
    assert [output.name for output in scores.get_outputs()] == ["next_ring.0.key", LOG_PROBABILITY]
    x = np.random.default_rng(1).normal(size=(1, 2, 32)).astype(np.float32)
    ring, given = scores.run(None, {"x": x})
    chosen, _ = chooses.run(None, {"x": x, "score": np.zeros((1, 2, 1), np.float32)})
    np.testing.assert_array_equal(given, -chosen)
    np.testing.assert_array_equal(ring, x)


def test_weights_are_there_once(tmp_path: Path) -> None:
    step, score = tmp_path / "step.onnx", tmp_path / "score.onnx"
    write_sharing({step.name: small_step(), score.name: score_graph(small_step())}, tmp_path, "step.bin")
    assert (tmp_path / "step.bin").stat().st_size == 32 * 64 * 4
    assert max(step.stat().st_size, score.stat().st_size) < 2000


def test_score_graphs_of_an_artifact_add_no_weights(tiny_artifact: Path) -> None:
    artifact = Artifact.load(tiny_artifact)
    for graph in artifact.manifest.graphs:
        if graph.score:
            sizes = [artifact.path(name).stat().st_size for name in (graph.score, graph.step)]
            assert sizes[0] < sizes[1]


def test_a_step_without_log_probabilities_is_refused() -> None:
    model = small_step()
    model.graph.node.remove(model.graph.node[1])
    with pytest.raises(ScoreError, match="without computing their log-probabilities"):
        score_graph(model)
