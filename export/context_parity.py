"""Checks that context graphs compute what the document model computes, on a document, by the server's backends."""

import numpy as np
import torch

from export.parity import (
    INT8_TOLERANCE,
    WayToRun,
    checked,
    decoding_difference,
    padded,
    sample_sources,
    two_wraps,
)
from model.context import Store
from model.data.batching import Pair, collate
from model.decoder import LayerMemory
from model.document import DocumentModel, words_of
from model.masks import context_distance
from server.backends.base import Backend
from server.backends.context import SentenceContext, StoredDocument
from server.backends.state import Encoded

CONTEXT_TOLERANCE = 1e-3
"""Largest difference of a log-probability at fp32. Both sides keep states at half precision, where a sum that was
added in another order may round to a neighbour."""


DOCUMENTS = (1, 16)
"""Copies of the sample: a short document, and one of so many sentences that unused ones are pruned."""


def check_context_parity(document: DocumentModel, way: WayToRun) -> dict[str, float]:
    """Compare a pair of graphs with the model, the sentences of one document seeing all others. Returns the difference
    by the pair's kind; nothing for graphs that know no context. Raises ParityError."""
    if way.backend.context is None:
        return {}
    kind, steps = f"{way.kind} context", two_wraps(way.backend.manifest)
    difference = max(context_difference(document, way.backend, steps, copies) for copies in DOCUMENTS)
    return {kind: checked(difference, kind, CONTEXT_TOLERANCE if way.graph.precision == "fp32" else INT8_TOLERANCE)}


@torch.no_grad()
def context_difference(document: DocumentModel, backend: Backend, steps: int, copies: int = 1) -> float:
    """Largest difference of candidate scores over the offline document of `sample_sources`, the shortest of which has
    no words and is seen by nobody. `copies` of them make a long document, whose first sentences look."""
    base = document.base
    sources = sample_sources(base.config.vocab_size, base.config.max_length)
    targets = [] if document.on_encoder else [source[-2::-1] for source in sources]  # any translation will do
    ids, keep = (torch.from_numpy(array) for array in padded(sources))
    pairs = [Pair(source[:-1], targets[index] if targets else []) for index, source in enumerate(sources)] * copies
    store = rounded(document.store(words_of(base, document.config.side, collate(pairs))))
    index, same = torch.arange(len(pairs)), torch.zeros(len(pairs), dtype=torch.long)
    distance = context_distance(same, index, same, index, online=False)[: len(sources)]
    memory = document.encode(ids, keep > 0, store, distance)
    model = base if document.on_encoder else InDocument(document, store, distance)
    return decoding_difference(model, backend, attend_all(backend, sources, targets, copies), memory, steps)


class InDocument:
    """A document model with the interface of Stepwise: every sentence of the document has the same number of rows."""

    def __init__(self, document: DocumentModel, store: Store, distance: torch.Tensor) -> None:
        self.document, self.store, self.distance = document, store, distance
        self.decoder, self.empty_rings = document.base.decoder, document.base.empty_rings

    def step(
        self,
        token: torch.Tensor,
        position: torch.Tensor,
        rings: list[LayerMemory],
        cross: list[LayerMemory],
        source_keep: torch.Tensor,
    ) -> tuple[torch.Tensor, list[LayerMemory]]:
        distance = self.distance.repeat_interleave(len(token) // len(self.distance), dim=0)
        return self.document.step(token, position, rings, cross, source_keep, self.store, distance)


def rounded(store: Store) -> Store:
    """The store at half precision, as the server keeps it. This moves the score of a whole translation by up to 0.022
    nats with random weights, and by 0.00055 with the bundled model (tests/export/test_half_states.py)."""
    return store._replace(tensors=tuple(tensor.half().float() for tensor in store.tensors))


def attend_all(backend: Backend, sources: list[list[int]], targets: list[list[int]], copies: int = 1) -> list[Encoded]:
    """Every sentence in the light of all others; `targets` on the decoder's side."""
    context = backend.context
    assert context is not None
    num_words = [len(ids) for ids in targets] if targets else [len(ids) - 1 for ids in sources]
    states = [context.compute_states(ids, targets[index] if targets else ()) for index, ids in enumerate(sources)]
    stored = StoredDocument.of(states * copies, num_words * copies)
    index = np.arange(stored.num_sentences)
    contexts = [SentenceContext(stored, np.abs(index - own)) for own in range(len(sources))]
    return [attended.encoded for attended in context.encode_in_context(*padded(sources), contexts)]
