"""Batches of few sentences: steps run over the first slots of larger arrays, and give the bits of arrays of their
own."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.artifact.artifact import Artifact
from server.backends.arrays import Array, pad_ids
from server.backends.base import Backend
from server.backends.load import load_backend
from server.backends.memory import HostMemory
from server.backends.onnx.backend import OnnxBackend
from server.backends.state import DEAD_SCORE, NO_TOKEN, DecoderState
from server.engine import batch_shape
from server.engine.request import Hypothesis, SearchOptions, SentenceRequest
from server.scheduling.caller import Service
from tests.graphs import write_graphs
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.integrity import check_integrity
from tests.server.engine.runs import Arrival, new_engine, play, random_arrival, run
from tests.server.engine.test_constraint import random_constraint
from tests.server.engine.test_rings import endless, search, together
from tests.variants import few_layers, lively_variant

Moves = list[tuple[int, int]]


@pytest.fixture
def arrays_of_their_own(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on a batch has the slots that its sentences need: the slow reference."""
    return lambda: monkeypatch.setattr(batch_shape, "MAX_SPARE_BYTES", 0)


@pytest.fixture
def moves(monkeypatch: pytest.MonkeyPatch) -> Moves:
    """The slots between which sentences move."""
    moved, move = Moves(), DecoderState.move_slot

    def noted(state: DecoderState, source: int, target: int) -> None:
        moved.append((source, target))
        move(state, source, target)

    monkeypatch.setattr(DecoderState, "move_slot", noted)
    return moved


def any_arrival(generator: random.Random) -> Arrival:
    """With a beginning that is given, or with words that are forbidden, or with neither."""
    return random_arrival(
        generator,
        service=Service.BACKGROUND,
        prefix=tuple(generator.randrange(4, 320) for _ in range(generator.choice([0, 0, 4]))),
        constraint=random_constraint(generator) if generator.random() < 0.4 else None,
    )


@pytest.mark.parametrize("shortlist", ["off", "on"])
def test_results_are_those_of_arrays_of_their_own(
    load: LoadBackend, arrays_of_their_own: Callable[[], None], moves: Moves, shortlist: str
) -> None:
    """In batches that grow, shrink and are cancelled at any step."""
    backend, generator = load("onnx", "int8", "on" if shortlist == "on" else "off"), random.Random(3)
    arrivals = [any_arrival(generator) for _ in range(80)]
    ours = play(backend, arrivals, slots=11)
    assert len(moves) > 10
    moves.clear()
    arrays_of_their_own()
    theirs = play(backend, arrivals, slots=11)
    for one, other in zip(ours, theirs, strict=True):
        error = other.future.exception(timeout=0)
        assert type(one.future.exception(timeout=0)) is type(error)
        if error is None:
            assert one.future.result(timeout=0).hypotheses == other.future.result(timeout=0).hypotheses


@pytest.mark.parametrize("name", ["plain", "gauss-query-relative", "ssru-below"])
def test_the_past_of_every_kind_of_decoder_moves_with_its_sentence(
    name: str, arrays_of_their_own: Callable[[], None], moves: Moves, tmp_path: Path
) -> None:
    """With full attention, where sentences take entries of the ring in blocks."""
    model = endless(lively_variant(name, loudness=1, ngram=None, **few_layers(name)))
    backend = load_backend(write_graphs(model, tmp_path, ("onnx", "fp32")), "onnx", "fp32", "off")
    lengths = (30, 38, 9, 33, 40, 20, 36, 25)
    ours = of_lengths(backend, lengths)
    assert any(source > target for source, target in moves)
    arrays_of_their_own()
    assert of_lengths(backend, lengths) == ours
    assert [of_lengths(backend, [length])[0] for length in lengths] == ours


def of_lengths(backend: Backend, lengths: Sequence[int]) -> list[tuple[Hypothesis, ...]]:
    """The hypotheses of sentences that begin one after the other and end in another order."""
    return together(backend, [search(length, 3) for length in lengths], slots=8, steps=1)


