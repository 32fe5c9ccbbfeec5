"""Slots of a running batch."""

from hypothesis import given
from hypothesis import strategies as st

from server.backends.device import DeviceKind
from server.engine.batch_shape import MAX_SPARE_BYTES, keep_or_round, min_slots, round_up_slots, round_up_source

NEEDED = st.integers(1, 40)


@given(needed=NEEDED, most=NEEDED)
def test_a_small_batch_on_a_cpu_has_no_idle_slots(needed: int, most: int) -> None:
    slots = round_up_slots(needed, most, "cpu")
    assert slots == min(most, needed if needed <= 8 else -(-needed // 8) * 8)


@given(needed=NEEDED, device=st.sampled_from(("cuda", "mps")))
def test_devices_that_record_steps_see_few_shapes(needed: int, device: DeviceKind) -> None:
    slots = round_up_slots(needed, 40, device)
    assert slots in {1, 2, 4, 8, 16, 24, 32, 40}
    assert needed <= slots < max(2 * needed, needed + 8)


@given(needed=NEEDED, current=NEEDED)
def test_a_batch_keeps_its_slots_while_more_than_half_are_needed(needed: int, current: int) -> None:
    slots = keep_or_round(needed, current, round_up_slots(needed, 40, "cpu"))
    assert slots >= needed
    assert (slots == current) or not current // 2 < needed <= current


@given(needed=st.integers(1, 200))
def test_sources_have_room_for_short_sentences(needed: int) -> None:
    assert round_up_source(needed) == max(16, -(-needed // 8) * 8)


@given(size=st.integers(0, MAX_SPARE_BYTES))
def test_small_batches_have_eight_slots(size: int) -> None:
    assert min_slots(size) == (8 if 8 * size <= MAX_SPARE_BYTES else 1)
