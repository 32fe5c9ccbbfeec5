"""Measures a context layer on the sentences of a document: negative log-likelihood, and statistics of attention
weights."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from torch import Tensor

from export.compare.likelihood import sentence_nll
from model.config import PAD_ID
from model.context import ContextResult, Store
from model.data.batching import Batch, Pair
from model.document import DocumentModel


@dataclass
class AttentionCounts:
    """Sums over queries (words of sentences) and their visible sentences and words."""

    sentences: float = 0.0
    """Sentence weights: heads x queries x visible sentences."""
    zero_sentences: float = 0.0
    words: float = 0.0
    """Word weights: heads x queries x words of visible sentences."""
    zero_words: float = 0.0
    visible: float = 0.0
    """Pairs of a sentence and a visible sentence; `used`: pairs with a weight above zero."""
    used: float = 0.0
    gates: float = 0.0
    context_share: float = 0.0
    """Sum over `gates` of 1 - gate."""

    def add(self, other: "AttentionCounts") -> None:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def shares(self) -> dict[str, float]:
        """The shares of sentence and word weights that are exactly zero, of visible sentences that are used, and of
        context in the gated state; 0 without visible sentences."""
        return {
            "zero sentences": self.zero_sentences / max(self.sentences, 1),
            "zero words": self.zero_words / max(self.words, 1),
            "used": self.used / max(self.visible, 1),
            "context": self.context_share / max(self.gates, 1),
        }


def costs_in_context(
    model: DocumentModel, document: Sequence[Pair], store: Store, keep: Tensor
) -> tuple[list[float], AttentionCounts]:
    """Negative log-likelihood (nats) of every target, EOS included, and counts of attention weights, where `keep` bool
    [sentence, stored sentence] marks the visible sentences of `store`."""
    counts = AttentionCounts()

    def hidden(batch: Batch, rows: list[int]) -> Tensor:
        state, result = model.hidden_and_context(batch, store, keep[rows])
        queries = batch.source_keep if model.on_encoder else batch.target_out != PAD_ID
        counts.add(count_attention(result, store.word_keep[0], keep[rows], queries))
        return state

    return sentence_nll(model.base, document, hidden), counts


def count_attention(result: ContextResult, word_keep: Tensor, distance: Tensor, queries: Tensor) -> AttentionCounts:
    """Counts for rows that share a store: word_keep bool [J, W], distance [row, J], queries bool
    [row, length]. The weights of `result` are [1, heads, row*length, J] and [..., J, W]."""
    rows, length = queries.shape
    heads = result.sentence_weights.shape[1]

    def by_row(found: Tensor) -> Tensor:
        return found.view(heads, rows, length, *found.shape[3:]).transpose(0, 1)

    visible = (distance > 0) & word_keep.any(dim=-1)
    # [row, heads, length, J]
    weights = by_row(result.sentence_weights)
    pairs = queries[:, None, :, None] & visible[:, None, None]
    counts = AttentionCounts(
        sentences=float(heads * pairs.sum()),
        zero_sentences=float(((weights == 0) & pairs).sum()),
        visible=float(visible.sum()),
        used=float(((weights > 0) & pairs).any(dim=1).any(dim=1).sum()),
    )
    if result.word_weights is not None:
        words = by_row(result.word_weights)
        word_pairs = pairs[..., None] & word_keep
        counts.words = float(heads * word_pairs.sum())
        counts.zero_words = float(((words == 0) & word_pairs).sum())
    seeing = queries & visible.any(dim=-1, keepdim=True)
    gate = result.gate.reshape(rows, length, -1)[seeing]
    counts.gates, counts.context_share = float(gate.numel()), float((1 - gate).sum())
    return counts
