"""General ONNX graphs: for plain models the same as the fast ones, for other mechanisms the same as PyTorch."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray
from onnx import helper
from torch import Tensor, nn

from export.graphs import StepGraph
from export.manifest import graph_files, make_manifest
from export.onnx_general import InPlaceError, check_in_place, write_general_onnx
from export.onnx_path import FAST, GENERAL, PathError, choose_path, unknown_parts
from export.onnx_writer import write_onnx
from export.parity import padded, sample_sources, step_difference
from export.torchscript import step_arguments
from model.attention.scaled_dot_product import attention_energy, masked_softmax, merge_heads, split_heads
from model.config import BOS_ID
from model.translation_model import TranslationModel
from server import cli
from server.artifact import Artifact, parse_manifest
from server.backends.load import load_backend
from server.backends.state import DecoderState
from server.engine.golden import Source, search
from server.engine.request import SearchOptions
from server.settings import BUNDLED_MODELS
from tests.models import lively_model, tiny_config, write_checkpoint

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

    def forward(
        self,
        x: Tensor,
        memory: tuple[Tensor, ...],
        keep: Tensor,
        query_position: Tensor,
        key_position: Tensor,
        ordered: bool = True,
    ) -> Tensor:
        query = split_heads(self.query(x), self.num_heads)
        key, value, left_key, right_key = memory
        weights, left, right = (
            masked_softmax(attention_energy(query, part), keep) for part in (key, left_key.float(), right_key)
        )
        before = (key_position[:, None, :, None] <= key_position[:, None, None, :]).float()
        window = (left @ before) * (right @ before.transpose(-2, -1))
        return self.output(merge_heads((weights * window) @ value))  # type: ignore[no-any-return]


def ordered_model(order: int | None = 4) -> TranslationModel:
    """A lively model whose decoder attends to its own past with OrderedAttention."""
    model = lively_model(tiny_config(ngram=order, max_length=40))
    torch.manual_seed(1)
    for layer in model.decoder.decoder_layers():
        layer.add_module("self_attention", OrderedAttention(model.config.d_model, model.config.num_heads))
    return model.eval()


def general_artifact(model: TranslationModel, folder: Path) -> Artifact:
    folder.mkdir(exist_ok=True)
    graph = graph_files("onnx", "fp32", GENERAL)
    manifest = make_manifest(model, "x", ("en", "de"), (graph,), "", "", 1.0, {})
    write_general_onnx(model, manifest, folder / graph.encode, folder / graph.step)
    return Artifact(folder, manifest)


def step_model(artifact: Artifact) -> onnx.ModelProto:
    return onnx.load(artifact.path(artifact.manifest.graphs[0].step))


@pytest.fixture(scope="module")
def ordered(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return general_artifact(ordered_model(), tmp_path_factory.mktemp("ordered"))


@pytest.mark.parametrize("order", [2, 4, None])
@pytest.mark.parametrize("build", [lambda order: lively_model(tiny_config(ngram=order, max_length=40)), ordered_model])
def test_log_probabilities_are_the_models_after_several_wraps(build: object, order: int | None, tmp_path: Path) -> None:
    model = build(order)  # type: ignore[operator]
    artifact = general_artifact(model, tmp_path)
    assert step_difference(model, load_backend(artifact, "onnx", "fp32"), 30) < 1e-4


@pytest.mark.parametrize("beam", [1, 4])
def test_every_tensor_is_the_step_graphs_although_the_ring_is_written_in_place(ordered: Artifact, beam: int) -> None:
    """Five wraps, beside the eager graph, whose rings are copies; one slot is idle."""
    graph, backend = StepGraph(ordered_model()), load_backend(ordered, "onnx", "fp32")
    ids, keep = padded(sample_sources(320, 40))
    ours, eager = (DecoderState(ordered.manifest, len(ids) + 1, beam, ids.shape[1]) for _ in range(2))
    for state in (ours, eager):
        for slot, sentence in enumerate(backend.encode(ids, keep)):
            state.admit(slot, sentence, BOS_ID, beam)
    step = backend.bind(ours)
    for _ in range(15):
        step()
        with torch.inference_mode():
            outputs = [tensor.numpy() for tensor in graph(*step_arguments(eager))]
        for result, state_array in zip(outputs, written_arrays(eager), strict=True):
            state_array[:] = result
        for mine, expected in zip(written_arrays(ours), outputs, strict=True):
            np.testing.assert_allclose(mine[: len(ids)], expected[: len(ids)], atol=1e-4)
        ours.tick()
        eager.tick()


def written_arrays(state: DecoderState) -> list[NDArray[Any]]:
    """What a step writes, in the order of StepGraph's outputs."""
    candidates, rows = state.candidates, state.following
    return [
        candidates.score, candidates.token, candidates.parent, rows.token, rows.parent, rows.score, rows.ancestry,
        *state.ring.values(),
    ]  # fmt: skip


