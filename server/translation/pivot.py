"""Translates with two models in turn, through a third language.

Terms of a glossary are told in the last language only. What comes out is taken if it says them. Otherwise the sentence
is translated again with marks in place of its terms, through both models (`server.text.protect.pivot_placeholders`).
"""

import dataclasses
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from server.engine.request import SearchOptions, Timings
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.telemetry.labels import FinishReason
from server.text.checks.flags import find_flags
from server.text.markup.tags import strip_tags
from server.text.protect.pivot_placeholders import PivotPlaceholders
from server.text.protect.protection import find_terms
from server.text.protect.terms import Terms, missing_terms
from server.text.split.plan import TextPlan
from server.translation.assembly import SentenceTranslation, TextHypothesis, TextTranslation, TranslationOutcome
from server.translation.glossary import translate_with_terms
from server.translation.planning import TextRequest
from server.translation.translator import Translator


@dataclass(frozen=True)
class Pivot:
    """Two models, one after the other. `then` is how the second searches. Neither has more than one hypothesis. `terms`
    say how terms of the first language are said in the last."""

    first: Translator
    second: Translator
    then: SearchOptions
    terms: Terms | None = None

    async def translate(self, request: TextRequest) -> TranslationOutcome:
        """Like Translator.translate. Texts are cut once, for the first model, which sees the context; what it says of
        a sentence is one sentence for the second. A score is that of both steps together, log p(middle | source) +
        log p(target | middle); the seconds of both are added; flags are those that either has, and count as the
        second's. Raises TermRefused besides."""
        started = time.monotonic()
        work = await self.first.prepare(request)
        results = await self.first.run(work.sentences, request.options.deadline)
        begun = await self.first.finish(work, results, counts_flags=False)
        ended = await self._end(begun, request.tagged)
        lifts = request.tagged and self.first.worker.can_align
        both, timings = _both(begun, ended), [begun.timings, ended.timings]
        lacking = await offload_above(work.num_chars, lacking_terms, self.terms, both, lifts)
        if self.terms is not None and lacking:
            sources = [both[number].source for number in lacking]
            carried = PivotPlaceholders(self.terms, sources)
            again = dataclasses.replace(request, texts=sources, splits=False)
            begun = await translate_with_terms(self.first, again, carried, counts_flags=False)
            ended = await self._end(begun, request.tagged)
            timings += [begun.timings, ended.timings]
            await offload_above(work.num_chars, _fill, both, lacking, _both(begun, ended), carried, lifts)
        translations = await offload_above(work.num_chars, _texts, work.plans, both)
        outcome = TranslationOutcome(translations, _summed(timings), time.monotonic() - started)
        self.second.count_flags(outcome.num_flags)
        return outcome

    async def _end(self, begun: TranslationOutcome, tagged: bool) -> TranslationOutcome:
        """What the second model makes of each sentence of the first."""
        middles = [one.target for text in begun.translations for one in text.sentences]
        request = TextRequest(middles, self.then, splits=False, tagged=tagged)
        return await self.second.translate(request, counts_flags=False)


def lacking_terms(terms: Terms | None, said: Sequence[SentenceTranslation], lifts: bool) -> list[int]:
    """The numbers of the sentences whose translations lack a term. `lifts`: tags are no part of a sentence."""
    if terms is None:
        return []
    return [number for number, one in enumerate(said) if lacks(terms, one.source, one.target, lifts)]


def lacks(terms: Terms, source: str, target: str, lifts: bool) -> bool:
    """Whether a translation lacks a term of its source."""
    checkpoint()
    matches = find_terms(bare(source, lifts), terms)
    return bool(matches) and bool(missing_terms(matches, bare(target, lifts)))


def bare(sentence: str, lifts: bool) -> str:
    """The sentence as terms are found in it."""
    return strip_tags(sentence)[0] if lifts else sentence


def _both(begun: TranslationOutcome, ended: TranslationOutcome) -> list[SentenceTranslation]:
    middles = [one for text in begun.translations for one in text.sentences]
    return [_joined(one, other) for one, other in zip(middles, ended.translations, strict=True)]


def _joined(middle: SentenceTranslation, end: TextTranslation) -> SentenceTranslation:
    """A sentence from its first step and its second, which may have cut it where it was too long for the model."""
    parts = end.sentences
    is_cut_off = any(one.finish_reason == "length" for one in (middle, *parts))
    reason: FinishReason = "length" if is_cut_off else "eos"
    flags = dict.fromkeys(flag for one in (middle, *parts) for flag in one.flags)
    score, tokens = sum((one.score for one in parts), middle.score), sum(one.num_tokens for one in parts)
    return SentenceTranslation(middle.source, end.text, score, reason, tokens, tuple(flags))


def _fill(
    sentences: list[SentenceTranslation],
    lacking: Sequence[int],
    marked: Sequence[SentenceTranslation],
    carried: PivotPlaceholders,
    lifts: bool,
) -> None:
    """Put those that were translated with marks in place of the sentences with the numbers `lacking`."""
    for number, translation in zip(lacking, marked, strict=True):
        checkpoint()
        sentences[number] = _filled(translation, carried, sentences[number].flags, lifts)


def _texts(plans: Sequence[TextPlan], sentences: Sequence[SentenceTranslation]) -> tuple[TextTranslation, ...]:
    """The texts from the translations of all of their sentences, in order."""
    remaining = iter(sentences)
    return tuple(_text(plan, [next(remaining) for _ in plan.planned]) for plan in plans)


def _filled(
    said: SentenceTranslation, carried: PivotPlaceholders, before: Iterable[str], lifts: bool
) -> SentenceTranslation:
    """A sentence with the translations of its terms. Numbers and copies are looked for anew: marks have none. `before`:
    its flags without terms, of which one tells how the source was cut."""
    text = carried.fill_terms(bare(said.source, lifts), said.target)
    kept = [one for one in said.flags if one in ("truncated", "moved", "loop")]
    cut = [one for one in before if one == "cut"]
    flags = dict.fromkeys([*find_flags(said.source, text), *cut, *kept])
    return dataclasses.replace(said, target=text, flags=tuple(flags))


def _summed(timings: Sequence[Timings]) -> Timings:
    return Timings(
        queue=sum(one.queue for one in timings),
        encode=sum(one.encode for one in timings),
        decode=sum(one.decode for one in timings),
    )


def _text(plan: TextPlan, sentences: Sequence[SentenceTranslation]) -> TextTranslation:
    text = plan.fill([one.target for one in sentences])
    return TextTranslation(text, tuple(sentences), (TextHypothesis(text, sum(one.score for one in sentences)),))
