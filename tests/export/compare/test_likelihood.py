"""Log-perplexity per sentence."""

import numpy as np
import pytest
import torch

from export.compare.likelihood import sentence_nll
from model.data.batching import Pair
from model.training.train import dev_nll
from model.translation_model import TranslationModel


def some_pairs(count: int = 40) -> list[Pair]:
    generator = np.random.default_rng(0)

    def ids() -> list[int]:
        return [int(value) for value in generator.integers(4, 320, generator.integers(1, 60))]

    return [Pair(ids(), ids()) for _ in range(count)]


def test_sentences_sum_to_the_nll_of_training(tiny_model: TranslationModel) -> None:
    pairs = some_pairs()
    scored = sentence_nll(tiny_model, pairs)
    total, tokens = sum(scored), sum(len(pair.target) + 1 for pair in pairs)
    expected = dev_nll(tiny_model, pairs, torch.device("cpu"))
    tiny_model.eval()
    assert total / tokens == pytest.approx(expected, abs=1e-4)


def test_a_sentence_costs_the_same_in_any_batch_and_keeps_its_place(tiny_model: TranslationModel) -> None:
    pairs = some_pairs()
    together = sentence_nll(tiny_model, pairs)
    alone = [sentence_nll(tiny_model, [pair])[0] for pair in pairs]
    assert together == pytest.approx(alone, abs=1e-3)
    assert len({round(nll, 2) for nll in alone}) > 30
