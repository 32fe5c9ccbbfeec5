"""Detects which of the served languages a text is in, or that it is already in the target language."""

from collections.abc import Sequence
from dataclasses import dataclass

from server.runtime.offload import offload
from server.text.checks.language import identify, is_written_in


@dataclass(frozen=True)
class Detected:
    """A language's code; `confidence` is 0 to 100."""

    language: str
    confidence: float


async def detect(text: str, candidates: Sequence[str]) -> Detected:
    """The candidate language that the text is most likely in. Runs in a thread, because the first call loads tables."""
    return await offload(_most_likely, text, candidates)


async def detect_source(text: str, sources: Sequence[str], target: str) -> Detected:
    """The source language that the text is most likely in; `target` if the text is surely in it and needs no
    translation."""
    return await offload(_source, text, sources, target)


def _most_likely(text: str, candidates: Sequence[str]) -> Detected:
    language, confidence = identify(text, candidates)
    return Detected(language, round(100 * confidence, 1))


def _source(text: str, sources: Sequence[str], target: str) -> Detected:
    return Detected(target, 100.0) if is_written_in(text, target, sources) else _most_likely(text, sources)
