"""Differences document by document, and the sign test."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from export.compare.documents.findings import difference, sign_test
from export.compare.measurements import SentenceCosts


def costs(offset: float, seed: int = 0) -> dict[str, SentenceCosts]:
    """Forty documents of a hundred tokens."""
    nll = np.random.default_rng(seed).gamma(2, 1.5, 40) + offset
    return {"dev": SentenceCosts(100 * nll, np.full(40, 100.0))}


def test_a_difference_is_known_better_than_what_it_is_between() -> None:
    found = difference([costs(0.2)], [costs(0.1)])
    assert found is not None
    assert found.value == pytest.approx(0.1)
    assert found.error < 1e-9 < costs(0.1)["dev"].estimate.error
    noisy = difference([costs(0.2), costs(0.4)], [costs(0.0, seed=1)])
    assert noisy is not None
    expected = np.mean([costs(0.3)["dev"].estimate.value]) - costs(0.0, seed=1)["dev"].estimate.value
    assert noisy.value == pytest.approx(expected)
    assert noisy.error > 0.1


def test_what_was_not_measured_has_no_difference() -> None:
    assert difference([], [costs(0)]) is None
    assert difference([costs(0)], []) is None
    assert difference([costs(0)], [{"test": costs(0)["dev"]}]) is None


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=12))
def test_the_sign_test_counts_every_way_that_chance_could_go(items: list[tuple[bool, bool]]) -> None:
    gained, lost, p_value = sign_test([a for a, _ in items], [b for _, b in items])
    assert gained == items.count((False, True))
    assert lost == items.count((True, False))
    ways = list(itertools.product((0, 1), repeat=gained + lost))
    as_far = [way for way in ways if abs(2 * sum(way) - len(way)) >= abs(gained - lost)]
    assert p_value == pytest.approx(len(as_far) / len(ways))
