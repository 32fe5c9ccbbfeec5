"""Batched greedy decoding with rings: translations of whole corpora for training on the decoder's side."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from model.config import SpecialIds
from model.decoder import LayerMemory
from model.translation_model import TranslationModel

StepFunction = Callable[..., tuple[Tensor, list[LayerMemory]]]
"""Like TranslationModel.step."""


@torch.no_grad()
def greedy(
    model: TranslationModel,
    sources: Sequence[list[int]],
    max_length: int,
    batch_rows: int = 64,
    start: Sequence[int] = (),
) -> list[list[int]]:
    """Translations, without EOS, of sources without EOS, in their order; as `reference_search` with a beam of one.

    `max_length` counts EOS. Sentences of similar length share a batch. Every translation begins with the ids `start`.
    """

    def decode(rows: list[int]) -> list[list[int]]:
        source, keep = source_batch(model, [sources[row] for row in rows])
        cross = model.decoder.project_source(model.encode(source, keep))
        return greedy_rows(
            model.step, model.empty_rings(len(rows)), cross, (keep,), max_length, model.config.ids, start
        )

    return by_length(sources, batch_rows, decode)


def by_length(
    sources: Sequence[list[int]], batch_rows: int, decode: Callable[[list[int]], list[list[int]]]
) -> list[list[int]]:
    """The translations of all sources, in their order. `decode` takes the numbers of a batch's sources and returns
    their translations; sources of similar length share a batch."""
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]))
    batches = [order[start : start + batch_rows] for start in range(0, len(order), batch_rows)]
    results = {row: ids for rows in batches for row, ids in zip(rows, decode(rows), strict=True)}
    return [results[row] for row in range(len(sources))]


def source_batch(model: TranslationModel, sources: Sequence[list[int]]) -> tuple[Tensor, Tensor]:
    """Ids [batch, source] as the encoder reads them, and keep mask, bool, on the model's device."""
    device = model.embedding.weight.device
    rows = [torch.tensor(model.config.source_ids(source), device=device) for source in sources]
    keep = [torch.ones(len(row), dtype=torch.bool, device=device) for row in rows]
    return pad_sequence(rows, batch_first=True), pad_sequence(keep, batch_first=True)


def greedy_rows(
    step: StepFunction,
    rings: list[LayerMemory],
    cross: list[LayerMemory],
    per_row: tuple[Tensor, ...],
    max_length: int,
    ids: SpecialIds,
    start: Sequence[int] = (),
) -> list[list[int]]:
    """The best token of every row at every step until it is EOS, after those of `start`; finished rows are removed from
    the batch.

    `per_row` [row, ...] are the arguments of `step` after token, position, rings and cross.
    """
    rows = len(per_row[0])
    out: list[list[int]] = [[] for _ in range(rows)]
    live, token = list(range(rows)), torch.full((rows,), ids.bos, device=per_row[0].device)
    for position in range(max_length):
        logits, rings = step(token, torch.full_like(token, position), rings, cross, *per_row)
        logits[:, list(ids.suppressed)] = -torch.inf
        token = logits.argmax(dim=-1) if position >= len(start) else torch.full_like(token, start[position])
        unfinished = (token != ids.eos).nonzero()[:, 0]
        live = [live[row] for row in unfinished.tolist()]
        if not live:
            break
        if len(live) < len(token):
            rings, cross = (select_rows(tensors, unfinished) for tensors in (rings, cross))
            token, per_row = token[unfinished], tuple(tensor[unfinished] for tensor in per_row)
        for row, word in zip(live, token.tolist(), strict=True):
            out[row].append(word)
    return out


def select_rows(layers: list[LayerMemory], rows: Tensor) -> list[LayerMemory]:
    """The memory of every layer with the rows of these numbers, [row], in their order; a row may be repeated."""
    return [tuple(tensor.index_select(0, rows) for tensor in layer) for layer in layers]
