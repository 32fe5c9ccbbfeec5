"""Detects which of the served languages texts are in, or that they are in the target language or in none of these."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from server.api.requests.errors import ApiError
from server.api.serving.language_names import name_of
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload
from server.text.checks.language import (
    MAX_CHARACTERS,
    TELLING,
    foreign_language,
    identify,
    is_written_in,
    probabilities,
    probability_of,
)


@dataclass(frozen=True)
class Detected:
    """A language's code; `confidence`, 0 to 100, is its probability among all languages that the detector knows.
    `foreign`: the code of the language that the text is surely in, if that is none of the candidates."""

    language: str
    confidence: float
    foreign: str | None = None


async def detect(text: str, candidates: Sequence[str]) -> Detected:
    """The candidate language that the text is most likely in. Runs in a thread, because the first call loads tables."""
    return await offload(_most_likely, text, candidates)


async def detect_sources(texts: Sequence[str], sources: Sequence[str], target: str) -> list[Detected]:
    """The source language that each text is most likely in; `target` if a text is surely in it and needs no
    translation. Texts that are too short to tell, such as labels, are in the language that they are in together."""
    return await offload(_of_texts, texts, sources, target)


def check_not_foreign(detected: Detected, param: str) -> None:
    """Raise ApiError for a file in a language that is not served."""
    if detected.foreign is not None:
        shown = f"{name_of(detected.foreign)} ({detected.foreign})"
        message = f"the file seems to be in {shown}, which is not served; name its language to translate it anyway"
        raise ApiError("invalid_value", message, param)


def _most_likely(text: str, candidates: Sequence[str]) -> Detected:
    language, _ = identify(text, candidates)
    return _detected(language, probabilities(text), candidates)


def _detected(language: str, likely: Mapping[str, float], candidates: Sequence[str]) -> Detected:
    return Detected(language, _percent(probability_of(language, likely)), foreign_language(likely, candidates))


def _of_texts(texts: Sequence[str], sources: Sequence[str], target: str) -> list[Detected]:
    alone = [_source(text, sources, target) for text in texts]
    is_open = [detected.confidence < 100 * TELLING and detected.foreign is None for detected in alone]
    if len(texts) < 2 or not any(is_open):
        return alone
    together = _source(_joined(text for text, of_text in zip(texts, is_open, strict=True) if of_text), sources, target)
    if together.confidence < 100 * TELLING:
        others = (text for text, detected in zip(texts, alone, strict=True) if detected.language != target)
        together = _source(_joined(others), sources, target)
    if together.confidence < 100 * TELLING or together.foreign is not None:
        return alone
    language = together.language
    return [
        Detected(language, _percent(probability_of(language, probabilities(text)))) if of_text else detected
        for text, detected, of_text in zip(texts, alone, is_open, strict=True)
    ]


def _source(text: str, sources: Sequence[str], target: str) -> Detected:
    checkpoint()
    likely = probabilities(text)
    language = target if is_written_in(text, target, sources) else identify(text, sources)[0]
    return _detected(language, likely, [*sources, target])


def _joined(texts: Iterable[str]) -> str:
    """The beginnings of texts, one a line, as far as they are classified."""
    parts: list[str] = []
    num_left = MAX_CHARACTERS
    for text in texts:
        if num_left <= 0:
            break
        parts.append(text[:num_left])
        num_left -= len(text) + 1
    return "\n".join(parts)


def _percent(probability: float) -> float:
    return round(100 * probability, 1)
