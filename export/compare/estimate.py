"""Means with their errors: over sentences or documents, over seeds, and over both."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean and its standard error over units of text; `freedom`: degrees of freedom of that error."""

    value: float
    error: float
    freedom: float = math.inf

    @property
    def perplexity(self) -> "Estimate":
        """The perplexity, where this is a log-perplexity."""
        return Estimate(math.exp(self.value), math.exp(self.value) * self.error, self.freedom)


@dataclass(frozen=True)
class Costs:
    """Negative log-likelihood and tokens of each unit of one set: of each document, or of each sentence where the set
    has no documents. Sentences of one document are not independent of each other."""

    nll: Array
    tokens: Array

    @property
    def estimate(self) -> Estimate:
        return per_token(self.nll, self.tokens)


@dataclass(frozen=True)
class SeedSpread:
    """Standard deviation from seed to seed, and the degrees of freedom that it was estimated with."""

    deviation: float
    freedom: int


def per_token(total: Array, tokens: Array) -> Estimate:
    """sum(total) / sum(tokens), and its standard error when units are drawn at random (ratio estimator)."""
    value = float(total.sum() / tokens.sum())
    residual = total - value * tokens
    count = len(total)
    if count < 2:
        return Estimate(value, math.inf, 0)
    error = float(np.sqrt(count / (count - 1) * (residual**2).sum()) / tokens.sum())
    return Estimate(value, error, count - 1)


def mean_estimate(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of estimates from independent sets of text, every set counting the same."""
    value = sum(estimate.value for estimate in estimates) / len(estimates)
    error, freedom = combined([(estimate.error / len(estimates), estimate.freedom) for estimate in estimates])
    return Estimate(value, error, freedom)


def combined(sources: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Independent errors, each with its degrees of freedom -> the error of their sum, and its degrees of freedom by
    Welch and Satterthwaite."""
    variance = sum(error**2 for error, _ in sources)
    if variance == 0 or math.isinf(variance):
        return math.sqrt(variance), min(freedom for _, freedom in sources)
    per_freedom = sum(error**4 / freedom for error, freedom in sources if error)
    return math.sqrt(variance), variance**2 / per_freedom if per_freedom else math.inf


def pooled_spread(groups: Sequence[Sequence[float]]) -> SeedSpread | None:
    """The spread of values that differ in their seed alone within each group; None where no group has two."""
    squares = sum(float(np.var(values) * len(values)) for values in groups if len(values) > 1)
    freedom = sum(len(values) - 1 for values in groups if len(values) > 1)
    return SeedSpread(math.sqrt(squares / freedom), freedom) if freedom else None


def student_p(t: float, freedom: float) -> float:
    """The two-sided p-value of Student's t: how probable a value as far from 0 is. At infinitely many degrees of
    freedom that of the normal distribution."""
    if math.isinf(freedom):
        return math.erfc(abs(t) / math.sqrt(2))
    return _beta(freedom / (freedom + t * t), freedom / 2, 0.5)


def _beta(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function I_x(a, b), by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly
        return 1 - _beta(1 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    fraction, c, d = 1.0, 1.0, 0.0
    for step in range(400):
        m = step // 2
        if step == 0:
            numerator = 1.0
        elif step % 2 == 0:
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / ((1 + numerator * d) or TINY)
        c = (1 + numerator / c) or TINY
        fraction *= c * d
        if abs(1 - c * d) < 1e-12:
            break
    return math.exp(log_front) * (fraction - 1) / a


TINY = 1e-30
ALPHA = 0.05
"""The share of true null hypotheses that a verdict rejects, at most."""


@functools.cache
def student_t(freedom: float, alpha: float = ALPHA) -> float:
    """The critical value of Student's t: a share of `alpha` lies outside of plus and minus this value. By Newton's
    method on the logarithms of t and p, where p is concave, so that all steps but the first come from one side."""
    t = 1.0
    longest = 10.0 if freedom < 30 else math.log(2)  # beyond light tails, p is too small for a float
    for _ in range(100):
        p = student_p(t, freedom)
        step = math.log(p / alpha) * p / (2 * t * _density(t, freedom))
        t *= math.exp(min(step, longest))
        if abs(step) < 1e-12:
            break
    return t


def _density(t: float, freedom: float) -> float:
    """Student's probability density."""
    if math.isinf(freedom):
        return math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
    log_front = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    return math.exp(log_front - (freedom + 1) / 2 * math.log1p(t * t / freedom))


def margin(estimate: Estimate, seed_error: float = 0.0, seed_freedom: float = math.inf, alpha: float = ALPHA) -> float:
    """Half of the interval of a value (95%), over text and seeds: each error at its own degrees of freedom, so that
    much text does not compensate for few seeds."""
    over_text = student_t(estimate.freedom, alpha) * estimate.error if math.isfinite(estimate.error) else math.inf
    return math.hypot(over_text, student_t(seed_freedom, alpha) * seed_error)


def p_value(value: float, estimate: Estimate, seed_error: float = 0.0, seed_freedom: float = math.inf) -> float:
    """The two-sided p-value of `value`, which has the errors of `estimate` and of seeds: the least alpha at which the
    interval of `margin` excludes 0."""
    if value == 0 or math.isinf(estimate.error):
        return 1.0
    if not seed_error and estimate.error:
        return student_p(value / estimate.error, estimate.freedom)
    low, high = -50.0, 0.0  # log10
    for _ in range(32):
        middle = (low + high) / 2
        resolved = abs(value) > margin(estimate, seed_error, seed_freedom, 10**middle)
        low, high = (low, middle) if resolved else (middle, high)
    return float(10**high)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number (Holm 1979): if no effect is real, the probability that any corrected value
    is below alpha is at most alpha, also for dependent tests."""
    corrected, largest = [1.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected
