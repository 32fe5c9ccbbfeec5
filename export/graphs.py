"""Encode and step graphs as PyTorch modules over flat tensors, for any model and any exporter; the tensors are those of
server/artifact/signature.py."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from export.paged_attention import Pages, attend_context_pages
from model.attention.recurrent import advance
from model.attention.visible_keys import VisibleKeys
from model.context import ContextLayer
from model.decoder import LayerMemory
from model.masks import HIDDEN
from model.symbolic import constant, shaped, sizes_of, with_symbolic
from model.translation_model import TranslationModel
from server.artifact.signature import CHOSEN, LOG_PROBABILITY
from server.backends.state import DEAD_SCORE


class EncodeGraph(nn.Module):
    """source_ids, source_keep [batch, source] -> every layer's cross-attention tensors, flat, and, with
    `with_memory`, the encoder output [batch, source, d]."""

    def __init__(self, model: TranslationModel, with_memory: bool = False) -> None:
        super().__init__()
        self.model, self.with_memory = model, with_memory

    def forward(self, source_ids: Tensor, source_keep: Tensor) -> list[Tensor]:
        memory = self.model.encode(source_ids, source_keep > 0)
        tensors = [tensor for layer in self.model.decoder.project_source(memory) for tensor in layer]
        return [*tensors, memory] if self.with_memory else tensors


class StepStates(nn.Module):
    """One token for every row, up to the state from which its continuations are scored. The rows of a slot are its
    query positions, the ring entries of all beams its keys. With a `context` layer on the decoder's side the rows
    attend to the document of their slot last."""

    def __init__(self, model: TranslationModel, context: ContextLayer | None = None) -> None:
        super().__init__()
        self.model, self.context = model, context

    def forward(
        self,
        token: Tensor,
        parent: Tensor,
        position: Tensor,
        ancestry: Tensor,
        own_key: Tensor,
        kept_key: Tensor,
        key_age: Tensor,
        write_index: Tensor,
        first_row: Tensor,
        source_keep: Tensor,
        past: list[Tensor],
        sources: list[Tensor],
        document: list[Tensor] | None = None,
    ) -> list[Tensor]:
        """past: rings and recurrent tensors, layer by layer. document: every slot's pages, in the order of
        export.paged_attention.page_inputs.

        Returns the final state [slot, beam, d], the rows' ancestry with this step, and the past with this step.
        """
        model, layers = self.model, self.model.decoder.decoder_layers()
        rows = parent + first_row
        ancestry = inherit_ancestry(ancestry, rows, own_key, kept_key)
        here = position[:, None]
        # Ancestry holds a row's own past only, so the N-gram mask would hide nothing more.
        seen = VisibleKeys(ancestry[:, None], here, here - key_age, ordered=False)
        own_past = by_layer(past, [layer.self_attention.memory_names for layer in layers])

        def update_cache(layer: int, new: LayerMemory) -> LayerMemory:
            if layers[layer].is_recurrent:
                return advance(new, inherit_rows(own_past[layer][0], rows), position)
            pairs = zip(own_past[layer], new, strict=True)
            return tuple(write_ring(ring, write_index, heads.transpose(1, 2)) for ring, heads in pairs)

        decoded = model.decoder(
            model.embedding(token, here),
            seen,
            by_layer(sources, [layer.cross_attention.memory_names for layer in layers]),
            model.visible_source(here, source_keep > 0),
            update_cache,
        )
        state = decoded.state
        if self.context is not None and document is not None:
            attends = token >= 0  # every row
            state = attend_context_pages(self.context, decoded.query, state, attends, Pages.of(document)).mixed.state
        return [state, ancestry, *(tensor for layer in decoded.memory for tensor in layer)]


class ScoreGraph(nn.Module):
    """StepStates and the log-probability of every word, for exporters that trace the whole step in PyTorch. Takes and
    returns a step's tensors by name, a document's (see export.paged_attention.page_inputs) last and in their order;
    computes kept_key and first_row itself."""

    output_bias: Tensor

    def __init__(self, model: TranslationModel, context: ContextLayer | None = None) -> None:
        super().__init__()
        self.states = StepStates(model, context)
        given = model.embedding.output_bias
        bias = torch.zeros(model.config.vocab_size) if given is None else given.detach().clone()
        bias[list(model.config.ids.suppressed)] = HIDDEN
        self.register_buffer("output_bias", bias)

    def forward(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        state, written = self.advance(inputs)
        return {**written, LOG_PROBABILITY: self.score_words(state)}

    def advance(self, inputs: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """The state [slot, beam, d], and the memory that this step has written, by name."""
        token, own_key = inputs["token"], inputs["own_key"]
        past, sources, document = (
            {name: tensor for name, tensor in inputs.items() if name.startswith(kinds)}
            for kinds in (("ring.", "recurrent."), "source.", ("sentence_", "word_"))
        )
        first_row = torch.arange(token.shape[0], device=token.device)[:, None] * token.shape[1]
        state, *written = self.states(
            token, inputs["parent"], inputs["position"], inputs["ancestry"], own_key,
            ~own_key.any(dim=1, keepdim=True), inputs["key_age"], inputs["write_index"], first_row,
            inputs["source_keep"], list(past.values()), list(sources.values()), list(document.values()) or None,
        )  # fmt: skip
        names = [f"next_{name}" for name in ("ancestry", *past)]
        return state, dict(zip(names, written, strict=True))

    def score_words(self, state: Tensor) -> Tensor:
        """state [slot, beam, d] -> the log-probability of every word, [slot, beam, word]."""
        logits = nn.functional.linear(state, self.states.model.embedding.projection, self.output_bias)
        return torch.log_softmax(logits, dim=-1, dtype=torch.float32)


class StepGraph(ScoreGraph):
    """The same with the selection of candidates instead."""

    def forward(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        state, written = self.advance(inputs)
        candidates = best_candidates(self.score_words(state), inputs["score"])
        return {**self.chosen(candidates, inputs["is_row"]), **written}

    def chosen(self, candidates: Sequence[Tensor], is_row: Tensor) -> dict[str, Tensor]:
        """The candidates (score, token, parent) and the next rows, by name: CHOSEN."""
        best, word, parent = candidates
        following = next_rows(best, word, parent, is_row, self.states.model.config.eos_id)
        return dict(zip(CHOSEN, [*candidates, *following], strict=True))


def by_layer(tensors: Sequence[Tensor], names: Sequence[tuple[str, ...]]) -> list[LayerMemory]:
    """Flat tensors, grouped by layer: each layer has as many as names."""
    ends = [sum(len(each) for each in names[: index + 1]) for index in range(len(names))]
    return [tuple(tensors[end - len(each) : end]) for end, each in zip(ends, names, strict=True)]


def symbolic_write(graph: Any, ring: Any, write_index: Any, new: Any) -> Any:
    return graph.op("ScatterND", ring, write_index, new).setType(ring.type())


@with_symbolic(symbolic_write)
def write_ring(ring: Tensor, write_index: Tensor, new: Tensor) -> Tensor:
    """Write new [slot, beam, heads, head_dim] to this step's entries of a ring [slot, heads, entry, head_dim], which
    is changed in place; the operator of an ONNX graph has a result of its own."""
    if torch.onnx.is_in_onnx_export():
        return ring.index_put(write_index.unbind(dim=-1), new)
    return ring.index_put_(write_index.unbind(dim=-1), new)


def symbolic_inherit(graph: Any, ancestry: Any, rows: Any, own_key: Any, kept_key: Any) -> Any:
    inherited = graph.op("Gather", graph.op("Flatten", ancestry, axis_i=2), rows)
    kept = graph.op("And", inherited, kept_key)
    return shaped(graph.op("Or", kept, own_key), ancestry, sizes_of(ancestry))


@with_symbolic(symbolic_inherit)
def inherit_ancestry(ancestry: Tensor, rows: Tensor, own_key: Tensor, kept_key: Tensor) -> Tensor:
    """Every row inherits the ancestry of its parent (`rows` [slot, beam] counts over all slots); of the ring slot that
    is written in this step it keeps its own entry only."""
    return ancestry.flatten(0, 1)[rows] & kept_key | own_key


def symbolic_inherit_rows(graph: Any, values: Any, rows: Any) -> Any:
    flat = graph.op("Reshape", values, constant(graph, [-1, sizes_of(values)[2]]))
    return shaped(graph.op("Gather", flat, rows), values, sizes_of(values))


@with_symbolic(symbolic_inherit_rows)
def inherit_rows(values: Tensor, rows: Tensor) -> Tensor:
    """Every row's value of its parent: values [slot, beam, d], `rows` [slot, beam] counts over all slots."""
    return values.flatten(0, 1)[rows]


