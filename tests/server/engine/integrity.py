"""What holds of an engine after every step."""

from server.backends.state import DEAD_SCORE
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
    assert lane.num_running == len([running for running in lane.running if running is not None])
    if state.capacity < lane.backend.manifest.ring_capacity:
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
    assert rows.parent.min() >= 0
    assert rows.parent.max() < lane.beam
