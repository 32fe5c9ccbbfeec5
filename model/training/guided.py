"""Guided alignment: one head of cross-attention learns which source piece each piece of a translation comes from (Garg
et al. 2019, "Jointly Learning to Align and Translate with Transformer Models", section 4).

Without guided alignment a model has a head that aligns well only by chance. Tags, terms of glossaries and the words of
explanations are placed by the alignment.

Differs from the paper: the head is the last of the decoder's first layer, at the step that reads a piece, so that it
knows the piece. It learns from sure links of a lexicon instead of from the alignment of every piece.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from model.alignment import MARGIN, MIN_PROBABILITY, SMALLEST_SUM, layer_weights
from model.config import EOS_ID
from model.data.batching import Batch, Pair
from model.data.lexicon import LEXICON, Lexicon, train_lexicon
from model.decoder import LayerMemory
from model.translation_model import TranslationModel


class SureLinks:
    """The pieces of a batch that translate each other with high probability: the links of `alignment.lexicon_links`,
    and with a shared vocabulary equal pieces that occur once on each side."""

    def __init__(self, lexicon: Lexicon, source_embedding: str) -> None:
        self.size, self.shares_vocabulary = len(lexicon.words), source_embedding == "shared"
        # Less probable pairs neither form a link nor prevent one.
        source, rank = np.nonzero(lexicon.probability >= MIN_PROBABILITY / MARGIN)
        key = np.append(source * self.size + lexicon.words[source, rank], self.size**2)  # the last is no pair's
        probability = np.append(lexicon.probability[source, rank], np.float16(0))
        self.key, order = torch.from_numpy(key.astype(np.int64)).sort()
        self.probability = torch.from_numpy(probability.astype(np.float32))[order]

    def __call__(self, source: Tensor, target: Tensor) -> Tensor:
        """Ids [batch, source] and [batch, target] on the CPU, EOS and padding allowed -> bool [batch, target,
        source]."""
        words = (target > EOS_ID)[:, :, None] & (source > EOS_ID)[:, None, :]
        wanted = source[:, None, :] * self.size + target[:, :, None]
        place = torch.searchsorted(self.key, wanted).clamp(max=len(self.key) - 1)
        probability = torch.where(words & (self.key[place] == wanted), self.probability[place], 0.0)
        others = torch.maximum(largest_elsewhere(probability, 1), largest_elsewhere(probability, 2))
        links = (probability >= MIN_PROBABILITY) & (probability > MARGIN * others)
        if self.shares_vocabulary:
            same = (target[:, :, None] == source[:, None, :]) & words
            links |= same & (same.sum(1, keepdim=True) == 1) & (same.sum(2, keepdim=True) == 1)
        return links


def largest_elsewhere(values: Tensor, dim: int) -> Tensor:
    """For every element the largest of the others along `dim`, 0 where there are none: the same shape."""
    if values.shape[dim] == 1:
        return torch.zeros_like(values)
    best, place = values.topk(2, dim)
    first, second = best.narrow(dim, 0, 1), best.narrow(dim, 1, 1)
    return first.expand_as(values).scatter(dim, place.narrow(dim, 0, 1), second)


def alignment_loss(model: TranslationModel, batch: Batch, cross: list[LayerMemory], links: SureLinks) -> Tensor:
    """Sum over all sure links of -log of the weight that the target piece has on its source piece; `cross` are the
    source memories of the decoder's layers."""
    sure = links(batch.source.cpu(), batch.target_in[:, 1:].cpu()).to(batch.source.device)
    weights = layer_weights(model, cross, batch.source_keep, batch.target_in, layer=1)
    return -weights[:, -1, 1:][sure].clamp(min=SMALLEST_SUM).log().sum()


def lexicon_of(run: Path, start: Path | None, pairs: Callable[[], list[Pair]], vocab_size: int) -> Lexicon:
    """The lexicon of the run in the folder `run`: the stored one, else that of the model `start`, else one that
    is trained on `pairs`; it is stored there."""
    path = run / LEXICON
    if not path.is_file():
        if start is not None and (start / LEXICON).is_file():
            lexicon = Lexicon.load(start / LEXICON)
        else:
            lexicon = train_lexicon(pairs(), vocab_size)
        lexicon.save(path)
    return Lexicon.load(path)
