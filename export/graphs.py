"""Encode and step graphs as PyTorch modules over flat tensors: the general path, for any model and any exporter.

They compute what export.onnx_graph builds by hand, from the model's own layers; the tensors are those of
server/artifact.py.
"""

import torch
from torch import Tensor, nn

from export.paged_attention import Pages, look_at_pages
from model.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from model.context import ContextLayer
from model.document import last_ffn_norm, recorded
from model.masks import ngram_keep, padding_keep, positions_of
from model.translation_model import TranslationModel
from server.backends.state import DEAD_SCORE

NEVER = -1e9


class EncodeGraph(nn.Module):
    """source_ids, source_keep [batch, source] -> every layer's cross-attention tensors, flat, and, if it is wanted,
    the memory [batch, source, d] that they are made of."""

    def __init__(self, model: TranslationModel, with_memory: bool = False) -> None:
        super().__init__()
        self.model, self.with_memory = model, with_memory

    def forward(self, source_ids: Tensor, source_keep: Tensor) -> list[Tensor]:
        memory = self.model.encode(source_ids, source_keep > 0)
        tensors = [tensor for layer in self.model.decoder.project_source(memory) for tensor in layer]
        return [*tensors, memory] if self.with_memory else tensors


class StepGraph(nn.Module):
    """One token for every row; rows are a slot's query positions, the ring's entries of all beams its keys. With a
    `context` layer on the decoder's side every slot has a document, which its rows look at last."""

    output_bias: Tensor

    def __init__(self, model: TranslationModel, context: ContextLayer | None = None) -> None:
        super().__init__()
        self.model, self.context = model, context
        bias = torch.zeros(model.config.vocab_size)
        bias[[PAD_ID, UNK_ID, BOS_ID]] = NEVER
        self.register_buffer("output_bias", bias)

    def forward(
        self,
        shared: list[Tensor],
        rows: list[Tensor],
        rings: list[Tensor],
        sources: list[Tensor],
        document: list[Tensor] | None = None,
    ) -> list[Tensor]:
        """shared: is_row, position, own_key, write_index, key_age, source_keep; rows: token, parent, score, ancestry;
        document: every slot's pages, in the order of export.paged_attention.page_inputs.

        Returns the three candidate tensors, the following rows in the same order, and the rings.
        """
        is_row, score = shared[0], rows[2]
        log_probability, ancestry, *written = self.decode(shared, rows, rings, sources, document)
        best, next_token, next_parent = best_candidates(log_probability, score)
        following = next_rows(best, next_token, next_parent, is_row)
        return [best, next_token, next_parent, *following, ancestry, *written]

    def decode(
        self,
        shared: list[Tensor],
        rows: list[Tensor],
        rings: list[Tensor],
        sources: list[Tensor],
        document: list[Tensor] | None = None,
    ) -> list[Tensor]:
        """Everything before the choice among candidates: log-probabilities [slot, beam, vocabulary], the rows'
        ancestry with this step, and the rings."""
        with recorded(last_ffn_norm(self.model)) as queries:
            state, ancestry, *written = self.decode_alone(shared, rows, rings, sources)
        if self.context is not None and document is not None:
            looks = rows[0] >= 0  # every row
            state = look_at_pages(self.context, queries[0], state, looks, Pages.of(document)).mixed.state
        logits = self.model.embedding.logits(state) + self.output_bias
        return [torch.log_softmax(logits, dim=-1), ancestry, *written]

    def decode_alone(
        self, shared: list[Tensor], rows: list[Tensor], rings: list[Tensor], sources: list[Tensor]
    ) -> list[Tensor]:
        """The final state of every row [slot, beam, d], which no document has changed, ancestry and rings."""
        _, position, own_key, write_index, key_age, source_keep = shared
        token, parent, _, ancestry = rows
        ancestry = inherit_ancestry(ancestry, parent, own_key)
        row_position = position[:, None].expand(token.shape)  # [slot, beam]
        key_position = position[:, None] - key_age[None, :]  # [slot, entry]
        # A row's own past is what ancestry says, so no order is asked of the N-gram mask again.
        keep = ngram_keep(row_position, key_position, None) & ancestry[:, None]
        x = self.model.embedding(token, row_position)  # [slot, beam, d]
        written: list[Tensor] = []
        for layer in self.model.decoder.decoder_layers():
            names = layer.self_attention.memory_names
            own_rings, rings = rings[: len(names)], rings[len(names) :]
            cross_names = layer.cross_attention.memory_names
            cross, sources = tuple(sources[: len(cross_names)]), sources[len(cross_names) :]
            y = layer.self_norm(x)
            new = [
                write_ring(ring, heads, write_index)
                for ring, heads in zip(own_rings, layer.self_attention.project_memory(y), strict=True)
            ]
            written += new
            x = x + layer.self_attention(y, tuple(new), keep, row_position, key_position, ordered=False)
            x = layer.after_self_attention(
                x, row_position, cross, padding_keep(source_keep > 0), positions_of(source_keep)
            )
        return [self.model.decoder.norm(x), ancestry, *written]


def write_ring(ring: Tensor, new: Tensor, write_index: Tensor) -> Tensor:
    """new [slot, heads, beam, head_dim] goes into this step's entries: [slot, heads, entry, head_dim].

    One ScatterND in ONNX, the only reader of the ring that was: see export.onnx_general.
    """
    return ring.index_put(write_index.unbind(dim=-1), new.transpose(1, 2))


def inherit_ancestry(ancestry: Tensor, parent: Tensor, own_key: Tensor) -> Tensor:
    """Every row takes its parent's past, forgets the ring slot written in this step, and gains its own entry."""
    inherited = torch.gather(ancestry, 1, parent[:, :, None].expand(-1, -1, ancestry.shape[2]))
    return inherited & ~own_key.any(dim=0) | own_key


def best_candidates(log_probability: Tensor, score: Tensor) -> list[Tensor]:
    """[slot, beam, vocabulary], [slot, beam] -> score, token, parent [slot, 2*beam]; ties: lower parent, then token."""
    vocabulary = log_probability.shape[2]
    total = (log_probability + score[:, :, None]).flatten(1)
    best, place = torch.sort(total, dim=1, descending=True, stable=True)
    count = 2 * score.shape[1]
    place = place[:, :count]
    return [best[:, :count], place.remainder(vocabulary), torch.div(place, vocabulary, rounding_mode="floor")]


def next_rows(score: Tensor, token: Tensor, parent: Tensor, is_row: Tensor) -> list[Tensor]:
    """Candidates [slot, 2*beam] -> token, parent, score [slot, beam] of the best that are not EOS."""
    going_on = score.masked_fill(token == EOS_ID, 2 * float(DEAD_SCORE))
    best, place = torch.sort(going_on, dim=1, descending=True, stable=True)
    place = place[:, : is_row.shape[1]]
    alive = torch.where(is_row, best[:, : is_row.shape[1]], torch.full_like(best[:, :1], float(DEAD_SCORE)))
    return [token.gather(1, place), parent.gather(1, place), alive]
