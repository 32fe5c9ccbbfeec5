"""Attention over the sentences of a document (Maruf et al. 2019, "Selective Attention for Context-aware Neural
Machine Translation", section 3.1): four ways to weigh J sentences of up to W words.

`project_store` computes the tensors that are stored of every sentence for the rest of the document; `forward` computes
what depends on the query. Projections have no bias, so the projection of a mean is the mean of projections. A query
that sees no sentence gets weights of zero everywhere."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from model.attention.decay import per_word, with_decay
from model.attention.scaled_dot_product import attention_energy, masked_softmax, merge_heads, split_heads
from model.attention.sparsemax import sparsemax
from model.config import ConfigError, ContextConfig
from model.symbolic import cast_like


class VisibleSentences(NamedTuple):
    """The sentences of a document that each query may attend to."""

    keep: Tensor
    """bool [batch, 1 or query, J], False for sentences without words"""
    word_keep: Tensor
    """bool [batch, J, W]"""
    decay: Tensor | None = None
    """Bias of the energies by distance (see Decay), [batch, heads or 1, 1 or query, J]."""


class AttentionOutput(NamedTuple):
    """The output of an attention, with its attention weights."""

    output: Tensor
    """[batch, query, d]"""
    sentence_weights: Tensor
    """[batch, heads, query, J], each row summing to one, or to zero where no sentence is visible."""
    word_weights: Tensor | None
    """[batch, heads, query, J, W], summing to one over all words; None where words have no weights of their own."""


class ContextAttention(nn.Module):
    """Base of the four mechanisms."""

    store_names: tuple[str, ...] = ()
    """The tensors of `project_store`: those of a sentence are [batch, J, d], those of words [batch, J, W, d]."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.output = projection(d_model)

    def heads(self, x: Tensor) -> Tensor:
        """[batch, length, d] -> [batch, heads, length, head_dim]"""
        return split_heads(x, self.num_heads)

    def project_store(self, key: Tensor, value: Tensor, word_keep: Tensor) -> tuple[Tensor, ...]:
        """Word representations key and value [batch, J, W, d], word_keep bool [batch, J, W] -> the stored tensors."""
        raise NotImplementedError

    def forward(self, query: Tensor, store: tuple[Tensor, ...], visible: VisibleSentences) -> AttentionOutput:
        """query [batch, query, d], store from project_store."""
        raise NotImplementedError


class FlatSentenceAttention(ContextAttention):
    """Softmax over sentences, each the mean of its words (Maruf et al. 2019, Eq. 6)."""

    store_names = ("sentence_key", "sentence_value")

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__(d_model, num_heads)
        self.query, self.key, self.value = (projection(d_model) for _ in range(3))

    def project_store(self, key: Tensor, value: Tensor, word_keep: Tensor) -> tuple[Tensor, ...]:
        return self.key(mean_of_words(key, word_keep)), self.value(mean_of_words(value, word_keep))

    def forward(self, query: Tensor, store: tuple[Tensor, ...], visible: VisibleSentences) -> AttentionOutput:
        key, value = (self.heads(tensor) for tensor in store)
        energy = with_decay(attention_energy(self.heads(self.query(query)), key), visible.decay)
        weights = masked_softmax(energy, visible.keep[:, None])
        return AttentionOutput(self.output(merge_heads(torch.matmul(cast_like(weights, value), value))), weights, None)


