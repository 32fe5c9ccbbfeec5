"""Whatever is reported, the fraction never falls and reaches 1, and the estimate is a time."""

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.api.serving.file_progress import FileProgress

COUNTS = st.integers(0, 10**6)
REPORTS = st.lists(st.tuples(COUNTS, COUNTS, st.sampled_from([0.0, 1e-6, 0.5, 3600.0])), max_size=20)


@settings(deadline=None, max_examples=50)
@given(REPORTS)
def test_the_fraction_never_falls_and_the_estimate_is_finite(reports: list[tuple[int, int, float]]) -> None:
    now, progress, last = 100.0, FileProgress(), 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: now)
        for done, total, seconds in reports:
            progress.update(done, total)
            now += seconds
            assert last <= progress.fraction <= 1
            assert 0 <= progress.done <= progress.total or not progress.total
            last, left = progress.fraction, progress.seconds_left
            assert (left is None) == (progress.done == 0)
            assert left is None or (math.isfinite(left) and left >= 0)
            assert last < 1 or left == 0
        progress.finish()
    assert (progress.fraction, progress.seconds_left, progress.done) == (1, 0, progress.total)


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 500), st.integers(1, 200), st.floats(0.01, 100, allow_subnormal=False))
def test_at_an_even_speed_the_estimate_is_right(total: int, batch: int, seconds: float) -> None:
    now, progress = 0.0, FileProgress()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: now)
        for done in [*range(0, total, batch), total]:
            now = seconds * done
            progress.update(done, total)
            assert progress.fraction == done / total
            assert not done or progress.seconds_left == pytest.approx(seconds * (total - done))
