"""Word alignment from cross-attention: the attention weights of one head of a decoder layer, or the mean over its
heads.

Heads differ in how well they align, and so do the steps: the step that produces a piece, or the next step, which reads
it (Chen et al. 2020, "Accurate Word Alignment Induction from Neural Machine Translation"). The best head and step are
measured for every model on sure links between pieces.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from model.attention.visible_keys import VisibleKeys
from model.data.batching import Pair
from model.data.lexicon import Lexicon
from model.decoder import LayerMemory
from model.masks import ngram_keep, positions_of
from model.translation_model import TranslationModel

SMALLEST_SUM = 1e-6
"""A row of weights whose sum is smaller is not normalised: the query sees no key."""
MIN_LINKS = 40
"""Fewer links are too few to choose among the heads."""
MIN_PROBABILITY = 0.2
"""The least translation probability of a link."""
MARGIN = 4
"""A link is this many times more probable than every other link of its two pieces."""


@dataclass(frozen=True)
class AlignmentHead:
    """The attention weights that give the alignment: those of `head` in `layer`, both counted from 1 (head None: the
    mean over all heads), at the step that `reads` a piece or at the step that produces it."""

    layer: int
    head: int | None = None
    reads: bool = False


class Link(NamedTuple):
    """Indices of a source piece and of the target piece that translates it."""

    source: int
    target: int


class Agreement(NamedTuple):
    """The `share` of `links` whose target piece has its largest weight on its source piece."""

    share: float
    links: int


def alignment(
    model: TranslationModel, source: Tensor, source_keep: Tensor, target: Tensor, at: AlignmentHead
) -> Tensor:
    """source [batch, source] with EOS, source_keep bool, target [batch, 1 + piece] from BOS on -> the attention weight
    of every piece after BOS on every source piece, [batch, piece, source]. Rows sum to one."""
    cross = model.decoder.project_source(model.encode(source, source_keep))
    return head_weights(layer_weights(model, cross, source_keep, target, at.layer), at)


def layer_weights(
    model: TranslationModel, cross: list[LayerMemory], source_keep: Tensor, target: Tensor, layer: int
) -> Tensor:
    """The weights of one layer's cross-attention, [batch, heads, 1 + piece, source]; `cross` are the source
    memories of the layers up to this one."""
    position = positions_of(target)
    seen = VisibleKeys(ngram_keep(position, position, model.config.ngram), position, position)
    source = model.visible_source(position, source_keep)
    return model.decoder.source_weights(model.embedding(target), seen, cross, source, layer)


def head_weights(weights: Tensor, at: AlignmentHead) -> Tensor:
    """`alignment` from the weights of its layer."""
    weights = weights.mean(dim=1) if at.head is None else weights[:, at.head - 1]
    weights = weights[:, 1:] if at.reads else weights[:, :-1]
    return weights / weights.sum(dim=-1, keepdim=True).clamp(min=SMALLEST_SUM)


def default_head(model: TranslationModel) -> AlignmentHead:
    """The head that is taken without measurement: the mean over the last layer, at the step that produces a piece."""
    return AlignmentHead(model.config.decoder_layers)


def all_heads(model: TranslationModel) -> list[AlignmentHead]:
    """All heads of all layers at both steps, the default first."""
    config = model.config
    heads = [None, *range(1, config.num_heads + 1)]
    layers = range(config.decoder_layers, 0, -1)
    return [AlignmentHead(layer, head, reads) for layer in layers for head in heads for reads in (False, True)]


@torch.no_grad()
def best_head(
    model: TranslationModel, pairs: Sequence[Pair], links: Sequence[Sequence[Link]]
) -> tuple[AlignmentHead, Agreement | None]:
    """The head that agrees with most links of `pairs` (ids without EOS), and its agreement; the default head and None
    where there are fewer than MIN_LINKS links."""
    count = sum(map(len, links))
    if count < MIN_LINKS:
        return default_head(model), None
    agreed: Counter[AlignmentHead] = Counter()
    for pair, known in zip(pairs, links, strict=True):
        source = torch.tensor([model.config.source_ids(pair.source)])
        target = torch.tensor([[model.config.bos_id, *pair.target]])
        keep = torch.ones_like(source, dtype=torch.bool)
        cross = model.decoder.project_source(model.encode(source, keep))
        layers = [layer_weights(model, cross, keep, target, 1 + index) for index in range(len(cross))]
        for at in all_heads(model) if known else ():
            weights = head_weights(layers[at.layer - 1], at)[0]
            chosen = weights[:, : len(pair.source)].argmax(dim=1).tolist()
            agreed[at] += sum(chosen[link.target] == link.source for link in known)
    best = max(all_heads(model), key=lambda at: agreed[at])  # of equals the first
    return best, Agreement(agreed[best] / count, count)


def lexicon_links(pair: Pair, lexicon: Lexicon) -> list[Link]:
    """Links between pieces that translate each other, where no other piece of the two sentences is nearly as
    probable."""
    probability = np.zeros((len(pair.source), len(pair.target)))
    for row, piece in enumerate(pair.source):
        chance = dict(zip(lexicon.words[piece].tolist(), lexicon.probability[piece].tolist(), strict=True))
        probability[row] = [chance.get(word, 0.0) for word in pair.target]
    links = []
    for row, column in np.argwhere(probability >= MIN_PROBABILITY).tolist():
        link_probability = probability[row, column]
        others = max(
            np.delete(probability[row], column).max(initial=0), np.delete(probability[:, column], row).max(initial=0)
        )
        if link_probability > MARGIN * others:
            links.append(Link(row, column))
    return links


def copied_links(source: Sequence[str], target: Sequence[str]) -> list[Link]:
    """Links between equal pieces, given as texts, that occur once on each side: names, numbers, punctuation."""
    counts, places = Counter(source), {piece: index for index, piece in enumerate(source)}
    unique = {piece for piece, count in Counter(target).items() if count == 1 == counts[piece]}
    return [Link(places[piece], index) for index, piece in enumerate(target) if piece in unique]
