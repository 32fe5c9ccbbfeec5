"""Claims are answered by paired differences, between rows that differ in nothing else."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from export.compare.claims import FAILS, HOLDS, MISSING, OPEN, TIE, Claim, Step, asked, ngram_claims, ngram_groups
from export.compare.contenders import Contender, families, seed_deviation
from export.compare.likelihood import Estimate
from export.compare.measurements import Measured, SentenceCosts
from export.compare.paper_tables import PAPER_TABLES
from export.compare.papers import PaperClaim, better, equal
from model.training.bundled import all_rows
from tests.export.compare.checkpoints import measured, row


def ngram_rows(folder: Path, offsets: dict[int | None, float]) -> list[Measured]:
    return [measured(row(folder, f"n{order}", ngram=order), offset) for order, offset in offsets.items()]


def value(step: Step) -> float:
    assert step.difference is not None
    return step.difference.value


def contender(name: str, offset: float, seeds: int = 1) -> Contender:
    """Two hundred sentences of ten tokens; the offset in nats per token, with a little noise of its own."""
    noise = np.random.default_rng([round(1e4 * offset)]).normal(size=200)
    nll = np.random.default_rng(0).gamma(2, 1.5, 200) + offset + 0.01 * (noise - noise.mean())
    return Contender(name, {"dev": SentenceCosts(10 * nll, np.full(200, 10.0))}, seeds)


def test_differences_far_below_each_rows_own_error_are_resolved(tmp_path: Path) -> None:
    rows = ngram_rows(tmp_path, {None: 0.0, 2: 0.2, 8: 0.1})
    (group,) = ngram_groups(rows)
    assert [order.name for order in group.orders] == ["N=2", "N=8", "full"]
    worst, falls, to_full = ngram_claims(group, None)
    assert (worst.verdict, falls.verdict, to_full.verdict) == (HOLDS, HOLDS, HOLDS)
    assert [step.label for step in worst.steps] == ["N=2 - N=8", "N=2 - full"]
    assert [step.label for step in falls.steps] == ["N=2 - N=8", "N=8 - full"]
    assert [step.label for step in to_full.steps] == ["N=2 - full", "N=8 - full"]
    assert value(falls.steps[0]) == pytest.approx(0.1, abs=0.03)
    error = rows[0].costs["dev"].estimate.error
    assert 1.96 * error > 0.1
    assert falls.steps[0].difference is not None
    assert falls.steps[0].difference.error < error / 5


def test_one_rise_makes_the_claim_fail_and_no_difference_leaves_it_open(tmp_path: Path) -> None:
    (group,) = ngram_groups(ngram_rows(tmp_path / "rise", {2: 0.2, 4: 0.0, None: 0.1}))
    worst, falls, _ = ngram_claims(group, None)
    assert [step.verdict for step in falls.steps] == [HOLDS, FAILS]
    assert (worst.verdict, falls.verdict) == (HOLDS, FAILS)
    (group,) = ngram_groups(ngram_rows(tmp_path / "flat", {3: 0.2, 4: 0.0, None: 0.001}))
    falls, _ = ngram_claims(group, None)
    assert [step.verdict for step in falls.steps] == [HOLDS, OPEN]
    assert falls.verdict == OPEN


@pytest.mark.parametrize(("difference", "verdict"), [(0.2, HOLDS), (0.19, OPEN), (-0.19, OPEN), (-0.2, FAILS)])
def test_a_step_is_resolved_beyond_1_96_errors(difference: float, verdict: str) -> None:
    step = Step("a - b", Estimate(difference, 0.1))
    assert step.verdict == verdict
    assert Claim("c", (step,)).verdict == verdict


@pytest.mark.parametrize(
    ("difference", "error", "verdict"),
    [(0.0, 0.009, HOLDS), (0.0, 0.011, OPEN), (TIE, 0.001, OPEN), (0.03, 0.001, FAILS), (-0.03, 0.001, FAILS)],
)
def test_a_tie_holds_only_where_the_whole_interval_is_small(difference: float, error: float, verdict: str) -> None:
    assert Step("a - b", Estimate(difference, error), is_tie=True).verdict == verdict


def test_what_seeds_add_can_undo_a_verdict() -> None:
    assert Step("a - b", Estimate(0.2, 0.05)).verdict == HOLDS
    assert Step("a - b", Estimate(0.2, 0.05), seed_error=0.1).verdict == OPEN
    family = {"a": contender("a", 0.1, seeds=2), "b": contender("b", 0.0)}
    claim = asked(better("a is worse", ("a", "b")), "paper", family, deviation=0.04)
    assert claim.steps[0].seed_error == pytest.approx(0.04 * 1.5**0.5)


def test_seed_deviation_is_pooled_over_variants_with_several(tmp_path: Path) -> None:
    rows = [
        measured(row(tmp_path, f"{name}-{seed}", seed, ngram=order), offset, noise=0.0)
        for name, order, seed, offset in [("n2", 2, 1, 0.0), ("n2", 2, 2, 0.2), ("n4", 4, 1, 0.0), ("n4", 4, 2, 0.1)]
    ]
    assert seed_deviation(rows) == pytest.approx(np.sqrt((0.2**2 / 2 + 0.1**2 / 2) / 2), rel=1e-6)
    assert seed_deviation(rows[1:3]) is None


def test_rows_that_differ_in_more_than_n_and_seed_are_not_compared(tmp_path: Path) -> None:
    wide = measured(row(tmp_path, "wide", ngram=4, ffn_dim=128), 0.0)
    assert ngram_groups([*ngram_rows(tmp_path, {2: 0.2}), wide]) == []


def test_seeds_of_one_order_are_averaged_before_the_difference(tmp_path: Path) -> None:
    seeds = [measured(row(tmp_path, f"n2-{seed}", seed, ngram=2), 0.1 * seed, seed=seed) for seed in (1, 2, 3)]
    (group,) = ngram_groups([*seeds, measured(row(tmp_path, "full", ngram=None), 0.0)])
    (step,) = ngram_claims(group, None)[0].steps
    assert value(step) == pytest.approx(0.2, abs=0.03)
    assert group.orders[0].seeds == 3


def test_rows_that_were_not_trained_leave_a_claim_open() -> None:
    family = {"small/full": contender("small/full", 0.1), "small/relative": contender("small/relative", 0.0)}
    known = better("c", ("small/full", "small/relative"))
    half = better("c", ("small/full", "small/relative"), ("small/full", "small/window-all"))
    none = better("c", ("small/n2", "small/n3"))
    claims = [asked(claim, "paper", family, None) for claim in (known, half, none)]
    assert [claim.verdict for claim in claims] == [HOLDS, OPEN, MISSING]
    assert [step.verdict for step in claims[1].steps] == [HOLDS, MISSING]
    assert claims[0].steps[0].label == "full - relative"
    (tie,) = asked(equal("c", ("small/full", "small/relative")), "paper", family, None).steps
    assert tie.verdict == FAILS


def test_a_gain_can_be_compared_with_another_gain() -> None:
    """(b8 - l8) - (b1 - l1)"""
    family = {n: contender(n, offset) for n, offset in {"b8": 0.5, "l8": 0.3, "b1": 0.45, "l1": 0.4}.items()}
    (step,) = asked(PaperClaim("c", ((("b8", "l1"), ("l8", "b1")),)), "paper", family, None).steps
    assert value(step) == pytest.approx(0.15, abs=1e-6)
    assert step.label == "b8 + l1 - l8 - b1"


def test_other_vocabularies_are_other_families(tmp_path: Path) -> None:
    one = row(tmp_path, "one")
    rows = [
        measured(dataclasses.replace(one, bundled=bundled, vocabulary_hash=vocabulary), 0.0)
        for bundled, vocabulary in (("small/n2", "x"), ("small/full", "x"), ("small/n2", "y"), (None, "x"))
    ]
    assert [list(family) for family in families(rows)] == [["small/n2", "small/full"], ["small/n2"]]


def test_every_row_of_a_papers_table_has_a_recipe() -> None:
    known = set(all_rows())
    for paper in PAPER_TABLES:
        assert set(paper.figures) <= known
        assert {len(figures) for figures in paper.figures.values()} == {len(paper.columns)}
        for claim in paper.claims:
            assert {name for step in claim.steps for side in step for name in side} <= known
