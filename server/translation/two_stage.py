"""Translation by two models, through a third language: the rules that texts, files and documents share.

Each sentence is one sentence in both stages: its translation by the first model is the source of the second stage.
Terms of a glossary are given in the last language only, and most first models would break them. So a sentence is first
translated without its terms. If the result lacks a term, the sentence goes through both stages again, with placeholders
that models carry over in place of its terms (`server.text.protect.pivot_placeholders`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.telemetry.labels import FinishReason
from server.text.markup.tags import strip_tags
from server.text.protect.masking import find_terms
from server.text.protect.pivot_placeholders import PivotPlaceholders
from server.text.protect.terms import Terms, missing_terms


class Stages(Protocol):
    """Runs the two models over the sentences of one text or file."""

    async def first(self, numbers: Sequence[int], terms: Terms | None) -> Sequence[str]:
        """The first model's translations of the sentences with these numbers, in their order, with `terms`."""

    async def second(self, numbers: Sequence[int], middles: Sequence[str]) -> Sequence[str]:
        """The second model's translations of the sentences with these numbers, in their order. `middles` are the first
        model's translations of all sentences, which the second may see as context."""


@dataclass(frozen=True)
class TwoStageTranslation:
    """`targets`: a translation for every sentence. `repeated`: the numbers of the sentences that were translated again,
    with placeholders in place of their terms."""

    targets: list[str]
    repeated: Sequence[int] = ()


async def translate_in_two_stages(
    stages: Stages, sources: Sequence[str], terms: Terms | None, strips_tags: bool
) -> TwoStageTranslation:
    """Translate the sentences `sources`; `terms` are translated as they say. `strips_tags`: the models read sentences
    without their tags, which are no part of a term. Raises TermRefused, TooManyPlaceholders, and what `stages`
    raise."""
    everything = range(len(sources))
    middles = list(await stages.first(everything, None))
    targets = list(await stages.second(everything, middles))
    if terms is None:
        return TwoStageTranslation(targets)
    num_chars = sum(map(len, sources))
    lacking = await offload_above(num_chars, _lacking_terms, terms, sources, targets, strips_tags)
    if not lacking:
        return TwoStageTranslation(targets)
    placeholders = PivotPlaceholders(terms, [sources[number] for number in lacking])
    for number, middle in zip(lacking, await stages.first(lacking, placeholders), strict=True):
        middles[number] = middle
    for number, target in zip(lacking, await stages.second(lacking, middles), strict=True):
        targets[number] = placeholders.fill_terms(_without_tags(sources[number], strips_tags), target)
    return TwoStageTranslation(targets, lacking)


def finish_reason_of(reasons: Iterable[FinishReason | None]) -> FinishReason:
    """The reason of a sentence whose parts or stages ended for `reasons`: "length" if one of them was cut off."""
    return "length" if "length" in reasons else "eos"


def _lacking_terms(terms: Terms, sources: Sequence[str], targets: Sequence[str], strips_tags: bool) -> list[int]:
    """The numbers of the sentences whose translations lack a term of their source."""
    lacking: list[int] = []
    for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
        checkpoint()
        matches = find_terms(_without_tags(source, strips_tags), terms)
        if matches and missing_terms(matches, _without_tags(target, strips_tags)):
            lacking.append(number)
    return lacking


def _without_tags(sentence: str, strips_tags: bool) -> str:
    """The sentence as terms are found in it."""
    return strip_tags(sentence)[0] if strips_tags else sentence
