"""Puts translated texts together from the engine's results."""

import dataclasses
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from server.engine.request import SentenceResult, Timings
from server.runtime.checkpoints import checkpoint
from server.telemetry.labels import FinishReason
from server.text.base.pieces import Pieces
from server.text.base.words import Place
from server.text.checks.flags import find_flags
from server.text.markup.tags import Pair, place_tags, strip_tags
from server.text.protect.emphasis import raise_emphasis
from server.text.protect.restoring import Restored
from server.text.split.clauses import as_clause
from server.text.split.plan import PlannedSentence, TextPlan
from server.translation.planning import PlannedRequest
from server.translation_memory.pairs import EntryMatch

Placed = tuple[Restored, Sequence[Pair]]
"""A hypothesis' text, and its pairs of aligned words."""
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
    is_from_memory: bool = False
    """Whether it is of a translation memory: the model did not see it, and it has no score and no tokens."""


@dataclass(frozen=True)
class Match:
    """An entry of a translation memory for the text, or sentence, at `place` of a source."""

    entry: EntryMatch
    place: Place


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
    matches: tuple[Match, ...] = ()
    """What a translation memory has for the text and its sentences."""


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
    planned: PlannedRequest,
    results: Sequence[SentenceResult],
    pieces: Pieces,
    aligned: Sequence[OfHypotheses] = (),
    incomplete: Collection[int] = (),
) -> TranslationOutcome:
    """The translated texts, from the result of every sentence and, where words were aligned, their pairs. `pieces` are
    the target's; `incomplete` are the numbers of sentences whose translations lack a part."""
    remaining = iter(zip(results, aligned or [()] * len(results), strict=True))
    first = 0
    translations = []
    for plan in planned.plans:
        of_plan = [next(remaining) for _ in plan.planned]
        of_text, pairs = [result for result, _ in of_plan], [of_sentence for _, of_sentence in of_plan]
        placed = _choices(plan, of_text, pairs, pieces)
        sentences = tuple(
            _sentence(source, sentence, texts[0][0], result, number in incomplete, planned.languages)
            for number, (source, sentence, texts, result) in enumerate(
                zip(plan.sentences, plan.planned, placed, of_text, strict=True), first
            )
        )
        first += len(sentences)
        translation = _join(plan, of_text, placed, planned.request.options.num_hypotheses, sentences)
        if planned.request.aligns:
            best = [of_sentence[0][1] for of_sentence in placed]
            translation = dataclasses.replace(translation, alignment=_alignment(plan, translation, best))
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
    placed: Sequence[Sequence[Placed]],
    num_hypotheses: int,
    sentences: tuple[SentenceTranslation, ...],
) -> TextTranslation:
    of_sentence = [[choice for choice, _ in choices] for choices in placed]
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
) -> list[list[Placed]]:
    """For every sentence, the texts of its hypotheses, with spans in place of masks, with their tags and capitals."""
    of_sentence = []
    for source, planned, result, pairs in zip(plan.sentences, plan.planned, results, aligned, strict=True):
        checkpoint()
        choices = [_restored(source, planned, hypothesis.ids, pieces) for hypothesis in result.hypotheses]
        if planned.needs_alignment:
            of_sentence.append([_placed(planned, source, *pair) for pair in zip(choices, pairs, strict=True)])
        else:
            of_sentence.append(
                [(choice, pairs[rank] if rank < len(pairs) else ()) for rank, choice in enumerate(choices)]
            )
    return of_sentence


def _restored(source: str, planned: PlannedSentence, ids: Sequence[int], pieces: Pieces) -> Restored:
    """A hypothesis; of a part of a sentence, as that part."""
    restored = planned.restore(ids, pieces)
    if not planned.is_cut or planned.masked.is_capitals:
        return restored
    kept = tuple(span.text for span in planned.masked.spans)
    clause = as_clause(
        source, restored.text, lambda word, other: pieces.num_pieces(word) <= pieces.num_pieces(other), kept
    )
    return dataclasses.replace(restored, text=clause)


def _placed(planned: PlannedSentence, source: str, choice: Restored, pairs: Sequence[Pair]) -> Placed:
    """A hypothesis with its tags and capitals."""
    text, is_moved = choice.text, choice.is_moved
    read = strip_tags(source)[0] if planned.tags else source
    if planned.masked.emphasized:
        text, pairs, is_whole = raise_emphasis(read, planned.masked.emphasized, text, pairs)
        is_moved |= not is_whole
    if planned.tags:
        text = place_tags(planned.tags, read, text, pairs)
    return Restored(text, is_moved), pairs


def _alignment(plan: TextPlan, joined: TextTranslation, aligned: Sequence[Sequence[Pair]]) -> tuple[Pair, ...]:
    """The pairs of all sentences' best translations, as places in the whole text and in its translation."""
    pairs: list[Pair] = []
    remaining = iter(zip(joined.sentences, aligned, strict=True))
    source_at = target_at = 0
    for segment in plan.segments:
        target = segment.text
        if segment.is_sentence:
            sentence, best = next(remaining)
            target = sentence.target
            pairs += ((_moved(place, source_at), _moved(aligned_place, target_at)) for place, aligned_place in best)
        source_at, target_at = source_at + len(segment.text), target_at + len(target)
    return tuple(pairs)


def _moved(place: Place, by: int) -> Place:
    return place[0] + by, place[1] + by


def _sentence(
    source: str,
    planned: PlannedSentence,
    target: Restored,
    result: SentenceResult,
    is_lacking: bool,
    languages: tuple[str, str],
) -> SentenceTranslation:
    checkpoint()
    best = result.hypotheses[0]
    is_truncated = is_lacking or best.finish_reason == "length"
    seen = {"cut": planned.is_cut, "truncated": is_truncated, "moved": target.is_moved}
    flags = (*find_flags(source, target.text, languages), *(name for name, holds in seen.items() if holds))
    return SentenceTranslation(
        source, target.text, best.score, best.finish_reason, best.num_tokens, flags, best.ids, len(planned.ids)
    )
