"""Means, and errors over text, over seeds and over both."""

import math

import numpy as np
import pytest

from export.compare.estimate import (
    Estimate,
    holm,
    margin,
    mean_estimate,
    p_value,
    per_token,
    pooled_spread,
    student_p,
    student_t,
)


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


def test_one_sentence_has_no_error_estimate() -> None:
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
    ("freedom", "t"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (12, 2.179), (36, 2.028), (60, 2.000), (math.inf, 1.960)],
)
def test_t_is_that_of_the_textbooks(freedom: float, t: float) -> None:
    assert student_t(freedom) == pytest.approx(t, abs=5e-4)
    assert student_p(t, freedom) == pytest.approx(0.05, abs=2e-4)


@pytest.mark.parametrize(
    ("t", "freedom", "p"), [(2.576, math.inf, 0.01), (9.925, 2, 0.01), (3.169, 10, 0.01), (0.7, 1, 0.6112), (0, 7, 1)]
)
def test_p_values_are_those_of_the_textbooks(t: float, freedom: float, p: float) -> None:
    assert student_p(t, freedom) == pytest.approx(p, rel=2e-3)
    assert student_p(-t, freedom) == student_p(t, freedom)


def test_p_is_the_least_alpha_whose_interval_leaves_out_nothing() -> None:
    """Whatever the two errors are; with one of them it is Student's."""
    for value, error, seed_error, freedom in ((0.3, 0.1, 0.05, 2), (0.02, 0.009, 0.0, 1), (0.01, 0.001, 0.002, 12)):
        result = Estimate(value, error, 40)
        p = p_value(value, result, seed_error, freedom)
        assert margin(result, seed_error, freedom, p * 1.01) < value < margin(result, seed_error, freedom, p * 0.99)
    assert p_value(0.3, Estimate(0.3, 0.1, 10)) == pytest.approx(student_p(3, 10))
    assert p_value(0.3, Estimate(0.3, 0.0), 0.1, 2) == pytest.approx(student_p(3, 2), rel=1e-4)
    assert p_value(0.0, Estimate(0.0, 0.0)) == 1
    assert p_value(1.0, Estimate(1.0, math.inf, 0)) == 1


def test_holm_is_that_of_its_definition() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.04]) == [0.04]
    assert holm([]) == []


def test_t_covers_19_of_20_samples() -> None:
    generator = np.random.default_rng(1)
    for size in (2, 3, 6):
        samples = generator.normal(size=(20_000, size))
        half = student_t(size - 1) * samples.std(axis=1, ddof=1) / math.sqrt(size)
        assert np.mean(np.abs(samples.mean(axis=1)) < half) == pytest.approx(0.95, abs=0.006)


def test_the_margin_counts_both_sources_of_error() -> None:
    known = Estimate(0.0, 0.1)
    assert margin(known) == pytest.approx(0.196, rel=1e-3)
    assert margin(Estimate(0.0, 0.1, 13)) == pytest.approx(0.2160, rel=1e-3)
    assert margin(Estimate(0.0, 0.0), 0.1, 2) == pytest.approx(0.4303, rel=1e-3)
    assert margin(known, 0.001, 1) == pytest.approx(0.196, rel=0.01)
    assert margin(known, 0.1, 2) == pytest.approx(math.hypot(0.196, 0.4303), rel=1e-3)
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
