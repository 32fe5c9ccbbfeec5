"""Rings of full attention are as long as the running sentences need; no bit of a result depends on their length."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.config import EOS_ID
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact
from server.backends.base import Backend
from server.backends.load import load_backend
from server.backends.onnx.backend import OnnxBackend
from server.engine import lane
from server.engine.batch_shape import ring_capacity_for
from server.engine.engine import Engine
from server.engine.lane import Lane
from server.engine.request import Hypothesis, SearchOptions, SentenceRequest
from tests.graphs import write_graphs
from tests.models import EVERY_KIND, lively_model, tiny_config
from tests.server.engine.integrity import check_integrity
from tests.server.engine.runs import new_engine, run
from tests.server.engine.test_scoring import long_target, score_request
from tests.variants import few_layers, lively_variant

MakeRequest = Callable[[int, int], SentenceRequest]
"""A request from a length in tokens and a beam width."""
Together = Callable[[Backend, list[SentenceRequest]], list[tuple[Hypothesis, ...]]]
MOST = 120
LENGTHS = (7, 16, 17, 40, 70, 110)


@pytest.fixture
def with_whole_rings(monkeypatch: pytest.MonkeyPatch) -> Together:
    """The slow reference of `together`: every ring has its final length from the start."""

    def run_whole(backend: Backend, requests: list[SentenceRequest]) -> list[tuple[Hypothesis, ...]]:
        with monkeypatch.context() as patch:
            patch.setattr(lane, "ring_capacity_for", lambda positions, most: most)
            return together(backend, requests)

    return run_whole


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    model = endless(lively_model(tiny_config(ngram=None, max_length=MOST)))
    return write_graphs(model, tmp_path_factory.mktemp("full"), *EVERY_KIND)


def endless(model: TranslationModel) -> TranslationModel:
    """A model whose translations never end with EOS."""
    with torch.no_grad():
        model.embedding.weight[EOS_ID] = 0  # far below the best of random logits
    return model


def search(length: int, beam: int) -> SentenceRequest:
    source = (*range(10, 10 + length % 13), 3)
    return SentenceRequest(source, SearchOptions(beam_size=beam, num_hypotheses=beam, max_length=length))


def score(length: int, beam: int) -> SentenceRequest:
    return score_request((*range(20, 20 + length % 13), 3), [long_target(length, seed) for seed in range(beam)])


def together(
    backend: Backend, requests: list[SentenceRequest], slots: int = 3, steps: int = 3
) -> list[tuple[Hypothesis, ...]]:
    """Hypotheses of sentences, one of which is queued every `steps` steps."""
    engine = new_engine(backend, slots)
    for request in requests:
        engine.queue.put([request])
        for _ in range(steps):
            engine.step()
            check_integrity(engine)
    run(engine)
    return [request.future.result(timeout=0).hypotheses for request in requests]


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("beam", [1, 3, 4])
@pytest.mark.parametrize("make_request", [search, score])
def test_rings_that_grow_and_shrink_give_the_same_bits_as_whole_rings(
    artifact: Artifact, with_whole_rings: Together, make_request: MakeRequest, beam: int, precision: str
) -> None:
    backend = load_backend(artifact, "onnx", precision, "off")
    backend.prepare_scores()
    lengths = (*LENGTHS, *reversed(LENGTHS))
    expected = with_whole_rings(backend, [make_request(length, beam) for length in lengths])
    assert together(backend, [make_request(length, beam) for length in lengths]) == expected
    assert [together(backend, [make_request(length, beam)])[0] for length in lengths] == expected


@pytest.mark.parametrize("name", ["gauss-query-relative", "mw", "aw", "ssru-below"])
def test_rings_grow_in_every_kind_of_decoder(name: str, with_whole_rings: Together, tmp_path: Path) -> None:
    model = endless(lively_variant(name, loudness=1, ngram=None, **few_layers(name)))
    artifact = write_graphs(model, tmp_path, ("onnx", "int8"))
    backend = load_backend(artifact, "onnx", "int8", "off")
    lengths = (38, 7, 33, 40, 20)
    expected = with_whole_rings(backend, [search(length, 3) for length in lengths])
    assert together(backend, [search(length, 3) for length in lengths]) == expected
    assert [together(backend, [search(length, 3)])[0] for length in lengths] == expected


@pytest.mark.parametrize("kind", ["torchscript", "device"])
def test_rings_grow_in_every_backend(artifact: Artifact, with_whole_rings: Together, kind: str) -> None:
    """`device`: memory in values of the runtime, as for a CUDA device."""
    growing = load_backend(artifact, "torchscript", "fp32")
    if kind == "device":
        growing = OnnxBackend(artifact, "fp32", use_shortlist=False, memory_on_device=True)
    whole = load_backend(artifact, "onnx", "fp32", "off")
    lengths = (70, 20, 40)
    expected = with_whole_rings(whole, [search(length, 2) for length in lengths])
    actual = together(growing, [search(length, 2) for length in lengths])
    for ours, theirs in zip(actual, expected, strict=True):
        assert [h.ids for h in ours] == [h.ids for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-3)


@pytest.mark.parametrize("make_request", [search, score])
def test_the_past_of_layers_without_a_ring_moves_with_its_sentence(make_request: MakeRequest, tmp_path: Path) -> None:
    """Batches that grow and shrink while hypotheses change their parents, in arrays and in values of the runtime."""
    model = endless(lively_variant("ssru", loudness=1))
    artifact = write_graphs(model, tmp_path, ("onnx", "fp32"))
    host = OnnxBackend(artifact, "fp32", use_shortlist=False)
    device = OnnxBackend(artifact, "fp32", use_shortlist=False, memory_on_device=True)
    lengths = (38, 7, 33, 40, 20, 9)
    outcomes = []
    for backend in (host, device):
        backend.prepare_scores()
        outcomes.append(together(backend, [make_request(length, 3) for length in lengths]))
        assert backend.new_state(1, 3, 8).memory.ring_bytes == 2 * 2 * 3 * 32 * 4
    assert outcomes[0] == outcomes[1]
    assert [together(host, [make_request(length, 3)])[0] for length in lengths] == outcomes[0]


def test_rings_are_as_long_as_the_longest_running_sentence(artifact: Artifact) -> None:
    engine = new_engine(load_backend(artifact, "onnx", "fp32"), slots=3)
    assert capacities(engine, [search(60, 1), search(5, 1)]) == [32] * 32 + [48] * 16 + [64] * 12
    engine.queue.put([search(5, 1)])
    engine.step()
    assert only_lane(engine.lanes.values()).state.capacity == 32


def capacities(engine: Engine, requests: list[SentenceRequest]) -> list[int]:
    """Those of the only lane after each step."""
    engine.queue.put(requests)
    after = []
    while not engine.is_idle:
        engine.step()
        check_integrity(engine)
        after.append(only_lane(engine.lanes.values()).state.capacity)
    return after


@pytest.mark.parametrize("beam", [2, 4])
def test_rings_of_beams_are_as_long_as_live_rows_need(artifact: Artifact, beam: int) -> None:
    """Positions have no ring slots of their own."""
    engine = new_engine(load_backend(artifact, "onnx", "fp32"), slots=3)
    lengths = capacities(engine, [search(110, beam), search(5, beam)])
    assert lengths[:32] == [32] * 32
    assert lengths == sorted(lengths)
    assert lengths[-1] < 110
    assert capacities(engine, [search(5, beam)])[0] == 32


@pytest.mark.parametrize("kind", ["host", "device"])
def test_entries_that_are_written_again_give_the_same_translations(
    artifact: Artifact, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The slow reference: an entry for each row of each step. Scores are sums in another order."""
    backend = OnnxBackend(artifact, "fp32", use_shortlist=False, memory_on_device=kind == "device")
    lengths = (70, 20, 110, 40)
    ours = together(backend, [search(length, 4) for length in lengths])
    with monkeypatch.context() as patch:
        patch.setattr(OnnxBackend, "_attends_to_all", lambda backend, graph: False)
        theirs = together(backend, [search(length, 4) for length in lengths])
    for one, other in zip(ours, theirs, strict=True):
        assert [h.ids for h in one] == [h.ids for h in other]
        assert [h.score for h in one] == pytest.approx([h.score for h in other], abs=1e-4)


