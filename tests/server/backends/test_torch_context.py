"""Context by the torch backend: the model's and ONNX Runtime's results, from documents that stay on the device."""

import dataclasses
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from export.context_parity import CONTEXT_TOLERANCE, DOCUMENTS, context_difference
from model.config import CONTEXT_ATTENTIONS
from server.artifact.artifact import Artifact
from server.backends.arrays import Array
from server.backends.context import full_context
from server.backends.load import load_backend
from server.backends.memory import document_layout
from server.backends.torchscript.backend import TorchScriptBackend
from server.backends.torchscript.context import SourceOnDevice, TorchContext
from server.backends.torchscript.graph import Loader
from server.backends.torchscript.memory import EncodedOnDevice, TorchMemory
from server.backends.torchscript.place import Place
from server.engine.request import SearchOptions, SentenceRequest
from server.scheduling.caller import Service
from tests.documents import lively_document_model
from tests.graphs import write_graphs
from tests.server.backends.torch_devices import DEVICES
from tests.server.engine.runs import Arrival, play, random_source

ArtifactOf = Callable[[str, str], Artifact]
SIDES = ("encoder", "decoder")
HALF = {"fp16": 0.3, "bf16": 3.0}
"""Precision -> largest difference of a cumulative log-probability after nine steps in context, in nats."""


@pytest.fixture(scope="module")
def artifact_of(tmp_path_factory: pytest.TempPathFactory) -> ArtifactOf:
    """(attention, side) -> the graphs of both runtimes, traced once."""

    @cache
    def traced(attention: str, side: str) -> Artifact:
        model, folder = lively_document_model(attention, side, decay="learned"), tmp_path_factory.mktemp(attention)
        return write_graphs(model, folder, ("onnx", "fp32"), ("torchscript", "fp32"))

    return traced


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)
def test_every_attention_equals_the_model(attention: str, side: str, device: str, artifact_of: ArtifactOf) -> None:
    model = lively_document_model(attention, side, decay="learned")
    backend = TorchScriptBackend(artifact_of(attention, side), "fp32", device)
    assert max(context_difference(model, backend, 9, copies) for copies in DOCUMENTS) < CONTEXT_TOLERANCE
    other = lively_document_model(attention, side, seed=3, decay="learned")
    other.base.load_state_dict(model.base.state_dict())
    assert context_difference(other, backend, 9) > 10 * CONTEXT_TOLERANCE


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)
def test_every_graph_is_on_its_device_as_a_whole(attention: str, side: str, artifact_of: ArtifactOf) -> None:
    """Tensors on `meta` have shapes and no values, and do not mix with others."""
    artifact, place = artifact_of(attention, side), Place(torch.device("meta"), torch.float16)
    files = artifact.manifest.graph("torchscript", "fp32")
    assert files.context is not None
    loader = Loader(artifact, place, files.encode, files.step)
    for graph in (loader.encode, loader.step, *map(loader.load, files.context.files)):
        axes = {axis for tensor in graph.signature.inputs for axis in tensor.axes if isinstance(axis, str)}
        sizes = dict.fromkeys(axes, 3)
        results = graph({each.name: place.zeros(each.shape(sizes), each.dtype) for each in graph.signature.inputs})
        assert {result.device.type for result in results.values()} == {"meta"}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("precision", HALF)
@pytest.mark.parametrize("side", SIDES)
def test_half_precision_is_close(side: str, precision: str, device: str, artifact_of: ArtifactOf) -> None:
    backend = TorchScriptBackend(artifact_of("sparse-soft", side), precision, device)
    model = lively_document_model("sparse-soft", side, decay="learned")
    assert CONTEXT_TOLERANCE < context_difference(model, backend, 9) < HALF[precision]


