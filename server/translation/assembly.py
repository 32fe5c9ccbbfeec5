"""Puts translated texts together from the engine's results."""

import dataclasses
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from server.engine.request import SentenceResult, Timings
from server.runtime.checkpoints import checkpoint
from server.telemetry.labels import FinishReason
from server.text.base.pieces import Pieces
from server.text.base.words import Place
from server.text.checks.flags import find_flags
from server.text.markup.tags import Pair, place_tags, strip_tags
from server.text.protect.protection import Restored
from server.text.split.plan import PlannedSentence, TextPlan
from server.translation.planning import PlannedRequest

OfHypotheses = Sequence[Sequence[Pair]]
"""Pairs of aligned words for a sentence's hypotheses, best first: for all of them, for the best only, or for none."""


@dataclass(frozen=True)
class SentenceTranslation:
    """`score`: log-probability of the target, EOS included, in nats. `flags`: what looks wrong. `ids`: the target's
    pieces as the model wrote them, without EOS. `num_source_tokens`: pieces of the source as the model read it, EOS
    included."""

    source: str
    target: str
    score: float
    finish_reason: FinishReason
    num_tokens: int
    flags: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()
    num_source_tokens: int = 0


@dataclass(frozen=True)
class TextHypothesis:
    """A whole text. `score`: the sum of its sentences' log-probabilities, in nats."""

    text: str
    score: float


@dataclass(frozen=True)
class TextTranslation:
    """One text. `text` is the source with every sentence replaced by its best target; gaps are the source's.

    `hypotheses`, best first: the k-th is made of every sentence's k-th (its last, where it has fewer). For a text of
    one sentence these are the best k of the text; for more they are not, only a choice for each sentence.
    """

    text: str
    sentences: tuple[SentenceTranslation, ...]
    hypotheses: tuple[TextHypothesis, ...]
    alignment: tuple[Pair, ...] | None = None
    """Places of words in the source, each with the place of a word in `text` that comes from it; None if not
    requested."""


@dataclass(frozen=True)
class TranslationOutcome:
    """`timings`, in seconds: queue, encode and decode are each the largest among the request's sentences, which run
    concurrently, so that their sum may differ from `total`, the time of the whole request.
    """

    translations: tuple[TextTranslation, ...]
    timings: Timings
    total: float

    @property
    def num_flags(self) -> Counter[str]:
        """How many sentences have each flag."""
        return Counter(flag for text in self.translations for sentence in text.sentences for flag in sentence.flags)


def assemble(
    planned: PlannedRequest, results: Sequence[SentenceResult], pieces: Pieces, aligned: Sequence[OfHypotheses] = ()
) -> TranslationOutcome:
    """The translated texts, from the result of every sentence and, where words were aligned, their pairs. `pieces` are
    the target's."""
    remaining = iter(zip(results, aligned or [()] * len(results), strict=True))
    translations = []
    for plan in planned.plans:
        of_plan = [next(remaining) for _ in plan.planned]
        of_text, pairs = [result for result, _ in of_plan], [of_sentence for _, of_sentence in of_plan]
        translation = _join(plan, of_text, pairs, planned.request.options.num_hypotheses, pieces)
        if planned.request.aligns:
            translation = dataclasses.replace(translation, alignment=_alignment(plan, translation, pairs))
        translations.append(translation)
    return TranslationOutcome(tuple(translations), largest_timings(results), time.monotonic() - planned.started)


def largest_timings(results: Sequence[SentenceResult]) -> Timings:
    """Each the largest among the results."""
    return Timings(
        queue=max((result.timings.queue for result in results), default=0.0),
        encode=max((result.timings.encode for result in results), default=0.0),
        decode=max((result.timings.decode for result in results), default=0.0),
    )


def _join(
    plan: TextPlan,
    results: Sequence[SentenceResult],
    aligned: Sequence[OfHypotheses],
    num_hypotheses: int,
    pieces: Pieces,
) -> TextTranslation:
    of_sentence = _choices(plan, results, aligned, pieces)
    sentences = tuple(
        _sentence(source, planned, choices[0], result)
        for source, planned, choices, result in zip(plan.sentences, plan.planned, of_sentence, results, strict=True)
    )
    hypotheses = tuple(
        TextHypothesis(
            plan.fill([choices[min(rank, len(choices) - 1)].text for choices in of_sentence]),
            sum(result.hypotheses[min(rank, len(result.hypotheses) - 1)].score for result in results),
        )
        for rank in range(min(num_hypotheses, max((len(choices) for choices in of_sentence), default=1)))
    )
    return TextTranslation(hypotheses[0].text, sentences, hypotheses)


def _choices(
    plan: TextPlan, results: Sequence[SentenceResult], aligned: Sequence[OfHypotheses], pieces: Pieces
) -> list[list[Restored]]:
    """For every sentence, the texts of its hypotheses, with spans in place of masks and with their tags."""
    of_sentence = []
    for source, planned, result, pairs in zip(plan.sentences, plan.planned, results, aligned, strict=True):
        checkpoint()
        choices = [planned.restore(hypothesis.ids, pieces) for hypothesis in result.hypotheses]
        if planned.tags:
            choices = [
                dataclasses.replace(
                    choice, text=place_tags(planned.tags, strip_tags(source)[0], choice.text, own_pairs)
                )
                for choice, own_pairs in zip(choices, pairs, strict=True)
            ]
        of_sentence.append(choices)
    return of_sentence


def _alignment(plan: TextPlan, joined: TextTranslation, aligned: Sequence[OfHypotheses]) -> tuple[Pair, ...]:
    """The pairs of all sentences' best translations, as places in the whole text and in its translation."""
    pairs: list[Pair] = []
    remaining = iter(zip(joined.sentences, aligned, strict=True))
    source_at = target_at = 0
    for segment in plan.segments:
        target = segment.text
        if segment.is_sentence:
            sentence, (best, *_) = next(remaining)
            target = sentence.target
            pairs += ((_moved(place, source_at), _moved(aligned_place, target_at)) for place, aligned_place in best)
        source_at, target_at = source_at + len(segment.text), target_at + len(target)
    return tuple(pairs)


def _moved(place: Place, by: int) -> Place:
    return place[0] + by, place[1] + by


def _sentence(source: str, planned: PlannedSentence, target: Restored, result: SentenceResult) -> SentenceTranslation:
    checkpoint()
    best = result.hypotheses[0]
    seen = {"cut": planned.is_cut, "truncated": best.finish_reason == "length", "moved": target.is_moved}
    flags = (*find_flags(source, target.text), *(name for name, holds in seen.items() if holds))
    return SentenceTranslation(
        source, target.text, best.score, best.finish_reason, best.num_tokens, flags, best.ids, len(planned.ids)
    )
