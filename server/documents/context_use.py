"""Asks the engine where sentences look, and sums that up by sentence."""

import asyncio
from collections.abc import Hashable, Sequence

import numpy as np

from server.backends.context import ContextUse, SentenceContext
from server.backends.state import Floats
from server.documents.visibility import Owners
from server.translator import Translator

MAX_CONTEXT_USED = 16
"""Sentences kept of those that a sentence looked at, the ones with the largest weights."""


async def look(
    translator: Translator,
    source_ids: Sequence[int],
    context: SentenceContext,
    target_ids: Sequence[int],
    owner: Hashable = None,
) -> ContextUse:
    """Where a sentence looks, down to words: source ids with EOS, and its translation without. Of a translation as
    long as the model's longest, or longer, the beginning. Raises Overloaded, EngineStopped."""
    longest = translator.artifact.manifest.max_target_length - 1  # BOS takes a place, too
    asked = translator.worker.explain(source_ids, context, target_ids[:longest], owner)
    return await asyncio.wrap_future(asked)


def weights_by_sentence(use: ContextUse, owners: Owners) -> dict[int, Floats]:
    """Sentence index -> weight per head [heads], summed over its parts, of sentences that have some. `owners` may name
    more parts than `use` has weights for: those that could not be seen."""
    summed: dict[int, Floats] = {}
    for place in np.flatnonzero(use.weights.any(axis=0)).tolist():
        owner, weights = int(owners[place]), use.weights[:, place]
        summed[owner] = summed[owner] + weights if owner in summed else weights
    return summed


def largest(weights: dict[int, float]) -> tuple[tuple[int, float], ...]:
    """(sentence index, weight) by falling weight, without zeros."""
    used = [(index, weight) for index, weight in weights.items() if weight > 0]
    return tuple(sorted(used, key=lambda pair: (-pair[1], pair[0]))[:MAX_CONTEXT_USED])
