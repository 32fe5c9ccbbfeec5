"""The sign test on contrastive items."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from export.compare.context_table import sign_test


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=12))
def test_the_sign_test_counts_every_way_that_chance_could_go(items: list[tuple[bool, bool]]) -> None:
    gained, lost, p_value = sign_test([a for a, _ in items], [b for _, b in items])
    assert gained == items.count((False, True))
    assert lost == items.count((True, False))
    ways = list(itertools.product((0, 1), repeat=gained + lost))
    as_far = [way for way in ways if abs(2 * sum(way) - len(way)) >= abs(gained - lost)]
    assert p_value == pytest.approx(len(as_far) / len(ways))
