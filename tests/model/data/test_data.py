"""Corpora, vocabulary, batches."""

import itertools
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.config import BOS_ID, EOS_ID, PAD_ID, ConfigError, ModelConfig
from model.data.batching import Pair, batches_by_tokens, collate, epoch_batches, epoch_items
from model.data.corpus import CorpusError, data_hash, read_corpus
from model.data.vocabulary import Vocabulary, train_vocabulary
from tests.models import SENTENCES

SAMPLE = Path(__file__).parents[2] / "sample"
PAIRS = st.lists(st.builds(Pair, *2 * [st.lists(st.integers(4, 99), min_size=1, max_size=20)]), min_size=1, max_size=40)


def test_documents_are_separated_by_empty_lines() -> None:
    pairs = read_corpus(SAMPLE, "dialogues", "en", "de")
    assert sorted({pair.document for pair in pairs}) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("english", "german", "message"),
    [("a\nb", "a", "2 lines of en against 1 of de"), ("a\n\nb", "a\nb\nc", "line 2: one side is empty")],
)
def test_files_that_do_not_fit_say_where(tmp_path: Path, english: str, german: str, message: str) -> None:
    (tmp_path / "x.en").write_text(english, encoding="utf-8")
    (tmp_path / "x.de").write_text(german, encoding="utf-8")
    with pytest.raises(CorpusError, match=message):
        read_corpus(tmp_path, "x", "en", "de")


