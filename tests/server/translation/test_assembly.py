"""Figures of an outcome over all of its sentences."""

from hypothesis import given
from hypothesis import strategies as st

from server.engine.request import SentenceResult, Timings
from server.translation.assembly import largest_timings

SECONDS = st.floats(0, 10, allow_subnormal=False)


@given(st.lists(st.tuples(SECONDS, SECONDS, SECONDS), max_size=5))
def test_each_timing_is_the_largest_of_all_sentences(timings: list[tuple[float, float, float]]) -> None:
    results = [SentenceResult((), Timings(*seconds)) for seconds in timings]
    columns = list(zip(*timings, strict=True)) or [(0.0,)] * 3
    assert largest_timings(results) == Timings(*map(max, columns))
