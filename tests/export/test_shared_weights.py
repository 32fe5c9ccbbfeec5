"""Graphs whose weights lie in one file."""

from pathlib import Path

import numpy as np
import onnxruntime

from export.onnx_graph.builder import GraphBuilder
from export.shared_weights import SMALLEST, SharedWeights


def test_equal_constants_are_stored_once_and_read_by_every_graph(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    shared, own = generator.normal(size=(64, 64)), generator.normal(size=(64, 64))
    assert shared.astype(np.float32).nbytes > SMALLEST
    models, expected = {}, {}
    for name, matrices in {"a": [shared], "b": [own, shared], "c": [shared, own, shared]}.items():
        graph = GraphBuilder(name)
        x = graph.input("x", "float32", ["row", 64])
        for matrix in matrices:
            x = graph.op("MatMul", x, graph.constant(matrix.astype(np.float32)))
        graph.output(x, "y", "float32", ["row", 64])
        models[name], expected[name] = graph.model(), np.linalg.multi_dot([np.eye(64), *matrices, np.eye(64)])
    with SharedWeights(tmp_path / "weights.bin") as weights:
        models = {name: weights.outside(model) for name, model in models.items()}
    assert (tmp_path / "weights.bin").stat().st_size == 2 * 64 * 64 * 4
    for name, model in models.items():
        (tmp_path / f"{name}.onnx").write_bytes(model.SerializeToString())
        session = onnxruntime.InferenceSession(str(tmp_path / f"{name}.onnx"), providers=["CPUExecutionProvider"])
        (ours,) = session.run(["y"], {"x": np.eye(64, dtype=np.float32)})
        np.testing.assert_allclose(ours, expected[name], atol=1e-2)
