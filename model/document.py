"""A sentence model with context: attention to the other sentences of the document (Maruf et al. 2019).

On the encoder's side (context in the source language) the words of other sentences are their encoder outputs, and
the context layer changes the encoder output that the decoder attends to. On the decoder's side (context in both
languages) a stored word is the decoder step that predicted it: its key is the input of the last feed-forward network,
its value the final state; the layer changes the input of the output projection. Sentence states never depend on
context, so a store can be computed again from token ids alone.

Differs from the paper: there, layers normalise after the residual sum and both tensors come out normalised; it trains
everything, where most recipes here freeze the sentence model; and it learns from references (see training/drafts.py).
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from model.config import BOS_ID, EOS_ID, PAD_ID, ContextConfig
from model.context import ContextLayer, ContextResult, Store
from model.data.batching import Batch
from model.decoder import LayerMemory
from model.translation_model import TranslationModel


class Words(NamedTuple):
    """Representations of the words of several sentences, not yet projected."""

    key: Tensor
    """[sentence, W, d]"""
    value: Tensor
    """[sentence, W, d]"""
    keep: Tensor
    """bool [sentence, W]: padding, BOS and EOS are no words."""


class DocumentModel(nn.Module):
    """A sentence model and a context layer. A sentence without visible sentences is translated as by the sentence
    model."""

    def __init__(self, base: TranslationModel, config: ContextConfig) -> None:
        super().__init__()
        self.config = config
        self.base = base
        self.context = ContextLayer(base.config.d_model, config)

    @property
    def on_encoder(self) -> bool:
        return self.config.side == "encoder"

    def store(self, words: Words) -> Store:
        """Project the words of one document's sentences; the store has batch 1."""
        return self.context.project_store(words.key[None], words.value[None], words.keep[None])

    def attend(self, query: Tensor, state: Tensor, store: Store, distance: Tensor) -> ContextResult:
        """query and state [row, length, d], distance [row, J] (see masks.context_distance).

        Every row has its own store (store batch = row), or all rows share one (store batch 1); then the rows
        are concatenated as the queries of one document, and the weights are [1, heads, row*length, ...].
        """
        rows, length, width = query.shape
        if store.word_keep.shape[0] == rows:
            return self.context(query, state, store, distance[:, None])  # type: ignore[no-any-return]
        query, state = (x.reshape(1, rows * length, width) for x in (query, state))
        result: ContextResult = self.context(query, state, store, distance.repeat_interleave(length, dim=0)[None])
        return result._replace(state=result.state.view(rows, length, width))

    def attend_within(
        self, query: Tensor, state: Tensor, words: Words, own: Tensor, shown: Tensor, distance: Tensor
    ) -> ContextResult:
        """Every document's sentences attend to the store of their document: no hidden sentence is padded in.

        query and state [sentence, length, d], `words` of the key sentences, `own` and `shown` the indices of each
        document's sentences among the queries and the keys (see Passage.grids), distance [query, key sentence]. The
        state is [sentence, length, d], the weights are [document, heads, J*length, ...]."""
        length, width = query.shape[1:]
        rows, columns = own.clamp(min=0), shown.clamp(min=0)
        word_keep = words.keep[columns] & (shown >= 0)[..., None]
        store = self.context.project_store(words.key[columns], words.value[columns], word_keep)
        away = distance[rows[:, :, None], columns[:, None]] * (own >= 0)[:, :, None] * (shown >= 0)[:, None]
        laid = [x[rows].reshape(len(own), -1, width) for x in (query, state)]
        result: ContextResult = self.context(*laid, store, away.repeat_interleave(length, dim=1))
        spread = result.state.view(*own.shape, length, width)[own >= 0]
        order = own[own >= 0].argsort()
        return result._replace(state=spread[order])

    def encode(self, source: Tensor, source_keep: Tensor, store: Store, distance: Tensor) -> Tensor:
        """The encoder output that the decoder attends to: [row, source, d]."""
        encoder_output = self.base.encode(source, source_keep)
        return self.attend(encoder_output, encoder_output, store, distance).state if self.on_encoder else encoder_output

    def decode(
        self, target: Tensor, encoder_output: Tensor, source_keep: Tensor, store: Store, distance: Tensor
    ) -> Tensor:
        """Teacher-forced: target ids [row, target] from BOS on, encoder output from `encode` -> hidden [row, target,
        d]."""
        if self.on_encoder:
            return self.base.decode(target, encoder_output, source_keep)
        decoded = self.base.decoder_output(target, encoder_output, source_keep)
        return self.attend(decoded.query, decoded.state, store, distance).state

    def hidden(self, batch: Batch, store: Store, distance: Tensor) -> Tensor:
        """batch of rows, distance [row, J] -> the input of the output projection, [row, target, d]."""
        return self.hidden_and_context(batch, store, distance)[0]

    def hidden_and_context(self, batch: Batch, store: Store, distance: Tensor) -> tuple[Tensor, ContextResult]:
        """`hidden`, and the result of the context layer with its weights."""
        encoder_output = self.base.encode(batch.source, batch.source_keep)
        if self.on_encoder:
            result = self.attend(encoder_output, encoder_output, store, distance)
            return self.base.decode(batch.target_in, result.state, batch.source_keep), result
        decoded = self.base.decoder_output(batch.target_in, encoder_output, batch.source_keep)
        result = self.attend(decoded.query, decoded.state, store, distance)
        return result.state, result

    def step(
        self,
        token: Tensor,
        position: Tensor,
        rings: list[LayerMemory],
        cross: list[LayerMemory],
        source_keep: Tensor,
        store: Store,
        distance: Tensor,
    ) -> tuple[Tensor, list[LayerMemory]]:
        """One token per row as TranslationModel.step, `cross` projected from `encode`; the store never changes."""
        if self.on_encoder:
            return self.base.step(token, position, rings, cross, source_keep)
        decoded = self.base.step_output(token, position, rings, cross, source_keep)
        state = self.attend(decoded.query, decoded.state, store, distance).state
        return self.base.embedding.logits(state[:, 0]), decoded.memory


def words_of(base: TranslationModel, side: str, batch: Batch) -> Words:
    """The word representations of the sentences of `batch`; their targets are used on the decoder's side only."""
    encoder_output = base.encode(batch.source, batch.source_keep)
    if side == "encoder":
        return Words(encoder_output, encoder_output, before_eos(batch.source_keep))
    # The step that predicts a word stands for it, so keys and values line up with target_out.
    decoded = base.decoder_output(batch.target_in, encoder_output, batch.source_keep)
    return Words(decoded.query, decoded.state, is_word(batch.target_out))


def before_eos(keep: Tensor) -> Tensor:
    """The positions of words among those that are kept, bool [sentence, length]: all but the last, whatever ids the
    model has."""
    return keep & torch.nn.functional.pad(keep[:, 1:], (0, 1))


def is_word(ids: Tensor) -> Tensor:
    """Whether an id is a piece of a text, and not padding, BOS or EOS: bool, of the shape of `ids`."""
    return (ids != PAD_ID) & (ids != BOS_ID) & (ids != EOS_ID)
