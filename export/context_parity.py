"""Checks that context graphs compute what the document model computes, on a document, by the server's backends."""

from collections.abc import Sequence

import numpy as np
import torch

from export.parity import (
    INT8_TOLERANCE,
    GraphPair,
    check_difference,
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


def check_context_parity(
    document: DocumentModel, pair: GraphPair, sources: Sequence[Sequence[int]] = ()
) -> dict[str, float]:
    """Compare a pair of graphs with the model, every sentence of one document with all others visible: of `sources`, or
    random ones. Returns the difference by the pair's kind; empty for graphs without context. Raises ParityError."""
    if pair.backend.context is None:
        return {}
    kind, steps = f"{pair.kind} context", two_wraps(pair.backend.manifest)
    difference = max(context_difference(document, pair.backend, steps, copies, sources) for copies in DOCUMENTS)
    return {
        kind: check_difference(
            difference, kind, CONTEXT_TOLERANCE if pair.graph.precision == "fp32" else INT8_TOLERANCE
        )
    }


@torch.no_grad()
def context_difference(
    document: DocumentModel, backend: Backend, steps: int, copies: int = 1, given: Sequence[Sequence[int]] = ()
) -> float:
    """Largest difference of candidate scores over the offline document of `given` sources, or of `sample_sources`, the
    shortest of which has no words and is never visible. `copies` of them are a long document, whose first sentences are
    decoded."""
    base = document.base
    config = base.config
    words = config.source_vocab_size or config.vocab_size
    sources = [[*ids] for ids in given] or sample_sources(words, config.max_length, eos_id=config.eos_id)
    targets = [] if document.on_encoder else [source[-2::-1] for source in sources]  # any translation will do
    ids, keep = (torch.from_numpy(array) for array in padded(sources))
    pairs = [Pair(source[:-1], targets[index] if targets else []) for index, source in enumerate(sources)] * copies
    store = half_precision(document.store(words_of(base, document.config.side, collate(pairs, config.ids))))
    index, same = torch.arange(len(pairs)), torch.zeros(len(pairs), dtype=torch.long)
    distance = context_distance(same, index, same, index, online=False)[: len(sources)]
    encoder_output = document.encode(ids, keep > 0, store, distance)
    model = base if document.on_encoder else DocumentStepModel(document, store, distance)
    return decoding_difference(
        model, backend, attend_all(backend, sources, targets, copies), encoder_output, steps, config.ids
    )


class DocumentStepModel:
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


def half_precision(store: Store) -> Store:
    """The store at half precision, as the server keeps it. This moves the score of a whole translation by up to 0.022
    nats with random weights, and by 0.00055 with the bundled model (tests/export/test_half_states.py)."""
    return store._replace(tensors=tuple(tensor.half().float() for tensor in store.tensors))


def attend_all(backend: Backend, sources: list[list[int]], targets: list[list[int]], copies: int = 1) -> list[Encoded]:
    """Every sentence encoded with all others as context; `targets` on the decoder's side."""
    context = backend.context
    assert context is not None
    num_words = [len(ids) for ids in targets] if targets else [len(ids) - 1 for ids in sources]
    states = [context.compute_states(ids, targets[index] if targets else ()) for index, ids in enumerate(sources)]
    stored = StoredDocument.of(states * copies, num_words * copies)
    index = np.arange(stored.num_sentences)
    contexts = [SentenceContext(stored, np.abs(index - own)) for own in range(len(sources))]
    return [attended.encoded for attended in context.encode_in_context(*padded(sources), contexts)]