def only_lane(lanes: Iterable[Lane]) -> Lane:
    [only] = lanes
    return only


@pytest.mark.parametrize(("beam", "length", "steps"), [(1, 40, 10), (2, 70, 30)])
def test_a_ring_that_cannot_grow_fails_sentences_at_its_end(
    artifact: Artifact, monkeypatch: pytest.MonkeyPatch, beam: int, length: int, steps: int
) -> None:
    """With two beams, 48 positions leave no room for 8 more of two rows each in 64 entries."""
    backend = load_backend(artifact, "onnx", "fp32")
    engine = new_engine(backend, slots=4)
    long, later, other = search(length, beam), search(25, beam), search(14, 4)
    engine.queue.put([long, other])
    for _ in range(steps):
        engine.step()
    engine.queue.put([later])
    engine.step()

    def resize(*arguments: object) -> None:
        raise MemoryError("no memory for longer rings")

    with monkeypatch.context() as patch:
        patch.setattr(Lane, "_resize", resize)
        run(engine)
    with pytest.raises(MemoryError):
        long.future.result(timeout=0)
    for request, again in ((later, search(25, beam)), (other, search(14, 4))):
        assert request.future.result(timeout=0).hypotheses == together(backend, [again])[0]
    longer = search(length, beam)
    engine.queue.put([longer])
    run(engine)
    assert longer.future.result(timeout=0).hypotheses[0].num_tokens == length


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_ring_capacities_suffice_with_little_excess(positions: int, most: int) -> None:
    capacity = ring_capacity_for(positions, most)
    assert capacity == most or (positions <= capacity < most and capacity % 16 == 0)
    assert capacity <= max(32, 1.5 * positions + 16)
    assert ring_capacity_for(capacity, most) == capacity