def test_a_missing_corpus_names_the_expected_files(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no en side: expected"):
        read_corpus(tmp_path, "y", "en", "de")


def test_the_data_hash_follows_the_text(tmp_path: Path) -> None:
    for language in ("en", "de"):
        (tmp_path / f"x.{language}").write_text("a", encoding="utf-8")
    before = data_hash(tmp_path, ["x"], ("en", "de"))
    (tmp_path / "x.de").write_text("b", encoding="utf-8")
    assert data_hash(tmp_path, ["x"], ("en", "de")) != before


@settings(max_examples=50)
@given(pairs=PAIRS, max_tokens=st.integers(1, 200))
def test_batches_lose_nothing_and_keep_their_size(pairs: list[Pair], max_tokens: int) -> None:
    batches = batches_by_tokens(pairs, max_tokens)
    assert [pair for batch in batches for pair in batch] == pairs
    for batch in batches:
        widest = max(max(len(pair.source), len(pair.target)) + 1 for pair in batch)
        assert len(batch) == 1 or widest * len(batch) <= max_tokens


@settings(max_examples=40)
@given(pairs=PAIRS, epoch=st.integers(0, 3), sorted_by=st.sampled_from(("target", "longest")))
def test_an_epoch_is_decided_by_seed_and_number(pairs: list[Pair], epoch: int, sorted_by: str) -> None:
    batches = epoch_batches(pairs, 64, 1, epoch, sorted_by)
    assert batches == epoch_batches(pairs, 64, 1, epoch, sorted_by)
    assert sorted(map(id, (p for b in batches for p in b))) == sorted(map(id, pairs))


@settings(max_examples=30)
@given(
    sizes=st.lists(st.integers(4, 40), min_size=1, max_size=3),
    passes=st.sampled_from((0.25, 0.5, 1.0, 1.5, 2.25)),
    seed=st.integers(0, 5),
)
def test_an_epoch_has_whole_passes_and_a_new_sample(sizes: list[int], passes: float, seed: int) -> None:
    """No item more often than once beyond the whole passes; over many epochs every item as often as any other."""
    corpora = {str(name): [(name, index) for index in range(size)] for name, size in enumerate(sizes)}
    epochs = [Counter(epoch_items(corpora, dict.fromkeys(corpora, passes), seed, epoch)) for epoch in range(40)]
    whole, part = divmod(passes, 1)
    for counts in epochs:
        assert set(counts.values()) <= {int(whole), int(whole) + 1}
        for items in corpora.values():
            assert sum(counts[item] for item in items) == int(whole) * len(items) + round(part * len(items))
    for items in corpora.values():
        share = round(part * len(items)) / len(items)
        deviation = (40 * share * (1 - share)) ** 0.5
        for item in items:
            assert abs(sum(counts[item] for counts in epochs) - 40 * (whole + share)) <= 5.5 * deviation
    if part:
        assert sum(first != other for first, other in itertools.pairwise(epochs)) > 15
    assert epochs[0] == Counter(epoch_items(corpora, dict.fromkeys(corpora, passes), seed, 0))


def test_batches_sorted_by_the_longest_side_pad_least_and_differ_from_epoch_to_epoch() -> None:
    numbers = random.Random(1)
    lengths = [numbers.randrange(2, 50) for _ in range(4000)]
    pairs = [
        Pair([5] * length, [index] * round(length * numbers.uniform(0.6, 1.6))) for index, length in enumerate(lengths)
    ]

    def padding(sorted_by: str) -> float:
        batches = [collate(batch) for batch in epoch_batches(pairs, 2048, 1, 0, sorted_by)]
        tensors = [tensor for batch in batches for tensor in (batch.source, batch.target_out)]
        return sum(int((item == PAD_ID).sum()) for item in tensors) / sum(item.numel() for item in tensors)

    assert padding("longest") < 0.7 * padding("target")
    assert epoch_batches(pairs, 2048, 1, 0, "longest") != epoch_batches(pairs, 2048, 1, 1, "longest")


def test_by_default_batches_have_targets_of_one_length_rather_than_sources() -> None:
    """The decoder computes more for a token than the encoder."""
    numbers = random.Random(3)
    pairs = [Pair(*([5] * numbers.randint(1, 60) for _ in range(2))) for _ in range(600)]
    batches = [collate(batch) for batch in epoch_batches(pairs, 1024, 1, 0)]
    sources, targets = (
        sum(int((tensor == PAD_ID).sum()) for tensor in tensors)
        for tensors in ([batch.source for batch in batches], [batch.target_out for batch in batches])
    )
    assert targets < 0.7 * sources


def test_batches_are_padded_and_shifted() -> None:
    batch = collate([Pair([5, 6], [7]), Pair([8], [9, 10])])
    assert batch.source.tolist() == [[5, 6, EOS_ID], [8, EOS_ID, PAD_ID]]
    assert batch.source_keep.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target_in.tolist() == [[BOS_ID, 7, PAD_ID], [BOS_ID, 9, 10]]
    assert batch.target_out.tolist() == [[7, EOS_ID, PAD_ID], [9, 10, EOS_ID]]
    assert batch.num_target_tokens == 5


def test_every_text_has_ids(tmp_path: Path) -> None:
    train_vocabulary(SENTENCES * 4, 320, tmp_path / "v.model")
    vocabulary = Vocabulary(tmp_path / "v.model")
    texts = ["Where is the house?", "日本 😀"]
    assert len(vocabulary) == 320
    assert vocabulary.decode(vocabulary.encode(texts)) == texts


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_drawn_pieces_are_other_pieces_of_the_same_text(kind: str, tmp_path: Path) -> None:
    train_vocabulary(SENTENCES * 4, 320, tmp_path / "v.model", kind)
    vocabulary = Vocabulary(tmp_path / "v.model")
    texts = list(SENTENCES)
    drawn = vocabulary.sample(texts)
    assert vocabulary.decode(drawn) == vocabulary.decode(vocabulary.encode(texts)) == texts
    assert sum(map(len, drawn)) > sum(map(len, vocabulary.encode(texts)))
    assert vocabulary.sample(texts) != drawn


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"ngram": 1}, "at least 2 or null"),
        ({"d_model": 30, "num_heads": 4}, "not a multiple"),
        ({"dropout": 1.0}, r"\[0, 1\)"),
        ({"decoder_layers": 0}, "decoder_layers must be at least 1"),
        ({"n_gram": 8}, "did you mean 'ngram'"),
    ],
)
def test_configurations_that_cannot_be_say_why(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ModelConfig.from_dict({"vocab_size": 100, **values})
