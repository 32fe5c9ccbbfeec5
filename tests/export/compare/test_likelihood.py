"""Log-perplexity per sentence, and standard errors."""

import numpy as np
import pytest
import torch

from export.compare.likelihood import Estimate, mean_estimate, per_token, sentence_nll
from model.data.batching import Pair
from model.training.train import dev_nll
from model.translation_model import TranslationModel


def some_pairs(count: int = 40) -> list[Pair]:
    generator = np.random.default_rng(0)

    def ids() -> list[int]:
        return [int(value) for value in generator.integers(4, 320, generator.integers(1, 60))]

    return [Pair(ids(), ids()) for _ in range(count)]


def test_sentences_add_up_to_what_training_reports(tiny_model: TranslationModel) -> None:
    pairs = some_pairs()
    scored = sentence_nll(tiny_model, pairs)
    total, tokens = (sum(column) for column in zip(*scored, strict=True))
    assert [count for _, count in scored] == [len(pair.target) + 1 for pair in pairs]
    expected = dev_nll(tiny_model, pairs, torch.device("cpu"))
    tiny_model.eval()
    assert total / tokens == pytest.approx(expected, abs=1e-4)


def test_a_sentence_costs_the_same_in_any_batch_and_keeps_its_place(tiny_model: TranslationModel) -> None:
    pairs = some_pairs()
    together = [nll for nll, _ in sentence_nll(tiny_model, pairs)]
    alone = [sentence_nll(tiny_model, [pair])[0][0] for pair in pairs]
    assert together == pytest.approx(alone, abs=1e-3)
    assert len({round(nll, 2) for nll in alone}) > 30


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
    assert per_token(np.array([4.0]), np.array([2.0])) == Estimate(2.0, float("inf"))


def test_sets_count_the_same_and_their_errors_are_independent() -> None:
    mean = mean_estimate([Estimate(1.0, 0.3), Estimate(2.0, 0.4)])
    assert mean.value == pytest.approx(1.5)
    assert mean.error == pytest.approx(0.25)
