"""Batched greedy decoding of documents: as `search_document` with a beam of one, and fast.

The sentences of a document are decoded in the same batches, also online: context never depends on final translations
(see `document_search`).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from model.context import Store
from model.data.batching import Pair, collate
from model.decoder import LayerMemory
from model.document import DocumentModel, words_of
from model.greedy import by_length, greedy, greedy_rows, source_batch


@torch.no_grad()
def greedy_document(
    model: DocumentModel,
    sources: Sequence[list[int]],
    store: Store,
    keep: Tensor,
    max_length: int,
    batch_rows: int = 32,
) -> list[list[int]]:
    """Translations, without EOS, of sentences without EOS that see the sentences of `store` as `keep` bool
    [sentence, J] says. `max_length` counts EOS. Sentences of similar length share a batch."""
    return by_length(
        sources,
        batch_rows,
        lambda rows: greedy_in_context(model, [sources[row] for row in rows], store, keep[rows], max_length),
    )


@torch.no_grad()
def document_store(model: DocumentModel, sources: Sequence[list[int]], max_length: int) -> Store:
    """The store of a document's sentences; on the decoder's side, with the sentence model's greedy translations."""
    drafts: list[list[int]] = [[] for _ in sources]
    if not model.on_encoder:
        drafts = greedy(model.base, sources, max_length)
    pairs = [Pair(*both) for both in zip(sources, drafts, strict=True)]
    return model.store(words_of(model.base, model.config.side, collate(pairs, model.base.config.ids)))


@torch.no_grad()
def greedy_in_context(
    model: DocumentModel, sources: Sequence[list[int]], store: Store, distance: Tensor, max_length: int
) -> list[list[int]]:
    """Translations, without EOS, of one batch of rows that share the store; distance [row, J] says which of
    its sentences each row sees."""
    source, keep = source_batch(model.base, sources)
    cross = model.base.decoder.project_source(model.encode(source, keep, store, distance))

    def step(
        token: Tensor,
        position: Tensor,
        rings: list[LayerMemory],
        cross: list[LayerMemory],
        source_keep: Tensor,
        distance: Tensor,
    ) -> tuple[Tensor, list[LayerMemory]]:
        return model.step(token, position, rings, cross, source_keep, store, distance)

    ids = model.base.config.ids
    return greedy_rows(step, model.base.empty_rings(len(sources)), cross, (keep, distance), max_length, ids)
