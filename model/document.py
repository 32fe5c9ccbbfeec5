"""A sentence model that looks at the rest of the document (Maruf et al. 2019).

On the encoder's side (context in the source language) the words of other sentences are their encoder outputs, and
the context layer changes the memory that the decoder reads. On the decoder's side (context in both languages) a
stored word is the decoder's step that predicted it: its key is what source attention left in the last layer, as that
layer's feed-forward network reads it, its value the final state; the layer changes what enters the output projection.
Sentence states never depend on context, so a store can be made again from token ids alone.

Differs from the paper: there, layers normalise after the residual sum and both tensors come out normalised; it trains
everything, where most recipes here freeze the sentence model; and it learns from references (see training/drafts.py).
"""

from typing import NamedTuple

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
    """A sentence model and a context layer. A sentence that sees no other is treated as by the sentence model."""

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

    def look(self, query: Tensor, state: Tensor, store: Store, distance: Tensor) -> ContextResult:
        """query and state [row, length, d], distance [row, J] (see masks.context_distance).

        Every row has its own store (store batch = row), or all rows share one (store batch 1); then they are laid
        end to end as the queries of one document, and the weights are [1, heads, row*length, ...].
        """
        rows, length, width = query.shape
        if store.word_keep.shape[0] == rows:
            return self.context(query, state, store, distance[:, None])  # type: ignore[no-any-return]
        query, state = (x.reshape(1, rows * length, width) for x in (query, state))
        result: ContextResult = self.context(query, state, store, distance.repeat_interleave(length, dim=0)[None])
        return result._replace(state=result.state.view(rows, length, width))

    def look_within(
        self, query: Tensor, state: Tensor, words: Words, own: Tensor, shown: Tensor, distance: Tensor
    ) -> ContextResult:
        """Every document's sentences look at its own store: nothing is laid out that no sentence may see.

        query and state [sentence, length, d], `words` of the sentences that are shown, `own` and `shown` the numbers
        of each document's sentences among both (see Passage.grids), distance [sentence, shown sentence]. The state
        is [sentence, length, d], the weights are [document, heads, J*length, ...].
        """
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
        """The memory that the decoder reads: [row, source, d]."""
        memory = self.base.encode(source, source_keep)
        return self.look(memory, memory, store, distance).state if self.on_encoder else memory

    def decode(self, target: Tensor, memory: Tensor, source_keep: Tensor, store: Store, distance: Tensor) -> Tensor:
        """Teacher-forced: target ids [row, target] from BOS on, memory from `encode` -> hidden [row, target, d]."""
        if self.on_encoder:
            return self.base.decode(target, memory, source_keep)
        decoded = self.base.decoded(target, memory, source_keep)
        return self.look(decoded.query, decoded.state, store, distance).state

    def hidden(self, batch: Batch, store: Store, distance: Tensor) -> Tensor:
        """batch of rows, distance [row, J] -> what enters the output projection, [row, target, d]."""
        return self.hidden_and_look(batch, store, distance)[0]

    def hidden_and_look(self, batch: Batch, store: Store, distance: Tensor) -> tuple[Tensor, ContextResult]:
        """`hidden`, and where the context layer looked."""
        memory = self.base.encode(batch.source, batch.source_keep)
        if self.on_encoder:
            found = self.look(memory, memory, store, distance)
            return self.base.decode(batch.target_in, found.state, batch.source_keep), found
        decoded = self.base.decoded(batch.target_in, memory, batch.source_keep)
        found = self.look(decoded.query, decoded.state, store, distance)
        return found.state, found

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
        decoded = self.base.stepped(token, position, rings, cross, source_keep)
        state = self.look(decoded.query, decoded.state, store, distance).state
        return self.base.embedding.logits(state[:, 0]), decoded.memory


def words_of(base: TranslationModel, side: str, batch: Batch) -> Words:
    """What a store keeps of the sentences of `batch`; their target matters on the decoder's side only."""
    memory = base.encode(batch.source, batch.source_keep)
    if side == "encoder":
        return Words(memory, memory, is_word(batch.source))
    # The step that predicts a word stands for it, so keys and values line up with target_out.
    decoded = base.decoded(batch.target_in, memory, batch.source_keep)
    return Words(decoded.query, decoded.state, is_word(batch.target_out))


def is_word(ids: Tensor) -> Tensor:
    return (ids != PAD_ID) & (ids != BOS_ID) & (ids != EOS_ID)