@pytest.mark.parametrize("beam", [1, 4])
def test_fast_and_general_graphs_translate_alike(beam: int, tmp_path: Path) -> None:
    """Forty sentences of one to thirty pieces through sixteen slots: padded batches, wraps, slots used again."""
    model = lively_model(tiny_config(max_length=40))
    general = general_artifact(model, tmp_path / "general")
    (files,) = general.manifest.graphs
    (tmp_path / "fast").mkdir()
    write_onnx(model, files, {}, tmp_path / "fast")
    generator = np.random.default_rng(2)
    sources = [Source((*generator.integers(4, 320, n).tolist(), 3)) for n in generator.integers(0, 30, 40)]
    options = SearchOptions(beam_size=beam, num_hypotheses=beam, max_length=30)
    fast, slow = (
        search(load_backend(Artifact(tmp_path / name, general.manifest), "onnx", "fp32"), sources, options)
        for name in ("fast", "general")
    )
    for one, other in zip(fast, slow, strict=True):
        assert [h.ids for h in one.hypotheses] == [h.ids for h in other.hypotheses]
        for a, b in zip(one.hypotheses, other.hypotheses, strict=True):
            assert a.score == pytest.approx(b.score, abs=1e-4)
    assert max(len(result.hypotheses[0].ids) for result in fast) > 2 * general.manifest.ring_capacity


def test_graphs_hold_no_control_flow_and_no_paths_of_the_exporting_machine(ordered: Artifact) -> None:
    (files,) = ordered.manifest.graphs
    for name in (files.encode, files.step):
        content = ordered.path(name).read_bytes()
        kinds = {node.op_type for node in onnx.load_from_string(content).graph.node}
        assert "MatMul" in kinds
        assert not kinds & {"If", "Loop", "Scan", "NonZero"}
        assert str(ROOT).encode() not in content


def test_inputs_that_a_mechanism_does_not_read_are_left_out(ordered: Artifact) -> None:
    names = {tensor.name for tensor in step_model(ordered).graph.input}
    assert {"ring.0.left_key", "ring.1.right_key", "key_age", "num_candidates"} <= names
    assert "kept_key" not in names


def test_a_second_reader_of_a_ring_is_refused(ordered: Artifact) -> None:
    step = step_model(ordered)
    check_in_place(step, ordered.manifest.ring_tensors)
    step.graph.node.append(helper.make_node("Identity", ["ring.1.left_key"], ["copy"]))
    with pytest.raises(InPlaceError, match=r"reads ring\.1\.left_key in ScatterND, Identity"):
        check_in_place(step, ordered.manifest.ring_tensors)


def test_a_ring_that_is_not_given_out_again_is_refused(ordered: Artifact) -> None:
    with pytest.raises(InPlaceError, match=r"reads ring\.7\.key in nothing"):
        check_in_place(step_model(ordered), ("ring.7.key",))


def test_plain_models_are_fast_and_others_general(tiny_model: TranslationModel) -> None:
    assert unknown_parts(ordered_model()) == ["OrderedAttention"]
    assert choose_path(tiny_model, ["int8", "fp32"]) == FAST
    assert choose_path(ordered_model(), ["fp32"]) == GENERAL
    assert choose_path(tiny_model, ["fp32"], GENERAL) == GENERAL


def test_what_a_path_cannot_do_is_said(tiny_model: TranslationModel) -> None:
    with pytest.raises(PathError, match=r"fast graphs .* know no OrderedAttention: use path general"):
        choose_path(ordered_model(), ["fp32"], FAST)
    with pytest.raises(PathError, match=r"fp32 only, and this model has OrderedAttention.* ask for onnx-fp32"):
        choose_path(ordered_model(), ["int8"])
    with pytest.raises(PathError, match="fp32 only, and path general was asked for"):
        choose_path(tiny_model, ["fp32", "int8"], GENERAL)
    with pytest.raises(PathError, match="unknown path 'quick': fast or general"):
        choose_path(tiny_model, ["fp32"], "quick")


def test_the_command_writes_general_graphs_when_asked(
    tiny_model: TranslationModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = write_checkpoint(tiny_model, tmp_path / "checkpoint")
    command = ["export", str(checkpoint), str(tmp_path / "out"), "--name", "x", "--source", "en", "--target", "de"]
    assert cli.main([*command, "--path", "general", "--graphs", "onnx-fp32,torchscript-fp32"]) == 0
    manifest = Artifact.load(tmp_path / "out").manifest
    assert [graph.built for graph in manifest.graphs] == [GENERAL, GENERAL]
    assert cli.main([*command, "--path", "general"]) == 1
    assert "general graphs exist at fp32 only" in capsys.readouterr().err
    assert cli.main([*command, "--graphs", "onnx-fp32"]) == 0
    assert [graph.built for graph in Artifact.load(tmp_path / "out").manifest.graphs] == [FAST]


def test_the_same_model_gives_the_same_files(ordered: Artifact, tmp_path: Path) -> None:
    again = general_artifact(ordered_model(), tmp_path)
    (files,) = again.manifest.graphs
    for name in (files.encode, files.step):
        assert again.path(name).read_bytes() == ordered.path(name).read_bytes()


def test_manifests_from_before_the_general_path_are_fast(tiny_artifact: Path) -> None:
    values = dataclasses.asdict(Artifact.load(tiny_artifact).manifest)
    for graph in values["graphs"]:
        del graph["built"]
    assert {graph.built for graph in parse_manifest(json.dumps(values), "here").graphs} == {FAST}
    assert Artifact.load(BUNDLED_MODELS / "en-de").manifest.graphs[0].built == FAST
