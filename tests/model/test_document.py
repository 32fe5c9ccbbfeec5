"""The document model: what context may and may not change, teacher-forced and step by step."""

import pytest
import torch
from torch import Tensor

from model.attention.selective import mean_of_words
from model.config import CONTEXT_ATTENTIONS, EOS_ID, PAD_ID, SpecialIds
from model.context import Store
from model.data.batching import Batch, Pair, collate
from model.document import DocumentModel, Words, before_eos, is_word, words_of
from model.masks import context_distance
from tests.documents import lively_document_model, some_pairs

SIDES = ("encoder", "decoder")
LENGTHS = (4, 7, 2, 5)

variants = pytest.mark.parametrize(
    ("attention", "side"), [(attention, side) for attention in CONTEXT_ATTENTIONS for side in SIDES]
)


def sees(online: bool = False, documents: tuple[int, ...] = (0, 0, 0, 0)) -> Tensor:
    """bool [sentence, sentence]: one document of four sentences, or another division of them."""
    number = torch.tensor(documents)
    index = torch.arange(len(documents))
    return context_distance(number, index, number, index, online)


def words(model: DocumentModel, batch: Batch) -> Words:
    return words_of(model.base, model.config.side, batch)


def hidden(model: DocumentModel, pairs: list[Pair], keep: Tensor) -> Tensor:
    """[sentence, target, d], padding zeroed."""
    batch = collate(pairs)
    out = model.hidden(batch, model.store(words(model, batch)), keep)
    return out * (batch.target_out != PAD_ID)[..., None]


def without_context(model: DocumentModel, pairs: list[Pair]) -> Tensor:
    batch = collate(pairs)
    out = model.base.decode(batch.target_in, model.base.encode(batch.source, batch.source_keep), batch.source_keep)
    return out * (batch.target_out != PAD_ID)[..., None]


@variants
@torch.no_grad()
def test_a_sentence_alone_is_translated_by_the_sentence_model(attention: str, side: str) -> None:
    """A document of one sentence, and the first sentence online: not a bit is different."""
    model, pairs = lively_document_model(attention, side), some_pairs(LENGTHS)
    for online in (False, True):
        assert torch.equal(hidden(model, pairs[:1], sees(online)[:1, :1]), without_context(model, pairs[:1]))
    online_states, alone = hidden(model, pairs, sees(online=True)), without_context(model, pairs)
    assert torch.equal(online_states[0], alone[0])
    for later in range(1, len(pairs)):
        assert (online_states[later] - alone[later]).abs().max() > 1e-2


@variants
@torch.no_grad()
def test_online_nothing_later_is_seen(attention: str, side: str) -> None:
    model, pairs = lively_document_model(attention, side), some_pairs(LENGTHS)
    changed = [*pairs[:2], *some_pairs((3, 6, 4), seed=9)]
    before = hidden(model, pairs, sees(online=True))
    after = hidden(model, changed, sees(online=True, documents=(0,) * 5))
    length = min(before.shape[1], after.shape[1])
    torch.testing.assert_close(before[:2, :length], after[:2, :length], atol=1e-5, rtol=0)


@variants
@torch.no_grad()
def test_documents_side_by_side_do_not_leak(attention: str, side: str) -> None:
    """Two documents, interleaved in one store, are what each is alone."""
    model, pairs = lively_document_model(attention, side), some_pairs(LENGTHS)
    together = hidden(model, pairs, sees(documents=(0, 1, 0, 1)))
    for rows in ([0, 2], [1, 3]):
        alone = hidden(model, [pairs[row] for row in rows], sees()[:2, :2])
        torch.testing.assert_close(together[rows][:, : alone.shape[1]], alone, atol=1e-5, rtol=0)


@variants
@torch.no_grad()
def test_a_sentence_never_sees_itself(attention: str, side: str) -> None:
    model, pairs = lively_document_model(attention, side), some_pairs(LENGTHS)
    batch = collate(pairs)
    stored = words(model, batch)
    before = model.hidden(batch, model.store(stored), sees())
    changed = Words(*(tensor.clone() for tensor in stored))
    changed.key[1] += 5
    changed.value[1] -= 5
    after = model.hidden(batch, model.store(changed), sees())
    torch.testing.assert_close(before[1], after[1], atol=1e-6, rtol=0)
    assert (before[0] - after[0]).abs().max() > 1e-2


