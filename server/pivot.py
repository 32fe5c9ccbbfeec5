"""Translates with two models in turn, through a third language."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from server.backends.context import SentenceContext
from server.engine.request import SearchOptions, Timings
from server.outcomes import FinishReason
from server.text.plan import TextPlan
from server.translations import SentenceTranslation, TextHypothesis, TextTranslation, TranslationOutcome
from server.translator import Translator


@dataclass(frozen=True)
class Pivot:
    """Two models, one after the other. `then` is how the second searches. Neither has more than one hypothesis."""

    first: Translator
    second: Translator
    then: SearchOptions

    async def translate(
        self,
        texts: Sequence[str],
        options: SearchOptions,
        context: SentenceContext | None = None,
        splits: bool = True,
        *,
        tagged: bool = False,
    ) -> TranslationOutcome:
        """Like Translator.translate. Texts are cut once, for the first model, which sees the `context`; what it says of
        a sentence is one sentence for the second. A score is that of both steps together, log p(middle | source) +
        log p(target | middle); the seconds of both are added; flags are those that either has."""
        started = time.monotonic()
        work = await self.first.prepare(texts, options, context, splits, tagged=tagged)
        results = await self.first.run(work.requests, options.deadline)
        begun = await self.first.finish(work, results)
        middles = [one for text in begun.translations for one in text.sentences]
        ended = await self.second.translate([one.target for one in middles], self.then, splits=False, tagged=tagged)
        found = iter([_both(one, other) for one, other in zip(middles, ended.translations, strict=True)])
        translations = tuple(_text(plan, [next(found) for _ in plan.planned]) for plan in work.plans)
        timings = Timings(
            queue=begun.timings.queue + ended.timings.queue,
            encode=begun.timings.encode + ended.timings.encode,
            decode=begun.timings.decode + ended.timings.decode,
        )
        return TranslationOutcome(translations, timings, time.monotonic() - started)


def _both(middle: SentenceTranslation, end: TextTranslation) -> SentenceTranslation:
    """A sentence from its first step and its second, which may have cut it where it was too long for the model."""
    parts = end.sentences
    is_cut_off = any(one.finish_reason == "length" for one in (middle, *parts))
    reason: FinishReason = "length" if is_cut_off else "eos"
    flags = dict.fromkeys(flag for one in (middle, *parts) for flag in one.flags)
    score, tokens = sum((one.score for one in parts), middle.score), sum(one.num_tokens for one in parts)
    return SentenceTranslation(middle.source, end.text, score, reason, tokens, tuple(flags))


def _text(plan: TextPlan, sentences: Sequence[SentenceTranslation]) -> TextTranslation:
    text = plan.fill([one.target for one in sentences])
    return TextTranslation(text, tuple(sentences), (TextHypothesis(text, sum(one.score for one in sentences)),))
