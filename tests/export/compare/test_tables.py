"""The tables compare only what is comparable."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from export.compare.claims import Claim, Step
from export.compare.conditions import ANOTHERS, WITH, WITHOUT
from export.compare.context_table import contrastive_table
from export.compare.estimate import Costs, Estimate, margin
from export.compare.measurements import Measured
from export.compare.quality import METRICS, Quality
from export.compare.tables import difference_text, estimate_text, overview, quality_table, resolved_text, summary
from export.compare.variants import Contrast, families
from model.data.items import ContrastiveItem
from tests.export.compare.checkpoints import measured, row


def trained_longer(entry: Measured) -> Measured:
    recipe = entry.row.recipe
    training = dataclasses.replace(recipe.training, steps=2 * recipe.training.steps)
    return dataclasses.replace(
        entry, row=dataclasses.replace(entry.row, name="longer", recipe=dataclasses.replace(recipe, training=training))
    )


def test_differences_are_between_rows_that_were_trained_alike(tmp_path: Path) -> None:
    full, short = measured(row(tmp_path, "full", seed=2), 0.0), measured(row(tmp_path, "short", ngram=2), 0.5)
    rows = [
        dataclasses.replace(item, row=dataclasses.replace(item.row, bundled=item.row.name))
        for item in (full, short, trained_longer(short))
    ]
    scores = {item.row.name: dict.fromkeys(METRICS, Quality(20.0, 1.0, 0.25)) for item in rows}
    result = columns(summary(families(rows), rows, scores, "full"))
    assert result["variant"] == ["full", "short", "longer"]
    assert [text[:5] for text in result["minus full"]] == ["-", "+0.50", "-"]
    own, *others = map(float, result["log-perplexity"])
    assert others == pytest.approx([own + 0.5] * 2, abs=0.02)
    result = columns(overview(rows, scores, "full"))
    assert result["row"] == ["full", "short", "longer"]
    for metric in METRICS:
        assert result[metric] == ["20.0 ± 1.0"] * 3
    assert result["p against full"][1:] == ["0.250", "-"]
    systems = {item.row.name: item for item in rows}
    result = columns(quality_table(systems, scores, "full"))
    assert result["p against full"][1:3] == ["0.250", "-"]


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


@pytest.mark.parametrize("more", [0.125, 0.25, 0.5])
def test_a_difference_has_the_sign_and_the_size_of_its_row_less_the_reference(more: float, tmp_path: Path) -> None:
    rows = [
        dataclasses.replace(item, row=dataclasses.replace(item.row, bundled=item.row.name))
        for item in (
            measured(row(tmp_path, "full"), 0.0, noise=0.0),
            measured(row(tmp_path, "short", ngram=2), more, noise=0.0),
        )
    ]
    result = columns(summary(families(rows), rows, {}, "full"))
    assert result["minus full"][1].startswith(f"{more:+.3f} ± 0.000")
    reversed_ = columns(summary(families(rows), rows, {}, "short"))
    assert reversed_["minus short"][0].startswith(f"{-more:+.3f} ± 0.000")


def test_items_gained_and_lost_are_those_against_no_context(tmp_path: Path) -> None:
    items = [ContrastiveItem("s", "r", ("w",), (), (), (("gender", "m"),)) for _ in range(10)]
    without = [True] * 4 + [False] * 6
    right = {WITHOUT: without, WITH: [False, *without[1:6], *[True] * 4], ANOTHERS: without}
    first = dataclasses.replace(measured(row(tmp_path, "full"), 0.0), right={"items": right})
    result = columns(contrastive_table([first], items, "items"))
    assert result["row"] == [f"full, {condition}" for condition in (WITHOUT, WITH, ANOTHERS)]
    assert [text.partition(" (")[0] for text in result["all (10)"]] == ["40.0%", "70.0%", "40.0%"]
    assert [text.partition(",")[0] for text in result["items gained and lost"]] == ["-", "+4 -1", "+0 -0"]


def columns(text: str) -> dict[str, list[str]]:
    """The cells of a table by their heads; of two columns of one head the last."""
    head, _, *lines = ([cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines())
    return {name: [line[place] for line in lines] for place, name in enumerate(head)}
