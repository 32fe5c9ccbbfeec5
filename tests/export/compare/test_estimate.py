"""Means, and errors over text, over seeds and over both."""

import math

import numpy as np
import pytest

from export.compare.estimate import Estimate, margin, mean_estimate, per_token, pooled_spread, student_t


def test_with_sentences_of_one_length_the_error_is_the_usual_one() -> None:
    total = np.array([3.0, 5.0, 10.0, 2.0])
    estimate = per_token(total, np.full(4, 2.0))
    assert estimate.value == pytest.approx(2.5)
    assert estimate.error == pytest.approx((total / 2).std(ddof=1) / 2)


def test_the_error_is_the_spread_over_samples() -> None:
    generator = np.random.default_rng(3)
    estimates = []
    for _ in range(400):
        tokens = generator.integers(1, 40, 100).astype(np.float64)
        estimates.append(per_token(tokens * generator.gamma(2, 1, 100), tokens))
    spread = np.std([estimate.value for estimate in estimates])
    assert np.mean([estimate.error for estimate in estimates]) == pytest.approx(spread, rel=0.1)


def test_one_sentence_says_nothing_of_its_error() -> None:
    assert per_token(np.array([4.0]), np.array([2.0])) == Estimate(2.0, math.inf, 0)


def test_sets_count_the_same_and_their_errors_are_independent() -> None:
    mean = mean_estimate([Estimate(1.0, 0.3), Estimate(2.0, 0.4)])
    assert mean.value == pytest.approx(1.5)
    assert mean.error == pytest.approx(0.25)
    few = mean_estimate([Estimate(1.0, 0.3, 9), Estimate(2.0, 0.4)])
    assert few.freedom == pytest.approx((0.09 + 0.16) ** 2 / (0.09**2 / 9))  # only the first is known badly


def test_the_spread_of_seeds_is_pooled_with_its_degrees_of_freedom() -> None:
    spread = pooled_spread([[1.0, 1.2, 1.1], [2.0, 2.4], [3.0]])
    assert spread is not None
    assert spread.freedom == 3
    assert spread.deviation == pytest.approx(math.sqrt((0.02 + 0.08) / 3))
    assert pooled_spread([[1.0], [2.0]]) is None


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.706), (2, 4.303), (2.9, 4.303), (3, 3.182), (11, 2.228), (59, 2.042), (1e9, 2.0)]
)
def test_t_is_that_of_the_next_smaller_degrees_of_freedom(freedom: float, t: float) -> None:
    assert student_t(freedom) == t


def test_t_covers_19_of_20_samples() -> None:
    generator = np.random.default_rng(1)
    for size in (2, 3, 6):
        samples = generator.normal(size=(20_000, size))
        half = student_t(size - 1) * samples.std(axis=1, ddof=1) / math.sqrt(size)
        assert np.mean(np.abs(samples.mean(axis=1)) < half) == pytest.approx(0.95, abs=0.006)


def test_the_margin_counts_both_sources_of_error() -> None:
    known = Estimate(0.0, 0.1)
    assert margin(known) == pytest.approx(0.2)
    assert margin(Estimate(0.0, 0.1, 13)) == pytest.approx(0.2179)
    assert margin(Estimate(0.0, 0.0), 0.1, 2) == pytest.approx(0.4303)
    assert margin(known, 0.001, 1) == pytest.approx(0.2, rel=0.01)
    assert margin(known, 0.1, 2) == pytest.approx(math.hypot(0.2, 0.4303))
    assert math.isinf(margin(Estimate(0.0, math.inf), 0.1, 2))
    assert margin(Estimate(0.0, 0.0)) == 0


def test_the_margin_covers_19_of_20_differences() -> None:
    """Two variants with two seeds each, and text whose error is known."""
    generator = np.random.default_rng(2)
    covered = []
    for _ in range(4000):
        seeds = generator.normal(scale=0.01, size=(2, 2))
        text = generator.normal(scale=0.005)
        spread = pooled_spread(seeds.tolist())
        assert spread is not None
        difference = seeds[0].mean() - seeds[1].mean() + text
        covered.append(abs(difference) < margin(Estimate(0.0, 0.005), spread.deviation, spread.freedom))
    assert 0.94 < np.mean(covered) < 0.99
