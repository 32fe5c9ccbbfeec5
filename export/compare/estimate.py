"""Means with their errors: over sentences or documents, over seeds, and over both."""

import bisect
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
    error, freedom = together([(estimate.error / len(estimates), estimate.freedom) for estimate in estimates])
    return Estimate(value, error, freedom)


def together(sources: Sequence[tuple[float, float]]) -> tuple[float, float]:
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


FREEDOMS = (*range(1, 11), 12, 15, 20, 30, 60)
QUANTILES = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.179, 2.131, 2.086, 2.042, 2.000,
)  # fmt: skip
"""Student's t: between plus and minus this lie 95% (any statistics textbook)."""


def student_t(freedom: float) -> float:
    """At the next smaller number of degrees of freedom that the table has, which errs towards "not resolved"."""
    return QUANTILES[max(bisect.bisect_right(FREEDOMS, freedom) - 1, 0)]


def margin(estimate: Estimate, seed_error: float = 0.0, seed_freedom: float = math.inf) -> float:
    """Half of the 95% interval of a value, over text and seeds: each error at its own degrees of freedom, so that a
    known text does not make up for seeds of which there are two."""
    return math.hypot(student_t(estimate.freedom) * estimate.error, student_t(seed_freedom) * seed_error)