@settings(max_examples=30, deadline=None)
@given(size=st.integers(1, 4), sizes=st.lists(st.integers(1, 4), max_size=6))
def test_a_step_reads_and_writes_its_first_slots_only(load: LoadBackend, size: int, sizes: list[int]) -> None:
    """`sizes`: of earlier steps. What is in the other slots is neither read nor written."""
    backend = load("onnx", "fp32")
    part, whole = filled(backend, 4), filled(backend, size)
    for state in (part, whole):
        step = backend.bind(state)
        for number in (*sizes, size):
            state.batch_size = min(number, size)
            before = snapshot(state, state.batch_size)
            step()
            for name, values in snapshot(state, state.batch_size).items():
                np.testing.assert_array_equal(values, before[name], name)
            state.tick()
    first = slice(min((*sizes, size)))
    for ours, theirs in zip(vars(part.current).values(), vars(whole.current).values(), strict=True):
        np.testing.assert_array_equal(ours[first], theirs[first])


def filled(backend: Backend, slots: int) -> DecoderState:
    """A state in all of whose slots there are sentences."""
    state = backend.new_state(slots, 2, 16)
    for slot in range(slots):
        source = tuple(range(10 + slot, 14 + 2 * slot))
        state.admit(slot, backend.encode(*pad_ids([(*source, 3)]))[0], 2, 2)
    return state


def snapshot(state: DecoderState, size: int) -> dict[str, Array]:
    """What a step over `size` slots must not write: the other slots of its outputs."""
    assert isinstance(state.memory, HostMemory)
    written = {**state.outputs(state.clock % 2), **state.memory.outputs(state.clock % 2)}
    return {name: values[size:].copy() for name, values in written.items()}


def test_a_batch_that_changes_its_size_needs_no_other_arrays(load: LoadBackend) -> None:
    backend = load("onnx", "fp32")
    engine, states, sizes = new_engine(backend, slots=8), set[int](), set[int]()
    options = [SearchOptions(beam_size=2, max_length=4 + number) for number in range(6)]
    for turn in range(6):  # up to six sentences, and again none
        requests = [SentenceRequest((5, 6, 7, 3), each) for each in options[: turn + 1]]
        engine.queue.put(requests)
        while not engine.is_idle:
            engine.step()
            check_integrity(engine)
            [lane] = engine.lanes.values()
            states.add(id(lane.state))
            sizes.add(lane.state.batch_size)
            assert lane.state.batch_size <= 6
    assert len(states) <= 2  # at first of one slot
    assert sizes == set(range(1, 7))


def test_a_large_batch_is_as_large_as_its_sentences_need(load: LoadBackend) -> None:
    """Its arrays have sixteen slots."""
    engine = new_engine(load("onnx", "fp32"), slots=20)
    options = [SearchOptions(beam_size=2, max_length=1 + number) for number in range(13)]
    engine.queue.put([SentenceRequest((5, 6, 7, 3), each) for each in options])
    sizes, slots = list[int](), set[int]()
    while not engine.is_idle:
        engine.step()
        check_integrity(engine)
        [lane] = engine.lanes.values()
        sizes.append(lane.state.batch_size)
        slots.add(lane.state.slots)
    assert sizes == sorted(sizes, reverse=True)
    assert {13, 12, 11} <= set(sizes)  # one after the other reaches its length
    assert slots == {16}


def test_an_idle_slot_has_no_candidates(load: LoadBackend) -> None:
    """They would be those of the last sentence that was there, for as long as steps leave the slot out."""
    engine = new_engine(load("onnx", "fp32"), slots=8)
    engine.queue.put([SentenceRequest((5, 6, 3), SearchOptions(2, max_length=2 + 4 * number)) for number in range(3)])
    engine.step()
    [lane] = engine.lanes.values()
    run(engine)
    assert lane.num_running == 0
    assert (lane.state.candidates.score == DEAD_SCORE).all()
    assert (lane.state.candidates.token == NO_TOKEN).all()


@pytest.mark.parametrize("kind", ["torchscript", "device"])
def test_other_memory_has_as_many_slots_as_steps_run_over(tiny_artifact: Path, load: LoadBackend, kind: str) -> None:
    backend: Backend = load("torchscript", "fp32")
    if kind == "device":
        backend = OnnxBackend(Artifact.load(tiny_artifact), "fp32", use_shortlist=False, memory_on_device=True)
    engine = new_engine(backend, slots=8)
    engine.queue.put([SentenceRequest((5, 6, 3), SearchOptions(2, max_length=9)) for _ in range(3)])
    engine.step()
    [lane] = engine.lanes.values()
    assert lane.state.batch_size == lane.state.slots == 3
