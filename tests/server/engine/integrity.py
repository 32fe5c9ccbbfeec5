"""What holds of an engine after every step."""

import numpy as np

from server.backends.arrays import Bools
from server.backends.state import DEAD_SCORE, DecoderState
from server.engine.engine import Engine
from server.engine.lane import Lane


def check_integrity(engine: Engine) -> None:
    """Raise AssertionError if slots, lanes and counts disagree."""
    short = sum(lane.num_running for kind, lane in engine.lanes.items() if kind.is_short)
    assert short <= engine.slots
    assert engine.num_running <= engine.slots + min(short, engine.short_share.num_spare_slots)
    running = [sentence for lane in engine.lanes.values() for sentence in lane.running if sentence is not None]
    requests = {id(running_sentence.sentence.request) for running_sentence in running}
    assert len(running) == len(requests), "a sentence has two slots"
    assert engine.queue.in_flight >= len(running) + len(engine.encoded), "a sentence is not counted as in flight"
    for sentence in running:
        assert not sentence.sentence.request.future.done(), "a resolved sentence holds a slot"
    for lane in engine.lanes.values():
        check_lane(lane)


def check_lane(lane: Lane) -> None:
    """Raise AssertionError if slots, sentences and state disagree."""
    state = lane.state
    assert len(lane.running) == state.slots <= lane.max_slots
    assert state.batch_size <= state.slots
    assert not any(lane.running[state.batch_size :]), "steps leave a running sentence out"
    assert lane.num_running == len([running for running in lane.running if running is not None])
    if state.capacity < lane.backend.manifest.ring_capacity and not state.reuses_entries:
        assert state.position.max() <= state.capacity, "a row has overwritten its own past"
    rows = state.current
    for slot, running in enumerate(lane.running):
        live = rows.score[slot] > DEAD_SCORE / 2
        assert bool(state.is_running[slot]) == (running is not None)
        if running is None:
            assert not live.any(), f"free slot {slot} has live rows"
            assert state.position[slot] == 0
        else:
            size = running.sentence.request.options.beam_size
            assert live[0], f"slot {slot} runs without a live row"
            assert not live[size:].any(), f"slot {slot} has more rows than its beam size {size}"
            assert state.position[slot] == state.clock - running.first_clock < lane.max_target_length
            assert state.source_keep[slot].sum() == running.sentence.content.length
            check_past(state, slot, live)
    assert rows.parent.min() >= 0
    assert rows.parent.max() < lane.beam


def check_past(state: DecoderState, slot: int, live: Bools) -> None:
    """Raise AssertionError if a live row of a slot has lost or gained entries of its past, or will lose one."""
    if not state.current.ancestry.size:
        return  # the backend's memory has it
    past = state.current.ancestry[slot, state.current.parent[slot, live]]
    position = int(state.position[slot])
    length = position if state.reuses_entries else min(position, state.capacity)
    assert (past.sum(1) == length).all(), "a row has lost a part of its past"
    if state.reuses_entries and slot not in state.slots_without_room():
        written = state.write_index[slot, :, 0, 2]
        assert len(set(written.tolist())) == state.beam, "two rows write the same entry"
        assert not past[:, written].any(), "a row overwrites what another one attends to"
        read = np.flatnonzero(past.any(0)).max(initial=-1)
        assert max(read, written.max()) < state.num_entries[0] <= past.shape[1]
