"""The drain timeout: it ends once, and earlier on demand, never later."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.api.serving.drain import Drain

STEPS = st.lists(
    st.tuples(st.sampled_from(("begin", "stop_waiting")), st.floats(0, 20, allow_subnormal=False)), max_size=8
)


@given(timeout=st.floats(0, 30, allow_subnormal=False), steps=STEPS)
def test_a_drain_ends_after_its_timeout_or_at_the_first_hurry(timeout: float, steps: list[tuple[str, float]]) -> None:
    now = 100.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: now)
        drain, end = Drain(timeout), None
        for call, seconds in steps:
            now += seconds
            if call == "begin":
                drain.begin()
                end = now + timeout if end is None else end
            else:
                drain.stop_waiting()
                end = None if end is None else min(end, now)
            assert drain.is_running == (end is not None)
            assert drain.ends_at == end
            assert drain.seconds_left == (0.0 if end is None else max(0.0, end - now))
