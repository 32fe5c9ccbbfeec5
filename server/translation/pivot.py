"""Translates texts by two models, through a third language (`server.translation.two_stage` has the rules)."""

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass

from server.engine.request import SearchOptions, Timings
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.text.checks.flags import find_flags
from server.text.protect.terms import Terms
from server.text.split.plan import TextPlan
from server.translation.assembly import (
    SentenceTranslation,
    TextHypothesis,
    TextTranslation,
    TranslationOutcome,
)
from server.translation.glossary import translate_with_terms
from server.translation.planning import PlannedRequest, TextRequest
from server.translation.translator import Translator
from server.translation.two_stage import TwoStageTranslation, finish_reason_of, translate_in_two_stages

KEPT_WITH_PLACEHOLDERS = ("truncated", "moved", "loop")
"""Flags that a translation with placeholders has like one with its terms. Numbers and copies are compared again:
placeholders have none."""


@dataclass(frozen=True)
class Pivot:
    """Two models, one after the other. `then` are the options of the second search. Neither has more than one
    hypothesis. `terms` give the translations of terms of the first language in the last."""

    first: Translator
    second: Translator
    then: SearchOptions
    terms: Terms | None = None

    async def translate(self, request: TextRequest) -> TranslationOutcome:
        """Like Translator.translate. Texts are cut once, for the first model, which sees the context. A score is the
        sum of both stages, log p(middle | source) + log p(target | middle); the seconds of both are added; flags are
        those of either, and count as the second's. Raises TermRefused besides."""
        started = time.monotonic()
        planned = await self.first.prepare(request)
        stages = _TextStages(self, planned)
        strips_tags = request.tagged and self.first.worker.side_tasks.can_align
        translated = await translate_in_two_stages(stages, stages.sources, self.terms, strips_tags)
        translations = await offload_above(planned.num_chars, stages.texts, translated)
        outcome = TranslationOutcome(translations, _sum(stages.timings), time.monotonic() - started)
        self.second.count_flags(outcome.num_flags)
        return outcome


class _TextStages:
    """The stages of texts that were cut: keeps the last translation of every sentence in each stage, and the timings of
    all calls."""

    def __init__(self, pivot: Pivot, planned: PlannedRequest) -> None:
        self._pivot, self._planned, self._request = pivot, planned, planned.request
        self.sources = [sentence for plan in planned.plans for sentence in plan.sentences]
        self.timings: list[Timings] = []
        self._cut: set[int] = set()
        """Sentences that either stage cut at first. Their sources with placeholders are shorter."""
        self._firsts: dict[int, SentenceTranslation] = {}
        self._seconds: dict[int, TextTranslation] = {}

    async def first(self, numbers: Sequence[int], terms: Terms | None) -> list[str]:
        model = self._pivot.first
        if terms is None:
            results = await model.run(self._planned.sentences, self._request.options.deadline)
            outcome = await model.finish(self._planned, results, counts_flags=False)
        else:
            texts = [self.sources[number] for number in numbers]
            request = dataclasses.replace(self._request, texts=texts, splits=False)
            outcome = await translate_with_terms(model, request, terms, counts_flags=False)
        self.timings.append(outcome.timings)
        done = [sentence for text in outcome.translations for sentence in text.sentences]
        if terms is None:
            self._cut.update(number for number, sentence in zip(numbers, done, strict=True) if "cut" in sentence.flags)
        self._firsts.update(zip(numbers, done, strict=True))
        return [sentence.target for sentence in done]

    async def second(self, numbers: Sequence[int], middles: Sequence[str]) -> list[str]:
        texts = [middles[number] for number in numbers]
        model = self._pivot.second
        request = TextRequest(texts, self._pivot.then, splits=False, tagged=self._request.tagged)
        outcome = await model.translate(request, counts_flags=False)
        self.timings.append(outcome.timings)
        for number, text in zip(numbers, outcome.translations, strict=True):
            if number not in self._seconds and any("cut" in sentence.flags for sentence in text.sentences):
                self._cut.add(number)
            self._seconds[number] = text
        return [text.text for text in outcome.translations]

    def texts(self, translated: TwoStageTranslation) -> tuple[TextTranslation, ...]:
        """The texts from the translations of all of their sentences, in order."""
        repeated = set(translated.repeated)
        sentences = (
            self._sentence(number, target, number in repeated) for number, target in enumerate(translated.targets)
        )
        return tuple(_text(plan, [next(sentences) for _ in plan.planned]) for plan in self._planned.plans)

    def _sentence(self, number: int, target: str, is_repeated: bool) -> SentenceTranslation:
        """A sentence from its two stages; the second may have cut the sentence where it was too long for the model."""
        checkpoint()
        first, parts = self._firsts[number], self._seconds[number].sentences
        reason = finish_reason_of([sentence.finish_reason for sentence in (first, *parts)])
        flags = [flag for sentence in (first, *parts) for flag in sentence.flags]
        if is_repeated:
            kept = [flag for flag in flags if flag in KEPT_WITH_PLACEHOLDERS]
            flags = [
                *find_flags(first.source, target, (self._pivot.first.languages[0], self._pivot.second.languages[1])),
                *(["cut"] if number in self._cut else []),
                *kept,
            ]
        score = first.score + sum(part.score for part in parts)
        num_tokens = sum(part.num_tokens for part in parts)
        return SentenceTranslation(
            first.source,
            target,
            score,
            reason,
            num_tokens,
            tuple(dict.fromkeys(flags)),
            num_source_tokens=first.num_source_tokens,
        )


def _sum(timings: Sequence[Timings]) -> Timings:
    return Timings(
        queue=sum(stage.queue for stage in timings),
        encode=sum(stage.encode for stage in timings),
        decode=sum(stage.decode for stage in timings),
    )


def _text(plan: TextPlan, sentences: Sequence[SentenceTranslation]) -> TextTranslation:
    text = plan.fill([sentence.target for sentence in sentences])
    score = sum(sentence.score for sentence in sentences)
    return TextTranslation(text, tuple(sentences), (TextHypothesis(text, score),))
