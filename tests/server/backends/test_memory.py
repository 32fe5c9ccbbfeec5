"""Copies of slots from one memory to another."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from server.backends.memory import runs


@given(st.lists(st.integers(0, 12), unique=True).map(sorted) | st.lists(st.integers(0, 12)))
def test_runs_name_every_slot_once_in_as_few_parts_as_possible(slots: list[int]) -> None:
    parts = runs(slots)
    named = [(new + index, old + index) for new, old, count in parts for index in range(count)]
    assert named == list(enumerate(slots))
    breaks = sum(following != slot + 1 for slot, following in itertools.pairwise(slots))
    assert len(parts) == (breaks + 1 if slots else 0)
