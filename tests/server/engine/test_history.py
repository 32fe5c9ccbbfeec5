"""The history of a lane against lists that grow."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from server.backends.state import Rows
from server.engine.history import Choices, History

LENGTH, BEAM = 5, 2


def rows(slots: int, number: int) -> Rows:
    """Rows whose tokens and parents are all different, and other ones for every number."""
    chosen = Rows.empty(slots, BEAM, 1)
    chosen.token[:] = np.arange(slots * BEAM).reshape(slots, BEAM) + 100 * number
    chosen.parent[:] = chosen.token + 50
    return chosen


@given(
    start=st.integers(0, 12),
    before=st.integers(0, LENGTH),
    after=st.integers(0, LENGTH),
    slots=st.integers(1, 4),
    data=st.data(),
)
def test_slots_move_with_all_that_they_chose(
    start: int, before: int, after: int, slots: int, data: st.DataObject
) -> None:
    after = min(after, LENGTH - before)
    keep = data.draw(st.lists(st.integers(0, slots - 1), unique=True, min_size=1))
    history, expected = History(LENGTH, slots, BEAM), dict[int, list[Choices]]({slot: [] for slot in range(slots)})
    for clock in range(start, start + before):
        chosen = rows(slots, clock)
        history.add(clock, chosen)
        for slot, choices in expected.items():
            choices.append((chosen.token[slot].tolist(), chosen.parent[slot].tolist()))
    moved = History(LENGTH, len(keep) + 1, BEAM)
    moved.copy_slots(history, keep, start, start + before)
    end = start + before + after
    for clock in range(start + before, end):
        chosen = rows(len(keep) + 1, clock)
        moved.add(clock, chosen)
        for here, there in enumerate(keep):
            expected[there].append((chosen.token[here].tolist(), chosen.parent[here].tolist()))
    for here, there in enumerate(keep):
        assert moved.of(here, start, end) == expected[there]
