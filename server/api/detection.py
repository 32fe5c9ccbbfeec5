"""Detects which of the served languages a text is in."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from server.text.language import identify


@dataclass(frozen=True)
class Detected:
    """A language's code; `confidence` is 0 to 100."""

    language: str
    confidence: float


async def detect(text: str, candidates: Sequence[str]) -> Detected:
    """The candidate that the text is most likely in. Runs in a thread, because the first call loads tables."""
    language, confidence = await asyncio.to_thread(identify, text, candidates)
    return Detected(language, round(100 * confidence, 1))
