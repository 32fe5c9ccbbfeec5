"""Subword regularization (Kudo 2018): the segmentation of sources is sampled again in every epoch, so that a model
learns rare pieces, such as those of misspelled words."""

import dataclasses
import hashlib
import random
from collections.abc import Sequence
from pathlib import Path

from model.data.batching import Pair
from model.data.documents import Document
from model.data.vocabulary import Vocabulary
from model.training.id_lists import load_id_lists, save_id_lists
from model.training.recipe import DataRecipe


class SampledSources:
    """The sampled sources of a run. SentencePiece samples differently in every process, so the sources of an epoch are
    stored in `folder`, and a resumed run continues with them, unless the text or the share have changed. Two runs never
    have the same samples."""

    def __init__(self, recipe: DataRecipe, vocabulary: Vocabulary, seed: int, folder: Path) -> None:
        self.recipe, self.vocabulary, self.seed, self.folder = recipe, vocabulary, seed, folder

    def pairs(self, pairs: Sequence[Pair], epoch: int) -> list[Pair]:
        """The epoch's `pairs`; the sources of the recipe's share of them are sampled."""
        if not self.recipe.drawn:
            return list(pairs)
        kept = self.folder / f"{epoch}-{self._fingerprint(pairs)[:16]}.safetensors"
        if not kept.is_file():
            save_id_lists(self._draw(pairs, epoch), kept)
        return [Pair(source, pair.target) for source, pair in zip(load_id_lists(kept), pairs, strict=True)]

    def documents(self, documents: Sequence[Document], epoch: int) -> list[Document]:
        """The same for the sentences of documents. Drafts do not change."""
        pairs = [sentence.pair for document in documents for sentence in document]
        drawn = iter(self.pairs(pairs, epoch))
        return [[dataclasses.replace(sentence, pair=next(drawn)) for sentence in document] for document in documents]

    def _fingerprint(self, pairs: Sequence[Pair]) -> str:
        """Changes with the sources, their order and the settings of sampling."""
        drawn = (self.seed, self.recipe.drawn, self.recipe.max_pair_length, [pair.source for pair in pairs])
        return hashlib.sha256(repr(drawn).encode()).hexdigest()

    def _draw(self, pairs: Sequence[Pair], epoch: int) -> list[list[int]]:
        """Sources of `pairs`; a sample beyond the recipe's pair length is not used."""
        chosen = random.Random(f"{self.seed}/{epoch}/drawn").sample(
            range(len(pairs)), round(len(pairs) * self.recipe.drawn)
        )
        sources = [pair.source for pair in pairs]
        texts = self.vocabulary.decode([sources[place] for place in chosen])
        for place, source in zip(chosen, self.vocabulary.sample(texts), strict=True):
            if 0 < len(source) <= self.recipe.max_pair_length:
                sources[place] = source
        return sources
