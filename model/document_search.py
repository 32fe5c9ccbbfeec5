"""The slow reference search for documents, with which the tests compare every fast path (Maruf et al. 2019, section
3.3).

One sentence at a time on top of `reference_search`. Offline, a sentence sees all others of its document; online,
those before it. On the decoder's side context is made of translations, so documents are translated twice: first by
the sentence model, greedily, then with the states of those translations as context. The second pass never changes
the store, so its order does not matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from model.config import EOS_ID
from model.context import Store
from model.data.batching import Pair, collate
from model.document import DocumentModel, words_of
from model.masks import context_distance
from model.reference_search import ReferenceHypothesis, beam_search, reference_search


@dataclass(frozen=True)
class StoredSentence:
    """The projected tensors of one sentence without padding, [d] or [words, d]."""

    tensors: tuple[Tensor, ...]
    num_words: int


@torch.no_grad()
def store_sentence(model: DocumentModel, source: Sequence[int], target: Sequence[int] = ()) -> StoredSentence:
    """`source` and `target` without EOS; the target (a translation) matters on the decoder's side only."""
    words = words_of(model.base, model.config.side, collate([Pair(list(source), list(target))], model.base.config.ids))
    store = model.store(words)
    real = words.keep[0]
    # Padding and EOS stand behind the words.
    tensors = tuple(t[0, 0] if t.dim() == 3 else t[0, 0][real] for t in store.tensors)
    return StoredSentence(tensors, int(real.sum()))


def stack_store(sentences: Sequence[StoredSentence]) -> Store:
    """Sentences of one document as a store of batch 1, padded to the longest and to at least one word."""
    width = max(1, *(sentence.num_words for sentence in sentences))
    columns = zip(*(sentence.tensors for sentence in sentences), strict=True)

    def padded(tensor: Tensor) -> Tensor:
        if tensor.dim() == 1:
            return tensor
        return torch.nn.functional.pad(tensor, (0, 0, 0, width - tensor.shape[0]))

    lengths = torch.tensor([sentence.num_words for sentence in sentences])
    word_keep = torch.arange(width)[None, :] < lengths[:, None]
    return Store(tuple(torch.stack([padded(t) for t in column])[None] for column in columns), word_keep[None])


@torch.no_grad()
def contextual_search(
    model: DocumentModel, source: Sequence[int], store: Store, distance: Tensor, **options: Any
) -> list[ReferenceHypothesis]:
    """Beam search of one sentence, `source` without EOS, that sees the sentences of `distance` [1, J].
    `options` are those of `beam_search`."""
    ids = torch.tensor([[*source, EOS_ID]])
    keep = torch.ones_like(ids, dtype=torch.bool)
    encoder_output = model.encode(ids, keep, store, distance)

    def next_tokens(target: Tensor) -> Tensor:
        same = encoder_output.expand(len(target), -1, -1), keep.expand(len(target), -1)
        hidden = model.decode(target, *same, store, distance.expand(len(target), -1))
        return model.base.embedding.logits(hidden[:, -1])

    return beam_search(next_tokens, **options)


def search_document(
    model: DocumentModel, sources: Sequence[Sequence[int]], online: bool = False, **options: Any
) -> list[list[ReferenceHypothesis]]:
    """Hypotheses of every sentence; `sources` are ids without EOS."""
    drafts = [draft(model, source, **options) for source in sources]
    store = stack_store([store_sentence(model, *both) for both in zip(sources, drafts, strict=True)])
    distance = document_distance(len(sources), online, model.config.reach)
    return [contextual_search(model, source, store, distance[[row]], **options) for row, source in enumerate(sources)]


def draft(model: DocumentModel, source: Sequence[int], **options: Any) -> tuple[int, ...]:
    """The sentence model's greedy translation; empty on the encoder's side, which needs none."""
    if model.on_encoder:
        return ()
    limits = {name: value for name, value in options.items() if name == "max_length"}
    return reference_search(model.base, [*source, EOS_ID], beam_size=1, **limits)[0].ids


def document_distance(sentences: int, online: bool, reach: int | None = None) -> Tensor:
    """[sentence, sentence] of one document, see masks.context_distance."""
    index = torch.arange(sentences)
    return context_distance(torch.zeros_like(index), index, torch.zeros_like(index), index, online, reach)