class FlatWordAttention(ContextAttention):
    """Softmax over all words of all visible sentences. A sentence's weight is the sum of the weights of its words."""

    store_names = ("word_key", "word_value")

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__(d_model, num_heads)
        self.query, self.key, self.value = (projection(d_model) for _ in range(3))

    def project_store(self, key: Tensor, value: Tensor, word_keep: Tensor) -> tuple[Tensor, ...]:
        return self.key(key), self.value(value)

    def forward(self, query: Tensor, store: tuple[Tensor, ...], visible: VisibleSentences) -> AttentionOutput:
        key, value = (tensor.flatten(1, 2) for tensor in store)
        word_keep = visible.word_keep
        keep = (visible.keep[..., None] & word_keep[:, None]).flatten(2)
        decay = None if visible.decay is None else per_word(visible.decay, word_keep.shape[-1])
        output, weights = self.mix_words(query, key, value, keep, decay)
        weights = by_sentence(weights, word_keep)
        return AttentionOutput(output, weights.sum(dim=-1), weights)

    def mix_words(
        self, query: Tensor, key: Tensor, value: Tensor, keep: Tensor, decay: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """query [batch, query, d], the words of all sentences: key and value [batch, word, d], keep bool [batch, 1 or
        query, word], decay [batch, heads or 1, 1 or query, word] -> output [batch, query, d], weights [batch, heads,
        query, word]."""
        key, value = self.heads(key), self.heads(value)
        energy = with_decay(attention_energy(self.heads(self.query(query)), key), decay)
        weights = masked_softmax(energy, keep[:, None])
        return self.output(merge_heads(torch.matmul(cast_like(weights, value), value))), weights


class HierarchicalAttention(ContextAttention):
    """Sentences by sparsemax, the words of each by softmax or sparsemax (Maruf et al. 2019, Eq. 3-5).

    A word's weight is its sentence's weight times its own within the sentence; nothing is renormalised. The two steps,
    `sentence_weights` and `mix_words`, can run apart, and sentences without weight can be left out of the second.
    Differs from the paper: a sentence without words is masked, not represented by a zero vector.
    """

    store_names = ("sentence_key", "word_key", "word_value")

    def __init__(self, d_model: int, num_heads: int, sparse_words: bool) -> None:
        super().__init__(d_model, num_heads)
        self.normalize_words = sparsemax if sparse_words else masked_softmax
        self.sentence_query, self.word_query = projection(d_model), projection(d_model)
        self.sentence_key, self.word_key, self.word_value = (projection(d_model) for _ in range(3))

    def project_store(self, key: Tensor, value: Tensor, word_keep: Tensor) -> tuple[Tensor, ...]:
        return self.sentence_key(mean_of_words(key, word_keep)), self.word_key(key), self.word_value(value)

    def forward(self, query: Tensor, store: tuple[Tensor, ...], visible: VisibleSentences) -> AttentionOutput:
        sentence_key, word_key, word_value = store
        sentence_weights = self.sentence_weights(query, sentence_key, visible.keep, visible.decay)
        mixed, word_weights = self.mix_words(query, word_key, word_value, visible.word_keep, sentence_weights)
        return AttentionOutput(self.output(mixed), sentence_weights, word_weights)

    def sentence_weights(
        self, query: Tensor, sentence_key: Tensor, sentence_keep: Tensor, decay: Tensor | None = None
    ) -> Tensor:
        """query [batch, query, d], sentence_key [batch, J, d], sentence_keep [batch, 1 or query, J]
        -> [batch, heads, query, J]."""
        return sparsemax(self.sentence_energy(query, sentence_key, decay), sentence_keep[:, None])

    def sentence_energy(self, query: Tensor, sentence_key: Tensor, decay: Tensor | None) -> Tensor:
        """[batch, heads, query, J], before masking."""
        energy = attention_energy(self.heads(self.sentence_query(query)), self.heads(sentence_key))
        return with_decay(energy, decay)

    def mix_words(
        self, query: Tensor, word_key: Tensor, word_value: Tensor, word_keep: Tensor, sentence_weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        """word_key and word_value [batch, J, W, d], word_keep [batch, J, W], sentence_weights [batch, heads, query, J]
        -> the mixture before the output's projection, [batch, query, d], and the words' weights.

        J may be any selection of sentences that includes those with a weight: the mixtures of a document's parts add up
        to that of the whole.
        """
        key, value = self.heads(word_key.flatten(1, 2)), self.heads(word_value.flatten(1, 2))
        energy = by_sentence(attention_energy(self.heads(self.word_query(query)), key), word_keep)
        weights = sentence_weights[..., None] * self.normalize_words(energy, word_keep[:, None, None])
        return merge_heads(torch.matmul(cast_like(weights.flatten(3), value), value)), weights


def projection(d_model: int) -> nn.Linear:
    """A linear map [d] -> [d] without bias."""
    linear = nn.Linear(d_model, d_model, bias=False)
    nn.init.xavier_uniform_(linear.weight)
    return linear


def mean_of_words(x: Tensor, word_keep: Tensor) -> Tensor:
    """x [batch, J, W, d], word_keep [batch, J, W] -> [batch, J, d]; zeros for a sentence without words."""
    count = word_keep.sum(dim=-1, keepdim=True).clamp(min=1)
    return (x * word_keep[..., None]).sum(dim=-2) / cast_like(count, x)


def by_sentence(x: Tensor, word_keep: Tensor) -> Tensor:
    """[batch, heads, query, J*W] -> [batch, heads, query, J, W]"""
    return x.reshape(*x.shape[:-1], *word_keep.shape[1:])


def context_attention(d_model: int, config: ContextConfig) -> ContextAttention:
    """The mechanism that the configuration names. Raises ConfigError where its heads do not divide d_model."""
    if d_model % config.num_heads:
        raise ConfigError(f"the model's d_model {d_model} is not a multiple of context num_heads {config.num_heads}")
    if config.attention == "flat-sentence":
        return FlatSentenceAttention(d_model, config.num_heads)
    if config.attention == "flat-word":
        return FlatWordAttention(d_model, config.num_heads)
    return HierarchicalAttention(d_model, config.num_heads, sparse_words=config.attention == "sparse-sparse")
