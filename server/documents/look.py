"""Where sentences look, asked of the engine."""

import asyncio
from collections.abc import Hashable, Sequence

from server.backends.context import ContextUse, SentenceContext
from server.translator import Translator


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