def outcome(request: SentenceRequest) -> tuple[object, float]:
    """The tokens, or the error, and the score."""
    error = request.future.exception(timeout=0)
    if error is not None:
        return str(error), 0.0
    [*_, best] = request.future.result().hypotheses
    return best.ids, best.score


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("side", SIDES)
def test_batches_that_grow_and_move_give_what_onnx_runtime_gives(
    side: str, device: str, artifact_of: ArtifactOf
) -> None:
    """Documents of several sizes, whose room grows; sentences without one; slots that others had before."""
    artifact, generator = artifact_of("sparse-soft", side), random.Random(5)
    onnx, ours = (load_backend(artifact, *each) for each in (("onnx", "fp32"), ("torchscript", "fp32", "off", device)))
    assert onnx.context is not None
    states = [onnx.context.compute_states((*range(5, 9 + n), 3), tuple(range(8, 12 + n))) for n in range(5)]
    lengths = [4 + n for n in range(5)]
    contexts = [None, full_context(states[:1], lengths[:1]), full_context(states, lengths)]
    schedule = [
        Arrival(
            step=generator.randrange(25),
            source=random_source(generator),
            options=SearchOptions(beam_size=generator.choice([1, 3, 4]), max_length=generator.choice([5, 24])),
            cancel_after=generator.choice([None, None, None, generator.randrange(15)]),
            context=generator.choice(contexts),
            service=Service.BACKGROUND,
        )
        for _ in range(16)
    ]
    found, expected = ([outcome(item) for item in play(backend, schedule, slots=4)] for backend in (ours, onnx))
    assert [tokens for tokens, _ in found] == [tokens for tokens, _ in expected]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=CONTEXT_TOLERANCE)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)
def test_attention_is_explained_as_by_onnx_runtime(
    attention: str, side: str, device: str, artifact_of: ArtifactOf
) -> None:
    artifact = artifact_of(attention, side)
    onnx, ours = load_backend(artifact, "onnx", "fp32").context, TorchScriptBackend(artifact, "fp32", device).context
    assert onnx is not None
    assert ours is not None
    assert (ours.side, ours.reach) == (onnx.side, onnx.reach)
    sentences = [((5, 6, 7, 3), (9, 8)), ((3,), ()), ((*range(20, 50), 3), tuple(range(60, 100)))]
    lengths = [len(target) if side == "decoder" else len(source) - 1 for source, target in sentences]
    states = [[each.compute_states(*pair) for pair in sentences] for each in (onnx, ours)]
    for expected, given in zip(*states, strict=True):
        assert expected.keys() == given.keys()
        for name, state in expected.items():
            np.testing.assert_allclose(given[name].astype(np.float32), state.astype(np.float32), atol=4e-3)
    context = full_context(states[0], lengths)
    assert context is not None
    wanted, found = (each.explain((30, 31, 32, 3), context, (33, 34)) for each in (onnx, ours))
    np.testing.assert_allclose(found.weights, wanted.weights, atol=1e-5)
    assert found.gate == pytest.approx(wanted.gate, abs=1e-5)
    assert (found.words is None) == (wanted.words is None)
    for mine, theirs in zip(found.words or (), wanted.words or (), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)


def test_slices_of_a_sentence_are_the_sentence(artifact_of: ArtifactOf) -> None:
    backend = TorchScriptBackend(artifact_of("sparse-sparse", "encoder"), "fp32")
    context, source = backend.context, (*range(40, 58), 3)  # slices differ in length
    assert isinstance(context, TorchContext)
    seen = full_context([context.compute_states((5, 6, 7, 3))] * 3, [3] * 3)
    assert seen is not None
    [encoded] = context.encode_sources([source])
    whole, explained = context.attend(encoded, seen), context.explain(source, seen)
    context.max_energies = 150
    parts, again = context.attend(encoded, seen), context.explain(source, seen)
    assert whole.attention is not None
    assert parts.attention is not None
    for one, other in ((whole.attention, parts.attention), (explained, again)):
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-6)
        assert one.gate == pytest.approx(other.gate, abs=1e-6)
    for mine, theirs in zip(explained.words or (), again.words or (), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-6)
    assert isinstance(whole.encoded, EncodedOnDevice)
    assert isinstance(parts.encoded, EncodedOnDevice)
    for axes, stack in whole.encoded.stacks.items():
        torch.testing.assert_close(stack, parts.encoded.stacks[axes], atol=1e-5, rtol=0)


def test_what_is_kept_of_a_sentence_is_counted(artifact_of: ArtifactOf) -> None:
    context = TorchScriptBackend(artifact_of("sparse-soft", "encoder"), "fp16").context
    assert context is not None
    long, short = context.encode_sources([(*range(40, 57), 3), (5, 3)])
    assert isinstance(short, SourceOnDevice)
    width = 32 * 2  # bytes of a vector
    padded = 2 * 2 * 18 * width  # keys and values of two layers, as long as the longest of the batch
    assert (long.num_bytes, short.num_bytes) == (padded + 18 * width, padded + 2 * width)


