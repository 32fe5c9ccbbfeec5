"""The bound of the engine's speed: the products of a graph alone are those of the graph."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from loadtest.bench.limit_bench import limit_rows
from loadtest.bench.ours import random_artifact
from loadtest.bench.profiled import OTHER, PRODUCTS, ProductsAlone, ProfiledSession, group_of, products_alone
from loadtest.bench.shapes import shape
from server.cli import main as cli


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_the_table_has_the_encoder_and_the_step_beside_their_products(precision: str) -> None:
    rows = limit_rows("tiny", precision, 2, (1, 3), 1)
    beside = [row for row in rows if row.peer is not None]
    assert [row.name for row in beside] == [
        f"tiny {precision} beam 2, {slots} sentences, {part}" for slots in (1, 3) for part in ("encode", "step")
    ]
    for row in beside:
        assert row.ours > 0 < (row.peer or 0)
        assert row.ratio == pytest.approx(row.ours / (row.peer or 0))
        parts = {each.name.removeprefix(f"{row.name}: ") for each in rows if each.name.startswith(f"{row.name}: ")}
        assert {"products", "attention", "copies", "outside of kernels"} <= parts
    assert rows[-1].name == "memory that one thread reads"
    assert 0.1 < rows[-1].ours < 10_000


def test_calls_of_several_sizes_are_not_compared() -> None:
    """With 13 sentences of 24 words the encoder is called for some of them, then for the others."""
    names = [row.name for row in limit_rows("tiny", "fp32", 1, (13,), 1) if row.peer is not None]
    assert names == ["tiny fp32 beam 1, 13 sentences, step"]


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_products_alone_are_those_of_the_graph(tmp_path: Path, precision: str) -> None:
    """All of them, with their weights; on the shapes of a run."""
    artifact = random_artifact(shape("tiny", 8), precision, tmp_path, with_shortlist=False)
    session = ProfiledSession(artifact, artifact.manifest.graph("onnx", precision).encode, tmp_path)
    ids = np.array([[5, 6, 7, 3], [8, 9, 3, 0]])
    session.session.run(None, {"source_ids": ids, "source_keep": (ids > 0).astype(np.int32)})
    profile, optimized = session.profile(), session.optimized
    names = {node.name for node in optimized.graph.node if node.op_type in PRODUCTS}
    alone = products_alone(optimized)
    assert {node.name for node in alone.graph.node} == names == profile.shapes.keys()
    assert len(names) == 2 * 6 + 2 * 2  # query, key, value, output and both of the feed-forward layer; keys and values
    inputs = {each.name for each in alone.graph.input}
    rows = {
        shape[0][1][:-1] for node in alone.graph.node if node.input[0] in inputs
        for shape in [profile.shapes[node.name]]
    }  # fmt: skip
    assert rows <= {(2, 4), (8,)}
    assert ProductsAlone(optimized, profile).seconds(2) > 0


def test_kinds_of_kernels_are_in_one_group() -> None:
    assert group_of("MatMulIntegerToFloat") == "products"
    assert group_of("TopK") == "choice of words"
    assert group_of("SomethingNew") == OTHER


def test_a_graph_without_products_has_none() -> None:
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "g", [], [])
    assert not products_alone(onnx.helper.make_model(graph)).graph.node


def test_the_command_says_what_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "limit", "--shape", "tiny", "--batch", "2", "--rounds", "1", "--beam", "1"]) == 0
    output = capsys.readouterr().out
    assert "| ours / products alone |" in output
    assert "back to back" in output
