"""Which source pieces a translation's pieces come from: what one head of the decoder's cross-attention looks at, or the
heads of a layer on average.

Heads differ, and so do the steps: the one that produces a piece, or the next, which reads it (Chen et al. 2020,
"Accurate Word Alignment Induction from Neural Machine Translation"). What serves best is measured for every model on
links between pieces that one is sure of.
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
"""Below this a row of weights is not blown up to one: the query sees nothing."""
FEWEST_LINKS = 40
"""Fewer links than this tell nothing about so many heads."""
LEAST = 0.2
"""How probable a translation is at least that makes a link."""
MARGIN = 4
"""How many times more probable a link is than all others of its two pieces."""


@dataclass(frozen=True)
class AlignmentHead:
    """Where an alignment is read: in `layer`, counted from 1, at `head`, counted from 1, or None for the mean of all,
    at the step that `reads` a piece or at the one that produces it."""

    layer: int
    head: int | None = None
    reads: bool = False


class Link(NamedTuple):
    """Numbers of a source piece and of the target piece that it became."""

    source: int
    target: int


class Agreement(NamedTuple):
    """`share` of `links` whose target piece looks at its source piece more than at any other."""

    share: float
    links: int


def alignment(
    model: TranslationModel, source: Tensor, source_keep: Tensor, target: Tensor, at: AlignmentHead
) -> Tensor:
    """source [batch, source] with EOS, source_keep bool, target [batch, 1 + piece] from BOS on -> how much every piece
    after BOS looks at every source piece, [batch, piece, source]. Rows sum to one."""
    cross = model.decoder.project_source(model.encode(source, source_keep))
    return weights_at(layer_weights(model, cross, source_keep, target, at.layer), at)


def layer_weights(
    model: TranslationModel, cross: list[LayerMemory], source_keep: Tensor, target: Tensor, layer: int
) -> Tensor:
    """The weights of one layer's cross-attention, [batch, heads, 1 + piece, source]; `cross` is what the layers up to
    there read of the source."""
    position = positions_of(target)
    seen = VisibleKeys(ngram_keep(position, position, model.config.ngram), position, position)
    source = model.visible_source(position, source_keep)
    return model.decoder.source_weights(model.embedding(target), seen, cross, source, layer)


def weights_at(weights: Tensor, at: AlignmentHead) -> Tensor:
    """`alignment` from the weights of its layer."""
    looked = weights.mean(dim=1) if at.head is None else weights[:, at.head - 1]
    looked = looked[:, 1:] if at.reads else looked[:, :-1]
    return looked / looked.sum(dim=-1, keepdim=True).clamp(min=SMALLEST_SUM)


def default_head(model: TranslationModel) -> AlignmentHead:
    """The choice where nothing was measured: the mean over the last layer, at the step that produces a piece."""
    return AlignmentHead(model.config.decoder_layers)


def every_head(model: TranslationModel) -> list[AlignmentHead]:
    """All that there are, the default first."""
    config = model.config
    heads = [None, *range(1, config.num_heads + 1)]
    layers = range(config.decoder_layers, 0, -1)
    return [AlignmentHead(layer, head, reads) for layer in layers for head in heads for reads in (False, True)]


@torch.no_grad()
def best_head(
    model: TranslationModel, pairs: Sequence[Pair], links: Sequence[Sequence[Link]]
) -> tuple[AlignmentHead, Agreement | None]:
    """The head that agrees with most of the links of `pairs` (ids without EOS), and how well it does; the default and
    None where there are too few of them."""
    count = sum(map(len, links))
    if count < FEWEST_LINKS:
        return default_head(model), None
    agreed: Counter[AlignmentHead] = Counter()
    for pair, known in zip(pairs, links, strict=True):
        source = torch.tensor([[*pair.source, model.config.eos_id]])
        target = torch.tensor([[model.config.bos_id, *pair.target]])
        keep = torch.ones_like(source, dtype=torch.bool)
        cross = model.decoder.project_source(model.encode(source, keep))
        layers = [layer_weights(model, cross, keep, target, 1 + index) for index in range(len(cross))]
        for at in every_head(model) if known else ():
            weights = weights_at(layers[at.layer - 1], at)[0]
            chosen = weights[:, : len(pair.source)].argmax(dim=1).tolist()
            agreed[at] += sum(chosen[link.target] == link.source for link in known)
    best = max(every_head(model), key=lambda at: agreed[at])  # of equals the first
    return best, Agreement(agreed[best] / count, count)


def lexicon_links(pair: Pair, lexicon: Lexicon) -> list[Link]:
    """Pieces that translate each other, each there once, and nothing else in the two sentences nearly as well."""
    probability = np.zeros((len(pair.source), len(pair.target)))
    for row, piece in enumerate(pair.source):
        chance = dict(zip(lexicon.words[piece].tolist(), lexicon.probability[piece].tolist(), strict=True))
        probability[row] = [chance.get(word, 0.0) for word in pair.target]
    links = []
    for row, column in np.argwhere(probability >= LEAST).tolist():
        there = probability[row, column]
        others = max(
            np.delete(probability[row], column).max(initial=0), np.delete(probability[:, column], row).max(initial=0)
        )
        if there > MARGIN * others:
            links.append(Link(row, column))
    return links


def copied_links(source: Sequence[str], target: Sequence[str]) -> list[Link]:
    """Pieces, as texts, that stand once on both sides: names, numbers, punctuation."""
    counts, places = Counter(source), {piece: index for index, piece in enumerate(source)}
    unique = {piece for piece, count in Counter(target).items() if count == 1 == counts[piece]}
    return [Link(places[piece], index) for index, piece in enumerate(target) if piece in unique]
