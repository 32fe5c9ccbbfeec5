"""BLEU and chrF with intervals and paired tests."""

import pytest
import sacrebleu

from export.compare.quality import qualities

REFERENCES = [f"the {noun} is {state} today , said number {n} of them" for n, (noun, state) in enumerate(
    (noun, state) for noun in ("house", "river", "man", "book", "train") for state in ("old", "new", "cold", "red")
)]  # fmt: skip
GOOD = [text.replace("today", "now") if n % 3 == 0 else text for n, text in enumerate(REFERENCES)]
BAD = [text.replace("is", "was") if n % 5 else text for n, text in enumerate(GOOD)]


def test_scores_are_sacrebleus_and_a_clear_difference_is_found() -> None:
    result, signatures = qualities({"bad": BAD, "full": GOOD, "same": GOOD}, REFERENCES, "full")
    assert result["full"]["BLEU"].score == pytest.approx(sacrebleu.corpus_bleu(GOOD, [REFERENCES]).score)
    assert result["bad"]["chrF"].score == pytest.approx(sacrebleu.corpus_chrf(BAD, [REFERENCES]).score)
    assert result["full"]["BLEU"].p_value is None
    assert result["bad"]["BLEU"].p_value is not None
    assert result["bad"]["BLEU"].p_value < 0.01
    assert result["same"]["BLEU"].p_value == 1
    assert 0.5 < result["full"]["BLEU"].half_width < 15
    assert "nrefs:1|bs:1000|seed:" in signatures[0]
    assert signatures[1].startswith("chrF: ")


def test_without_the_reference_row_nothing_is_tested_but_everything_scored() -> None:
    result, _ = qualities({"bad": BAD, "good": GOOD}, REFERENCES, "full")
    assert {quality.p_value for scores in result.values() for quality in scores.values()} == {None}
    assert result["good"]["BLEU"].score > result["bad"]["BLEU"].score


def test_intervals_are_the_same_in_every_run() -> None:
    runs = [qualities({"bad": BAD, "full": GOOD}, REFERENCES, "full") for _ in range(2)]
    assert runs[0] == runs[1]