@pytest.mark.parametrize("device", DEVICES)
def test_documents_cross_to_the_device_once(
    device: str, artifact_of: ArtifactOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = TorchScriptBackend(artifact_of("sparse-soft", "decoder"), "fp16", device)
    assert backend.context is not None
    states = backend.context.compute_states((5, 6, 7, 3), (8, 9, 10))
    context = full_context([states], [3])
    [source] = backend.context.encode_sources([(5, 6, 7, 3)])
    encoded = backend.context.attend(source, context).encoded
    state = backend.new_state(2, 2, 8, document_layout([encoded]))
    memory = state.memory
    assert isinstance(memory, TorchMemory)
    state.admit(1, encoded, 2, 2)
    step, copies, copy = backend.bind(state), list[Array](), Place.tensor

    def counted(place: Place, array: Array) -> torch.Tensor:
        copies.append(array)
        return copy(place, array)

    monkeypatch.setattr(Place, "tensor", counted)
    for expected in (len(encoded.document), 0, 0):
        copies.clear()
        step()
        state.tick()
        assert len(copies) == expected
    assert memory.tensors["word_key.0"].dtype == torch.float16
    assert memory.tensors["sentence_keep.0"].tolist() == [[0], [1]]
    assert memory.source_bytes > sum(memory.tensors[name].nbytes for name in encoded.document)
    state.release(1)
    assert not memory.tensors["sentence_keep.0"].any()


def test_nothing_is_left_of_the_document_before(artifact_of: ArtifactOf) -> None:
    """Of a longer one, with longer sentences, in the same slot."""
    context = (backend := TorchScriptBackend(artifact_of("sparse-soft", "decoder"), "fp32")).context
    assert context is not None
    [source] = context.encode_sources([(5, 6, 7, 3)])
    encoded = []
    ones = np.ones((200, 32), np.float16)
    for lengths in ((4, 130, 130), (3, 70)):
        states = [{"sentence_key": ones[0], "word_key": ones[:n], "word_value": ones[:n]} for n in lengths]
        encoded.append(context.attend(source, full_context(states, lengths)).encoded)
    slots = []
    for sentences in (encoded, encoded[1:]):
        state = backend.new_state(1, 2, 8, document_layout(encoded))
        for sentence in sentences:
            state.admit(0, sentence, 2, 2)
            backend.bind(state)()
            assert isinstance(state.memory, TorchMemory)
            slots.append({name: state.memory.tensors[name].clone() for name in state.memory.document})
            state.release(0)
    _, after, alone = slots
    for name, tensor in alone.items():
        assert torch.equal(after[name], tensor), name


@pytest.mark.parametrize("attention", ["flat-word", "sparse-soft"])
def test_a_fixed_decay_loses_nothing_in_the_trace(attention: str, tmp_path: Path) -> None:
    model = lively_document_model(attention, "encoder", decay=0.37)
    artifact = write_graphs(model, tmp_path, ("onnx", "fp32"), ("torchscript", "fp32"))
    onnx, ours = (load_backend(artifact, format, "fp32").context for format in ("onnx", "torchscript"))
    assert onnx is not None
    assert ours is not None
    seen = full_context([onnx.compute_states((n, n + 1, n + 2, 3)) for n in range(5, 12)], [3] * 7)
    assert seen is not None
    wanted, found = (each.explain((30, 31, 32, 3), seen) for each in (onnx, ours))
    np.testing.assert_allclose(found.weights, wanted.weights, atol=1e-5)


def test_an_artifact_without_such_graphs_has_no_context(artifact_of: ArtifactOf) -> None:
    """As of older exports."""
    artifact = artifact_of("sparse-soft", "encoder")
    graphs = tuple(dataclasses.replace(graph, context=None) for graph in artifact.manifest.graphs)
    older = Artifact(Path(artifact.folder), dataclasses.replace(artifact.manifest, graphs=graphs))
    assert load_backend(older, "torchscript", "fp32").context is None
