"""The tables compare only what is comparable."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from export.compare.claims import Claim, Step
from export.compare.contenders import Contrast, families
from export.compare.estimate import Costs, Estimate, margin
from export.compare.measurements import Measured
from export.compare.quality import METRICS, Quality
from export.compare.table import difference_text, estimate_text, overview, quality_table, resolved_text, summary
from tests.export.compare.checkpoints import measured, row


def trained_longer(one: Measured) -> Measured:
    recipe = one.row.recipe
    training = dataclasses.replace(recipe.training, steps=2 * recipe.training.steps)
    return dataclasses.replace(
        one, row=dataclasses.replace(one.row, name="longer", recipe=dataclasses.replace(recipe, training=training))
    )


def test_differences_are_between_rows_that_were_trained_alike(tmp_path: Path) -> None:
    full, short = measured(row(tmp_path, "full", seed=2), 0.0), measured(row(tmp_path, "short", ngram=2), 0.5)
    rows = [
        dataclasses.replace(one, row=dataclasses.replace(one.row, bundled=one.row.name))
        for one in (full, short, trained_longer(short))
    ]
    scores = {one.row.name: dict.fromkeys(METRICS, Quality(20.0, 1.0, 0.25)) for one in rows}
    reference, other, longer = summary(families(rows), rows, scores, "full").splitlines()[2:]
    assert "+0.5" in other
    assert "+0.5" not in longer
    assert "+" not in reference
    _, other, longer = overview(rows, scores, "full").splitlines()[2:]
    assert [text.count("0.250") for text in (other, longer)] == [2, 0]
    assert "20.0 ± 1.0" in longer
    systems = {one.row.name: one for one in rows}
    _, other, longer = quality_table(systems, scores, "full").splitlines()[2:5]
    assert [text.count("0.250") for text in (other, longer)] == [2, 0]


def step(difference: float, error: float = 0.1) -> Step:
    return Step("a - b", Contrast(Estimate(difference, error), 2, 0.0, 0))


@pytest.mark.parametrize(
    ("differences", "text"),
    [
        ([0.5, 0.6, 0.001], "2 of 3, as claimed"),
        ([0.01, 0.02, 0.03], "0 of 3"),
        ([-0.01], "0 of 1"),
        ([-0.5], "1 of 1, against the claim"),
        ([0.5, -0.5, 0.0], "2 of 3: 1 as claimed, 1 against"),
    ],
)
def test_a_difference_that_is_not_resolved_has_no_direction(differences: list[float], text: str) -> None:
    assert resolved_text(Claim("c", tuple(map(step, differences)))) == text


def test_plus_minus_is_half_of_a_95_percent_interval_of_rows_and_of_differences() -> None:
    """Recomputed from documents: of ten of them, by Student's t at nine degrees of freedom."""
    nll, tokens = np.random.default_rng(2).gamma(2, 10, 10), np.full(10, 10.0)
    estimate = Costs(nll, tokens).estimate
    half = 2.262 * np.std(nll / 10, ddof=1) / np.sqrt(10)
    assert estimate_text(estimate) == f"{nll.mean() / 10:.3f} ± {half:.3f}"
    assert margin(estimate) == pytest.approx(half, rel=1e-3)
    assert difference_text(Contrast(estimate, 2, 0.0, 0)) == f"{nll.mean() / 10:+.3f} ± {half:.3f}"
