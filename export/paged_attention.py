"""Attention to a document in pages of sentences of similar length (see server/artifact/signature.py). Equals
model.attention.selective, without its padding to the longest sentence."""

from typing import NamedTuple

import torch
from torch import Tensor

from model.attention.decay import per_word
from model.attention.selective import (
    AttentionOutput,
    ContextAttention,
    FlatWordAttention,
    HierarchicalAttention,
    VisibleSentences,
)
from model.context import ContextLayer, ContextResult
from model.symbolic import cast_like
from server.artifact.manifest import PAGES


class Pages(NamedTuple):
    """A stored document: lists with one tensor per page, [batch, J of the page, ...]."""

    distance: list[Tensor]
    """Distance in sentences of each visible sentence, 0 for hidden ones."""
    word_keep: list[Tensor]
    """bool [batch, J of the page, W of the page]"""
    tensors: list[list[Tensor]]
    """In the order of the attention's `store_names`."""

    @classmethod
    def of(cls, flat: list[Tensor]) -> "Pages":
        """From tensors in the order of `page_inputs`."""
        distance, words, *tensors = [flat[at : at + PAGES] for at in range(0, len(flat), PAGES)]
        return cls(distance, [page > 0 for page in words], tensors)

    def visible(self) -> Tensor:
        """bool [batch, J]: visible sentences that have words."""
        seen = [(page > 0) & words.any(dim=-1) for page, words in zip(self.distance, self.word_keep, strict=True)]
        return torch.cat(seen, dim=1)

    def decay(self, layer: ContextLayer) -> Tensor | None:
        """The bias of Decay for all pages, [batch, heads or 1, 1, J]."""
        return layer.decay(torch.cat(self.distance, dim=1)[:, None])  # type: ignore[no-any-return]


def page_names(name: str) -> list[str]:
    """The names of one tensor per page."""
    return [f"{name}.{page}" for page in range(PAGES)]


def page_inputs(attention: ContextAttention) -> list[str]:
    """The names of a document's tensors, flat."""
    names = ("sentence_keep", "word_keep", *attention.store_names)
    return [name for each in names for name in page_names(each)]


def page_axes(attention: ContextAttention, first: str) -> dict[str, tuple[str | None, ...]]:
    """The free axes of these tensors; `first` names the first axis."""
    axes: dict[str, tuple[str | None, ...]] = {}
    for page in range(PAGES):
        for name in ("sentence_keep", "word_keep", *attention.store_names):
            words = (f"W{page}",) if name.startswith("word") else ()
            axes[f"{name}.{page}"] = (first, f"J{page}", *words)
    return {name: axes[name] for name in page_inputs(attention)}


def example_pages(attention: ContextAttention, batch: int, width: int) -> list[Tensor]:
    """A document of sizes larger than one, so that tracing makes no axis a constant."""
    sizes = [(batch, 2 + page, 4 + page) for page in range(PAGES)]
    results = [torch.ones(size[:2], dtype=torch.int32) for size in sizes]
    results += [torch.ones(size, dtype=torch.int32) for size in sizes]
    for name in attention.store_names:
        results += [torch.randn(*(size if name.startswith("word") else size[:2]), width) for size in sizes]
    return results


class PagedAttention(NamedTuple):
    attended: AttentionOutput
    """Its word_weights are None."""
    word_weights: list[Tensor]
    """One page [batch, heads, query, J of the page, W of the page] each; empty where words have no weights."""


class PagedContext(NamedTuple):
    mixed: ContextResult
    """Its word_weights are None."""
    word_means: list[Tensor]
    """Means over the queries, one page [batch, heads, J of the page, W of the page] each."""


def attend_pages(layer: ContextLayer, query: Tensor, query_keep: Tensor, pages: Pages) -> PagedAttention:
    """query [batch, query, d], query_keep bool [batch, query]. Equals the layer's attention over the same document in
    one tensor."""
    attention, decay = layer.attention, pages.decay(layer)
    if isinstance(attention, FlatWordAttention):
        return attend_all_words(attention, query, query_keep, pages, decay)
    visible = query_keep[:, :, None] & pages.visible()[:, None]
    if isinstance(attention, HierarchicalAttention):
        return attend_by_page(attention, query, pages, visible, decay)
    whole = tuple(torch.cat(tensor, dim=1) for tensor in pages.tensors)
    return PagedAttention(attention(query, whole, VisibleSentences(visible, pages.word_keep[0], decay)), [])


def attend_by_page(
    attention: HierarchicalAttention, query: Tensor, pages: Pages, visible: Tensor, decay: Tensor | None
) -> PagedAttention:
    """Sentences are weighed before words, so the pages' mixtures are computed one by one and added."""
    sentence_key, keys, values = pages.tensors
    weights = attention.sentence_weights(query, torch.cat(sentence_key, dim=1), visible, decay)
    mixtures, word_weights = [], []
    parts = by_page(weights, pages.word_keep)
    for key, value, keep, part in zip(keys, values, pages.word_keep, parts, strict=True):
        mixed, of_words = attention.mix_words(query, key, value, keep, part)
        mixtures.append(mixed)
        word_weights.append(of_words)
    return PagedAttention(
        AttentionOutput(attention.output(torch.stack(mixtures).sum(dim=0)), weights, None), word_weights
    )


def attend_all_words(
    attention: FlatWordAttention, query: Tensor, query_keep: Tensor, pages: Pages, decay: Tensor | None
) -> PagedAttention:
    """All words share one softmax, so those of all pages are concatenated."""
    keys, values = (torch.cat([page.flatten(1, 2) for page in tensor], dim=1) for tensor in pages.tensors)
    seen = [(page > 0)[..., None] & words for page, words in zip(pages.distance, pages.word_keep, strict=True)]
    keep = torch.cat([page.flatten(1) for page in seen], dim=1)
    if decay is not None:
        parts = zip(by_page(decay, pages.word_keep), pages.word_keep, strict=True)
        decay = torch.cat([per_word(part, words.shape[2]) for part, words in parts], dim=-1)
    output, weights = attention.mix_words(query, keys, values, query_keep[:, :, None] & keep[:, None], decay)
    start = 0
    word_weights = []
    for page in pages.word_keep:
        count = page.shape[1] * page.shape[2]
        part = weights[..., start : start + count]
        word_weights.append(part.reshape(*part.shape[:-1], *page.shape[1:]))
        start += count
    by_sentence = torch.cat([page.sum(dim=-1) for page in word_weights], dim=-1)
    return PagedAttention(AttentionOutput(output, by_sentence, None), word_weights)


def attend_context_pages(
    layer: ContextLayer, query: Tensor, state: Tensor, query_keep: Tensor, pages: Pages
) -> PagedContext:
    """model.context.ContextLayer.forward over pages; masked queries attend to nothing."""
    result = attend_pages(layer, query, query_keep, pages)
    visible = query_keep[:, :, None] & pages.visible()[:, None]
    length = cast_like(query_keep.sum(dim=1)[:, None, None, None], state)
    means = [page.sum(dim=2) / length for page in result.word_weights]
    return PagedContext(layer.mix(result.attended, state, visible), means)


def by_page(x: Tensor, keep: list[Tensor]) -> list[Tensor]:
    """[..., J] -> one [..., J of the page] per page."""
    parts, start = [], 0
    for page in keep:
        parts.append(x[..., start : start + page.shape[1]])
        start += page.shape[1]
    return parts
