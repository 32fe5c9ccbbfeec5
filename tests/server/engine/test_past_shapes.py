"""Batches that return to a shape that they had before: the same results as with new arrays for every shape."""

import random
from collections.abc import Callable

import pytest

from server.backends.arrays import pad_ids
from server.backends.base import Backend
from server.backends.state import DEAD_SCORE, DecoderState
from server.backends.torchscript.memory import TorchMemory
from server.engine import batch_shape, past_shapes
from server.engine.engine import Engine
from server.engine.request import SearchOptions, SentenceRequest
from server.scheduling.caller import Service
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.runs import new_engine, play, random_arrival, random_source, run

KINDS = ("onnx", "torchscript")


@pytest.fixture
def new_arrays(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on no state is kept: the slow reference."""
    return lambda: monkeypatch.setattr(past_shapes, "MAX_BYTES", 0)


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_those_of_new_arrays(load: LoadBackend, new_arrays: Callable[[], None], kind: str) -> None:
    """Bit by bit, in batches that grow, shrink and are cancelled at any step."""
    backend, generator = load(kind, "fp32"), random.Random(7)
    arrivals = [random_arrival(generator, service=Service.BACKGROUND) for _ in range(60)]
    kept = play(backend, arrivals, slots=9)
    new_arrays()
    for ours, theirs in zip(kept, play(backend, arrivals, slots=9), strict=True):
        error = theirs.future.exception(timeout=0)
        assert type(ours.future.exception(timeout=0)) is type(error)
        if error is None:
            assert ours.future.result(timeout=0).hypotheses == theirs.future.result(timeout=0).hypotheses


def test_a_shape_is_bound_once(load: LoadBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a batch has the slots that its sentences need."""
    monkeypatch.setattr(batch_shape, "MAX_SPARE_BYTES", 0)
    backend, bound = load("onnx", "fp32"), list[tuple[int, int, int]]()
    bind = backend.bind

    def counted(state: DecoderState) -> object:
        bound.append((state.slots, state.source_length, state.capacity))
        return bind(state)

    monkeypatch.setattr(backend, "bind", counted)
    engine = new_engine(backend, slots=8)
    for _ in range(3):
        translate_some(engine)
    assert len(bound) == len(set(bound)) > 2


def translate_some(engine: Engine) -> None:
    """Five sentences, of which three end before the others: the batch becomes smaller."""
    options = [SearchOptions(beam_size=2, max_length=2 + 3 * max(0, number - 2)) for number in range(5)]
    requests = [SentenceRequest((5, 6, 7, 3), each) for each in options]
    engine.queue.put(requests)
    run(engine)
    assert all(request.future.done() for request in requests)


def test_states_are_kept_within_their_bytes(load: LoadBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them are counted as memory of the engine."""
    backend = load("onnx", "fp32")
    largest = backend.new_state(8, 2, 16, capacity=32).memory
    limit = largest.ring_bytes + largest.source_bytes
    monkeypatch.setattr(past_shapes, "MAX_BYTES", limit)
    engine = new_engine(backend, slots=8)
    generator, kept = random.Random(1), set[int]()
    for _ in range(20):
        engine.queue.put(
            [
                SentenceRequest(random_source(generator), SearchOptions(2, max_length=9))
                for _ in range(generator.randint(1, 8))
            ]
        )
        run(engine)
        [lane] = [lane for lane in engine.lanes.values() if lane.kind.is_short] or engine.lanes.values()
        memory = lane.state.memory
        kept.add(lane.ring_bytes + lane.source_bytes - memory.ring_bytes - memory.source_bytes)
        assert engine.ring_bytes == sum(lane.ring_bytes for lane in engine.lanes.values())
    assert max(kept) <= limit
    assert max(kept) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_after_a_reset_all_slots_are_idle(load: LoadBackend, kind: str) -> None:
    backend: Backend = load(kind, "fp32")
    state = backend.new_state(3, 2, 16)
    content = backend.encode(*pad_ids([(5, 6, 7, 3)]))[0]
    state.admit(0, content, 2, 2)
    state.admit(1, content, 2, 2)
    step = backend.bind(state)
    for _ in range(3):
        step()
        state.tick()
    state.reset()
    new = backend.new_state(3, 2, 16)
    assert state.clock == new.clock
    for parity in (0, 1):
        ours, theirs = state.inputs(parity), new.inputs(parity)
        for name in ("score", "ancestry", "is_row", "position", "source_keep", "own_key", "kept_key", "write_index"):
            assert (ours[name] == theirs[name]).all(), name
    assert (state.current.score == DEAD_SCORE).all()
    if isinstance(state.memory, TorchMemory):
        assert (state.memory.lengths == 1).all()
