"""Rings with full attention hold the past of every live row, although rows write entries again."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.backends.arrays import Bools
from server.backends.base import Backend
from server.backends.entry_blocks import BLOCK, FIRST
from server.backends.load import load_backend
from server.backends.state import DEAD_SCORE, DecoderState
from tests.graphs import write_graphs
from tests.models import lively_model, tiny_config

MOST = 90
Past = tuple[tuple[int, int], ...]
"""A row's past: the position and the row of each step."""


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Backend:
    model = lively_model(tiny_config(ngram=None, max_length=MOST))
    return load_backend(write_graphs(model, tmp_path_factory.mktemp("blocks"), ("onnx", "fp32")), "onnx", "fp32")


@dataclass
class Ring:
    """The slow reference of a slot: what its entries hold, and the past of each row."""

    held: dict[int, tuple[int, int]] = field(default_factory=dict)
    past: list[Past] = field(default_factory=list)


def step(state: DecoderState, rings: list[Ring], random: np.random.Generator) -> None:
    """What a graph does to rows; rows of random live parents follow, of which some are dead."""
    rows, following = state.current, state.following
    inherited = np.take_along_axis(rows.ancestry, rows.parent[:, :, None], 1)
    following.ancestry[:] = inherited & state.kept_key | state.own_key
    for slot, ring in enumerate(rings):
        written = state.write_index[slot, :, 0, 2].tolist()
        position = int(state.position[slot])
        assert max(written) < state.num_entries[0] <= (position_of_furthest(state) + 1) * state.beam
        assert max(written) < (position + 1) * state.beam, "graphs of earlier versions read no further"
        for row, entry in enumerate(written):
            ring.held[entry] = (position, row)
        before = ring.past or [()] * state.beam
        ring.past = [(*before[parent], (position, row)) for row, parent in enumerate(rows.parent[slot].tolist())]
    for slot in range(len(rings)):
        live = np.flatnonzero(rows.score[slot] > DEAD_SCORE / 2)
        following.parent[slot] = random.choice(live if len(live) else state.beam, state.beam)
        following.score[slot] = np.where(random.random(state.beam) < 0.8, 0, DEAD_SCORE)
        following.score[slot, 0] = 0 if len(live) else DEAD_SCORE


def position_of_furthest(state: DecoderState) -> int:
    """Entries are counted for a whole block once a slot takes free ones."""
    furthest = int(state.position.max())
    return furthest if furthest < FIRST else furthest // BLOCK * BLOCK + BLOCK - 1


def check(state: DecoderState, rings: list[Ring], alive: Bools) -> None:
    ancestry = state.current.ancestry
    for slot, ring in enumerate(rings):
        for row in np.flatnonzero(alive[slot]).tolist():
            parent = int(state.current.parent[slot, row])
            entries = np.flatnonzero(ancestry[slot, parent]).tolist()
            assert max(entries) < state.num_entries[0]
            assert sorted(ring.held[entry] for entry in entries) == sorted(ring.past[parent])


@settings(max_examples=25)
@given(beam=st.integers(2, 5), seed=st.integers(0, 2**32 - 1), arrivals=st.lists(st.integers(0, 30), max_size=3))
def test_live_rows_keep_their_past(backend: Backend, beam: int, seed: int, arrivals: list[int]) -> None:
    """Slots begin at different times and move to other states; rings grow when they lack room."""
    random, slots = np.random.default_rng(seed), 1 + len(arrivals)
    source = backend.encode(np.array([[9, 8, 3]]), np.ones((1, 3), np.int32))[0]
    state = backend.new_state(slots, beam, 8, capacity=32)
    assert state.reuses_entries
    rings = [Ring() for _ in range(slots)]
    state.admit(0, source, 2, beam)
    for clock in range(MOST - 1):
        for slot, arrival in enumerate(arrivals, 1):
            if arrival == clock:
                state.admit(slot, source, 2, beam)
                rings[slot] = Ring()
        if state.lacks_room:
            assert any(len(live) + BLOCK * beam > state.capacity * beam for live in live_nodes(state, rings))
        if state.lacks_room or random.random() < 0.1:
            longer = backend.new_state(slots, beam, 8, capacity=min(MOST, state.capacity + 16 * state.lacks_room))
            longer.copy_slots(state, range(slots))
            state = longer
        step(state, rings, random)
        alive = (state.following.score > DEAD_SCORE / 2) & (state.is_running[:, None] > 0)
        state.tick()
        check(state, rings, alive)


def live_nodes(state: DecoderState, rings: list[Ring]) -> list[set[tuple[int, int]]]:
    """What the live rows of each slot attend to."""
    rows = state.current
    return [
        {node for row in np.flatnonzero(rows.score[slot] > DEAD_SCORE / 2) if ring.past
         for node in ring.past[rows.parent[slot, row]]}
        for slot, ring in enumerate(rings)
    ]  # fmt: skip


def test_only_rows_that_attend_to_all_of_their_past_reuse_entries(backend: Backend, tmp_path: Path) -> None:
    assert not backend.new_state(2, 1, 8).reuses_entries
    window = load_backend(write_graphs(lively_model(tiny_config(ngram=4)), tmp_path, ("onnx", "fp32")), "onnx", "fp32")
    assert not window.new_state(2, 4, 8).reuses_entries