@variants
@torch.no_grad()
def test_a_store_made_from_token_ids_again_is_the_same(attention: str, side: str) -> None:
    """Sentence states depend on no context, so a batch gives what each sentence alone gives."""
    model, pairs = lively_document_model(attention, side), some_pairs(LENGTHS)
    together = model.store(words(model, collate(pairs)))
    for row, pair in enumerate(pairs):
        alone = model.store(words(model, collate([pair])))
        real = alone.word_keep[0, 0]
        assert torch.equal(together.word_keep[0, row, : len(real)], real)
        for tensor, other in zip(together.tensors, alone.tensors, strict=True):
            ours, theirs = tensor[0, row], other[0, 0]
            if ours.dim() == 2:
                ours, theirs = ours[: len(real)][real], theirs[real]
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


@variants
@torch.no_grad()
def test_steps_equal_teacher_forcing(attention: str, side: str) -> None:
    """Rows share one store, and then have one each; the ring wraps several times."""
    model, pairs = lively_document_model(attention, side), some_pairs((5, 9, 3, 6))
    batch, keep = collate(pairs), sees()
    store = model.store(words(model, batch))
    expected = model.base.embedding.logits(model.hidden(batch, store, keep))
    own = Store(tuple(t.expand(4, *t.shape[1:]) for t in store.tensors), store.word_keep.expand(4, -1, -1))
    for used in (store, own):
        memory = model.encode(batch.source, batch.source_keep, used, keep)
        cross, rings = model.base.decoder.project_source(memory), model.base.empty_rings(4)
        for step in range(batch.target_in.shape[1]):
            token, position = batch.target_in[:, step], torch.full((4,), step)
            logits, rings = model.step(token, position, rings, cross, batch.source_keep, used, keep)
            real = batch.target_out[:, step] != PAD_ID
            torch.testing.assert_close(logits[real], expected[:, step][real], atol=1e-5, rtol=0)


def test_ids_of_a_model_are_those_of_its_batches() -> None:
    """Padding and EOS have other ids in imported models, and a source word may have that of padding."""
    ids = SpecialIds(pad=9, unk=1, bos=9, eos=0)
    batch = collate([Pair([5, 9], [7]), Pair([8], [11, 10])], ids)
    assert batch.source.tolist() == [[5, 9, 0], [8, 0, 9]]
    assert batch.source_keep.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target_in.tolist() == [[9, 7, 9], [9, 11, 10]]
    assert batch.target_out.tolist() == [[7, 0, 9], [11, 10, 0]]
    assert before_eos(batch.source_keep).tolist() == [[True, True, False], [True, False, False]]


@torch.no_grad()
def test_bos_eos_and_padding_are_no_words() -> None:
    batch = collate([Pair([5, 6, 7], [8, 9]), Pair([5], [8])])
    assert before_eos(batch.source_keep).tolist() == is_word(batch.source).tolist()
    assert is_word(batch.source).tolist() == [[True, True, True, False], [True, False, False, False]]
    model = lively_document_model(side="decoder")
    keep = words(model, batch).keep
    assert keep.tolist() == [[True, True, False], [True, False, False]]
    assert not is_word(torch.tensor([EOS_ID, PAD_ID, 2])).any()


@torch.no_grad()
def test_a_target_word_is_the_step_that_predicts_it() -> None:
    """The vector of word n depends on the words before n and not on n itself."""
    model = lively_document_model(side="decoder")
    first, other = (words(model, collate([Pair([5, 6, 7], target)])) for target in ([8, 9, 10], [8, 9, 11]))
    assert torch.equal(first.value[0, :3], other.value[0, :3])
    assert torch.equal(first.key[0, :3], other.key[0, :3])
    changed = words(model, collate([Pair([5, 6, 7], [8, 12, 10])]))
    assert torch.equal(first.value[0, :2], changed.value[0, :2])
    assert not torch.equal(first.value[0, 2], changed.value[0, 2])


@torch.no_grad()
def test_keys_are_the_input_of_the_last_feed_forward_layer() -> None:
    model = lively_document_model(side="decoder")
    batch = collate(some_pairs((4,)))
    stored = words(model, batch)
    last = model.base.decoder.decoder_layers()[-1]
    logits = model.base(batch.source, batch.source_keep, batch.target_in)
    torch.testing.assert_close(model.base.embedding.logits(stored.value), logits)
    # The layer's output is its input plus ffn(key); undoing the final norm is not possible, so look at the norm.
    mean, spread = stored.key.sub(last.ffn_norm.bias).div(last.ffn_norm.weight), torch.ones(1, 6)
    torch.testing.assert_close(mean.mean(dim=-1), torch.zeros(1, 6), atol=1e-4, rtol=0)
    torch.testing.assert_close(mean.var(dim=-1, unbiased=False), spread, atol=1e-3, rtol=0)


def test_the_mean_of_no_words_is_zero() -> None:
    assert torch.equal(
        mean_of_words(torch.randn(1, 1, 3, 4), torch.zeros(1, 1, 3, dtype=torch.bool))[0, 0], torch.zeros(4)
    )
