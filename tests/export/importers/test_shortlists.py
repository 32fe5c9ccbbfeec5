"""Shortlists from lists of translations without probabilities."""

import dataclasses

from export.importers.shortlists import plan_of
from model.config import ModelConfig

CONFIG = ModelConfig(4001, d_model=64, ngram=None, pad_id=4000, unk_id=1, bos_id=4000, eos_id=0)


def test_a_plan_lists_what_the_file_lists_and_the_word_itself() -> None:
    plan = plan_of([[word % 7 + 2000] for word in range(4000)], CONFIG)
    assert plan is not None
    assert plan.frequent.tolist() == [0, *range(2, 257)]
    for word in (5, 3999):
        assert plan.lists.row(word) == dict.fromkeys((word, word % 7 + 2000), 1)
    assert plan_of([[2]], dataclasses.replace(CONFIG, vocab_size=59, pad_id=58, bos_id=58)) is None


def test_words_that_all_sentences_may_need_are_on_every_list() -> None:
    everywhere = [1, *range(3000, 3300)]  # UNK is on none
    separate = dataclasses.replace(CONFIG, source_embedding="separate", source_vocab_size=3)
    plan = plan_of([[5], [], [*range(4000)]], separate, everywhere)
    assert plan is not None
    assert plan.frequent.tolist() == [0, *range(2, 21), *range(3000, 3300)]
    assert len(plan.lists.row(2)) == plan.num_extra  # a list that is as long as the vocabulary takes no more
