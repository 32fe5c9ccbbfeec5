"""Claims are answered by paired differences, between rows that differ in nothing else."""

from pathlib import Path

import pytest

from export.compare.claims import FAILS, HOLDS, OPEN, Claim, Step, ngram_claims, ngram_groups
from export.compare.likelihood import Estimate
from export.compare.measurements import Measured
from tests.export.compare.checkpoints import measured, row


def ngram_rows(folder: Path, offsets: dict[int | None, float]) -> list[Measured]:
    return [measured(row(folder, f"n{order}", ngram=order), offset) for order, offset in offsets.items()]


def test_differences_far_below_each_rows_own_error_are_resolved(tmp_path: Path) -> None:
    rows = ngram_rows(tmp_path, {None: 0.0, 2: 0.2, 8: 0.1})
    (group,) = ngram_groups(rows)
    assert [order.name for order in group] == ["N=2", "N=8", "full"]
    falls, worst = ngram_claims(group)
    assert (falls.verdict, worst.verdict) == (HOLDS, HOLDS)
    assert [step.label for step in falls.steps] == ["N=2 - N=8", "N=8 - full"]
    assert [step.label for step in worst.steps] == ["N=2 - N=8", "N=2 - full"]
    assert falls.steps[0].difference.value == pytest.approx(0.1, abs=0.03)
    error = rows[0].costs["dev"].estimate.error
    assert 1.96 * error > 0.1
    assert falls.steps[0].difference.error < error / 5


def test_one_rise_makes_the_claim_fail_and_no_difference_leaves_it_open(tmp_path: Path) -> None:
    (group,) = ngram_groups(ngram_rows(tmp_path / "rise", {2: 0.2, 4: 0.0, None: 0.1}))
    falls, worst = ngram_claims(group)
    assert [step.verdict for step in falls.steps] == [HOLDS, FAILS]
    assert (falls.verdict, worst.verdict) == (FAILS, HOLDS)
    (group,) = ngram_groups(ngram_rows(tmp_path / "flat", {3: 0.2, 4: 0.0, None: 0.001}))
    (falls,) = ngram_claims(group)
    assert [step.verdict for step in falls.steps] == [HOLDS, OPEN]
    assert falls.verdict == OPEN


@pytest.mark.parametrize(("value", "verdict"), [(0.2, HOLDS), (0.19, OPEN), (-0.19, OPEN), (-0.2, FAILS)])
def test_a_step_is_resolved_beyond_1_96_errors(value: float, verdict: str) -> None:
    step = Step("a - b", Estimate(value, 0.1))
    assert step.verdict == verdict
    assert Claim("c", (step,)).verdict == verdict


def test_rows_that_differ_in_more_than_n_and_seed_are_not_compared(tmp_path: Path) -> None:
    wide = measured(row(tmp_path, "wide", ngram=4, ffn_dim=128), 0.0)
    assert ngram_groups([*ngram_rows(tmp_path, {2: 0.2}), wide]) == []


def test_seeds_of_one_order_are_averaged_before_the_difference(tmp_path: Path) -> None:
    seeds = [measured(row(tmp_path, f"n2-{seed}", seed, ngram=2), 0.1 * seed, seed=seed) for seed in (1, 2, 3)]
    (group,) = ngram_groups([*seeds, measured(row(tmp_path, "full", ngram=None), 0.0)])
    (step,) = ngram_claims(group)[0].steps
    assert step.difference.value == pytest.approx(0.2, abs=0.03)