def best_candidates(log_probability: Tensor, score: Tensor) -> list[Tensor]:
    """[slot, beam, vocabulary], [slot, beam] -> score, token, parent [slot, 2*beam]; ties: lower parent, then token."""
    vocabulary, count = int(log_probability.shape[2]), 2 * score.shape[1]
    size = group_size(vocabulary)
    if vocabulary % size:
        log_probability = nn.functional.pad(log_probability, (0, size - vocabulary % size), value=-math.inf)
        vocabulary += size - vocabulary % size
    groups = log_probability.reshape(*score.shape, vocabulary // size, size)
    # The best candidates lie in as many groups: those with the best maxima.
    _, best_groups = torch.sort((groups.amax(3) + score[:, :, None]).flatten(1), dim=1, descending=True, stable=True)
    best_groups, _ = torch.sort(best_groups[:, :count], dim=1)
    start = best_groups * size
    place = (start[:, :, None] + torch.arange(size, device=start.device)).flatten(1)
    parent = torch.div(place, vocabulary, rounding_mode="floor")
    total = log_probability.flatten(1).gather(1, place) + score.gather(1, parent)
    best, order = torch.sort(total, dim=1, descending=True, stable=True)
    order = order[:, :count]
    place, parent = place.gather(1, order), parent.gather(1, order)
    return [best[:, :count], place.remainder(vocabulary), parent]


def group_size(vocabulary: int) -> int:
    """Words of a group, of which `best_candidates` reads the maximum first, since sorting all words takes most of a
    step's time: a divisor of the vocabulary near the square root of it, else the root, for groups with padding."""
    root = math.isqrt(vocabulary)
    divisors = [size for size in range(root // 4 + 1, 4 * root + 1) if vocabulary % size == 0]
    return min(divisors, key=lambda size: abs(size - root), default=root)


def next_rows(score: Tensor, token: Tensor, parent: Tensor, is_row: Tensor, eos_id: int) -> list[Tensor]:
    """Candidates [slot, 2*beam] -> token, parent, score [slot, beam] of the best that are not EOS."""
    continuing = score.masked_fill(token == eos_id, 2 * float(DEAD_SCORE))
    best, place = torch.sort(continuing, dim=1, descending=True, stable=True)
    place = place[:, : is_row.shape[1]]
    alive = torch.where(is_row, best[:, : is_row.shape[1]], torch.full_like(best[:, :1], float(DEAD_SCORE)))
    return [token.gather(1, place), parent.gather(1, place), alive]
