"""Word translation probabilities against plain loops."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from model.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from model.data.batching import Pair
from model.data.lexicon import NULL_ID, Lexicon, train_lexicon

PAIRS = [Pair([4, 5], [7, 8]), Pair([4, 6], [7, 9]), Pair([5], [8]), Pair([6, 6, 4], [9, 7, 7]), Pair([10], [11])]


def slow_model_one(pairs: list[Pair], iterations: int) -> dict[tuple[int, int], float]:
    """Brown et al. 1993, Eq. 14 to 16, one pair and one word after the other."""
    chance: dict[tuple[int, int], float] = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        counts: dict[tuple[int, int], float] = defaultdict(float)
        for pair in pairs:
            source = {NULL_ID, *pair.source}
            for target in pair.target:
                total = sum(chance[word, target] for word in source)
                for word in source:
                    counts[word, target] += chance[word, target] / total
        totals: dict[int, float] = defaultdict(float)
        for (word, _), count in counts.items():
            totals[word] += count
        chance = defaultdict(float, {key: count / totals[key[0]] for key, count in counts.items()})
    return chance


def test_equals_plain_loops() -> None:
    lexicon, expected = train_lexicon(PAIRS, 12, translations=3, iterations=3), slow_model_one(PAIRS, 3)
    for word in (NULL_ID, 4, 5, 6, 10):
        for target, chance in zip(lexicon.words[word], lexicon.probability[word], strict=True):
            assert chance == pytest.approx(expected[word, int(target)], abs=1e-3)
    assert [lexicon.words[word][0] for word in (4, 5, 10)] == [7, 8, 11]


def test_words_by_frequency_are_those_that_can_be_chosen() -> None:
    order = train_lexicon(PAIRS, 12, translations=3).by_frequency.tolist()
    assert order[:3] == [EOS_ID, 7, 8]
    assert sorted(order) == sorted(set(range(12)) - {PAD_ID, UNK_ID, BOS_ID})


def test_is_the_same_after_a_file(tmp_path: Path) -> None:
    lexicon = train_lexicon(PAIRS, 12, translations=3)
    lexicon.save(tmp_path / "lexicon.npz")
    again = Lexicon.load(tmp_path / "lexicon.npz")
    for name in ("words", "probability", "by_frequency"):
        np.testing.assert_array_equal(getattr(again, name), getattr(lexicon, name))
    first = (tmp_path / "lexicon.npz").read_bytes()
    again.save(tmp_path / "lexicon.npz")
    assert (tmp_path / "lexicon.npz").read_bytes() == first


@pytest.mark.parametrize("vocabulary", [40_000, 70_000])
def test_a_large_vocabulary_gives_what_a_small_one_gives(vocabulary: int) -> None:
    """Above what a table of all pairs holds, and above 65,536 words, only pairs of the text are counted."""
    far = vocabulary - 12
    moved = [Pair(*([word + far for word in side] for side in (pair.source, pair.target))) for pair in PAIRS]
    small, large = train_lexicon(PAIRS, 12, translations=3), train_lexicon(moved, vocabulary, translations=3)
    for word in (4, 5, 6, 10):
        chances = large.probability[word + far]
        assert chances.tolist() == pytest.approx(small.probability[word].tolist(), abs=1e-3)
        kept = chances > 0
        assert (large.words[word + far][kept] - far).tolist() == small.words[word][kept].tolist()
    assert not large.probability[4:far].any()
    assert large.by_frequency.tolist()[:5] == [EOS_ID, *(word + far for word in small.by_frequency.tolist()[1:5])]
    assert len({*large.by_frequency.tolist()}) == vocabulary - 3
