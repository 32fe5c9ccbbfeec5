"""Asks the engine where sentences look, and sums the weights by sentence."""

import asyncio
from collections.abc import Hashable, Sequence

import numpy as np

from server.backends.context import ContextAttention, EncodedSource, SentenceContext
from server.backends.state import Floats
from server.documents.visibility import Owners
from server.translation.translator import Translator

MAX_CONTEXT_USED = 16
"""How many of the sentences that a sentence looked at are kept: those with the largest weights."""


async def look(
    translator: Translator,
    source_ids: Sequence[int],
    context: SentenceContext,
    target_ids: Sequence[int],
    owner: Hashable = None,
    read: EncodedSource | None = None,
) -> ContextAttention:
    """Where a sentence looks, down to words. `source_ids` end with EOS, `target_ids` do not; a translation that is too
    long for the model is cut. Raises Overloaded, EngineStopped."""
    longest = translator.artifact.manifest.max_target_length - 1  # BOS takes a place, too
    asked = translator.worker.explain(source_ids, context, target_ids[:longest], owner, read)
    return await asyncio.wrap_future(asked)


def weights_by_sentence(use: ContextAttention, owners: Owners) -> dict[int, Floats]:
    """Sentence index -> weight per head [heads], summed over the sentence's parts; sentences without weight are left
    out. `owners` may name more parts than `use` has weights for: the rest could not be seen."""
    summed: dict[int, Floats] = {}
    for place in np.flatnonzero(use.weights.any(axis=0)).tolist():
        owner, weights = int(owners[place]), use.weights[:, place]
        summed[owner] = summed[owner] + weights if owner in summed else weights
    return summed


def largest(weights: dict[int, float]) -> tuple[tuple[int, float], ...]:
    """(sentence index, weight) of the MAX_CONTEXT_USED largest weights above zero, largest first."""
    used = [(index, weight) for index, weight in weights.items() if weight > 0]
    return tuple(sorted(used, key=lambda pair: (-pair[1], pair[0]))[:MAX_CONTEXT_USED])
