"""Measures a context layer on the sentences of a document: their negative log-likelihood, and where they look."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from model.config import PAD_ID
from model.context import ContextResult, Store
from model.data.batching import Batch, Pair, collate
from model.document import DocumentModel
from model.scoring import log_probabilities
from model.translation_model import TranslationModel

BATCH_ROWS = 16


@dataclass
class Looks:
    """Sums over queries (words of the sentences that look) and what they may see."""

    sentences: float = 0.0
    """Sentence weights: heads x queries x visible sentences."""
    zero_sentences: float = 0.0
    words: float = 0.0
    """Word weights: heads x queries x words of visible sentences."""
    zero_words: float = 0.0
    visible: float = 0.0
    """Pairs of a sentence and one that it may see; `used`: those in which some weight is not zero."""
    used: float = 0.0
    gates: float = 0.0
    context_share: float = 0.0
    """Sum over `gates` of 1 - gate."""

    def add(self, other: "Looks") -> None:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def shares(self) -> dict[str, float]:
        """Of sentence weights and word weights that are exactly zero, of visible sentences that are used, and of
        context in what the gate lets through; 0 where nothing was seen."""
        return {
            "zero sentences": self.zero_sentences / max(self.sentences, 1),
            "zero words": self.zero_words / max(self.words, 1),
            "used": self.used / max(self.visible, 1),
            "context": self.context_share / max(self.gates, 1),
        }


def costs_in_context(
    model: DocumentModel, document: Sequence[Pair], store: Store, keep: Tensor
) -> tuple[list[float], Looks]:
    """Negative log-likelihood (nats) of every target, EOS included, and where the layer looked, when sentences see
    those of `store` that `keep` bool [sentence, stored sentence] says."""
    looks = Looks()

    def hidden(batch: Batch, rows: list[int]) -> Tensor:
        state, result = model.hidden_and_look(batch, store, keep[rows])
        queries = batch.source_keep if model.on_encoder else batch.target_out != PAD_ID
        looks.add(looks_of(result, store.word_keep[0], keep[rows], queries))
        return state

    return costs(model.base, document, hidden), looks


@torch.no_grad()
def costs(
    model: TranslationModel, document: Sequence[Pair], hidden: Callable[[Batch, list[int]], Tensor]
) -> list[float]:
    """`hidden` gets batches of sentences of similar length, and which they are."""
    order = sorted(range(len(document)), key=lambda index: len(document[index].target))
    found: dict[int, float] = {}
    for start in range(0, len(order), BATCH_ROWS):
        rows = order[start : start + BATCH_ROWS]
        batch = collate([document[row] for row in rows])
        scores = log_probabilities(model, hidden(batch, rows), batch.target_out)
        found |= dict(zip(rows, (-scores).tolist(), strict=True))
    return [found[index] for index in range(len(document))]


def looks_of(result: ContextResult, word_keep: Tensor, distance: Tensor, queries: Tensor) -> Looks:
    """Count, for rows that share a store: word_keep bool [J, W], distance [row, J], queries bool
    [row, length]. The weights of `result` are [1, heads, row*length, J] and [..., J, W]."""
    rows, length = queries.shape
    heads = result.sentence_weights.shape[1]

    def by_row(found: Tensor) -> Tensor:
        return found.view(heads, rows, length, *found.shape[3:]).transpose(0, 1)

    visible = (distance > 0) & word_keep.any(dim=-1)
    # [row, heads, length, J]
    weights = by_row(result.sentence_weights)
    asked = queries[:, None, :, None] & visible[:, None, None]
    looks = Looks(
        sentences=float(heads * asked.sum()),
        zero_sentences=float(((weights == 0) & asked).sum()),
        visible=float(visible.sum()),
        used=float(((weights > 0) & asked).any(dim=1).any(dim=1).sum()),
    )
    if result.word_weights is not None:
        words = by_row(result.word_weights)
        asked_words = asked[..., None] & word_keep
        looks.words = float(heads * asked_words.sum())
        looks.zero_words = float(((words == 0) & asked_words).sum())
    seeing = queries & visible.any(dim=-1, keepdim=True)
    gate = result.gate.reshape(rows, length, -1)[seeing]
    looks.gates, looks.context_share = float(gate.numel()), float((1 - gate).sum())
    return looks
