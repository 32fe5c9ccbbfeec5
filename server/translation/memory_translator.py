"""Translates texts with a translation memory, whose entries are used before the model.

A text, or else a sentence, whose source is equal to that of an entry gets the entry's translation, and the model does
not see it. The sentences between such sentences are translated as texts of their own.
"""

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from server.engine.request import Timings
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload
from server.text.base.words import Place
from server.translation.assembly import (
    SentenceTranslation,
    TextHypothesis,
    TextTranslation,
    TranslationOutcome,
)
from server.translation.markup_translation import TranslatesTexts
from server.translation.memory_lookup import MemoryPlan, MemoryText, MemoryUse, Part, Run, look_up
from server.translation.planning import TextRequest


@dataclass(frozen=True)
class MemoryTranslator:
    """A model, a model with a glossary, or two models, after a translation memory. `language` is that of the texts."""

    translator: TranslatesTexts
    use: MemoryUse
    language: str
    count: Callable[[int], None] = lambda number: None
    """Called with the number of sentences that the memory has, after each request."""
    check_count: Callable[[int], None] = lambda number: None
    """Called with the number of sentences so far, while a request is cut; raises TooManySentences."""

    async def translate(self, request: TextRequest) -> TranslationOutcome:
        """As Translator.translate; texts have their matches, and sentences of the memory no score and no tokens.
        Nothing is sent to the model where the memory has everything. Raises TooManyMatches besides."""
        started = time.monotonic()
        plan = await self.look_up(request)
        done = TranslationOutcome((), Timings(0.0, 0.0, 0.0), 0.0)
        if plan.texts:
            done = await self.translator.translate(plan.request(request))
        translations = await offload(put_together, plan, done.translations, request)
        self.count_sentences(translations)
        return dataclasses.replace(done, translations=translations, total=time.monotonic() - started)

    async def look_up(self, request: TextRequest) -> MemoryPlan:
        """Find what the memory has. Raises TooManySentences, TooManyMatches."""
        return await offload(look_up, request, self.use, self.language, self.check_count)

    def count_sentences(self, translations: Sequence[TextTranslation]) -> None:
        self.count(sum(sentence.is_from_memory for text in translations for sentence in text.sentences))


def put_together(
    plan: MemoryPlan, translations: Sequence[TextTranslation], request: TextRequest
) -> tuple[TextTranslation, ...]:
    """The texts of a request, from the translations of the plan's texts."""
    return tuple(_text(text, plan, translations, request) for text in plan.whole)


def _text(
    text: MemoryText, plan: MemoryPlan, translations: Sequence[TextTranslation], request: TextRequest
) -> TextTranslation:
    checkpoint()
    if len(text.parts) == 1 and isinstance(text.parts[0], Run):
        whole = translations[text.parts[0].number]
        return dataclasses.replace(whole, matches=tuple(text.matches))
    runs = [translations[part.number] for part in text.parts if isinstance(part, Run)]
    count = max((len(run.hypotheses) for run in runs), default=1)
    hypotheses = tuple(_hypothesis(text.parts, translations, rank) for rank in range(count))
    sentences: list[SentenceTranslation] = []
    pairs: list[tuple[Place, Place]] = []
    source_at = target_at = 0
    for part in text.parts:
        if isinstance(part, str):
            source_length = target_length = len(part)
        elif isinstance(part, SentenceTranslation):
            sentences.append(part)
            source_length, target_length = len(part.source), len(part.target)
        else:
            run = translations[part.number]
            sentences += run.sentences
            for source, target in run.alignment or ():
                pairs.append(
                    ((source[0] + source_at, source[1] + source_at), (target[0] + target_at, target[1] + target_at))
                )
            source_length, target_length = len(plan.texts[part.number]), len(run.text)
        source_at, target_at = source_at + source_length, target_at + target_length
    return TextTranslation(
        hypotheses[0].text,
        tuple(sentences),
        hypotheses,
        tuple(pairs) if request.aligns else None,
        tuple(text.matches),
    )


def _hypothesis(parts: Sequence[Part], translations: Sequence[TextTranslation], rank: int) -> TextHypothesis:
    """The text with the hypothesis of this rank of every run, or its last."""
    written: list[str] = []
    score = 0.0
    for part in parts:
        if isinstance(part, str):
            written.append(part)
        elif isinstance(part, SentenceTranslation):
            written.append(part.target)
        else:
            hypotheses = translations[part.number].hypotheses
            chosen = hypotheses[min(rank, len(hypotheses) - 1)]
            written.append(chosen.text)
            score += chosen.score
    return TextHypothesis("".join(written), score)
