"""BLEU and chrF with bootstrap intervals, and paired tests against one row (sacreBLEU)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sacrebleu import BLEU, CHRF
from sacrebleu.significance import PairedTest, Result

RESAMPLES = 1000
METRICS = ("BLEU", "chrF")


@dataclass(frozen=True)
class Quality:
    """A corpus score; half the width of its 95% bootstrap interval; p-value of the paired bootstrap test against the
    reference row, None for that row itself or where there is none. The test is about
    one-sided, in the observed direction."""

    score: float
    half_width: float
    p_value: float | None


def qualities(
    systems: Mapping[str, Sequence[str]], references: Sequence[str], reference_row: str | None
) -> tuple[dict[str, dict[str, Quality]], list[str]]:
    """Row -> metric -> score, and the metrics' signatures (seed and resamples included)."""
    names = sorted(systems, key=lambda name: name != reference_row)  # the first is the baseline of the tests
    test = PairedTest(
        [(name, list(systems[name])) for name in names],
        {"BLEU": BLEU(), "chrF": CHRF()},
        [list(references)],
        test_type="bs",
        n_samples=RESAMPLES,
    )
    signatures, scores = test()
    actual: dict[str, dict[str, Quality]] = {name: {} for name in names}
    # sacreBLEU reports equal systems as significantly different.
    same = {name for name in names if list(systems[name]) == list(systems.get(reference_row or "", ()))}
    for metric, key in zip(METRICS, signatures, strict=True):
        results = [result for result in scores[key] if isinstance(result, Result)]
        for name, result in zip(names, results, strict=True):
            p_value = None
            if reference_row in systems and name != reference_row:
                p_value = 1.0 if name in same else result.p_value
            actual[name][metric] = Quality(result.score, float(result.ci or 0.0), p_value)
    return actual, [f"{metric}: {signature}" for metric, signature in zip(METRICS, signatures.values(), strict=True)]
