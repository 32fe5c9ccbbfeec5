"""Translates texts with a glossary.

A sentence is first translated without constraints. If some of its hypotheses have every term as in the glossary, the
best of these is the translation. Otherwise the sentence is translated again with masks in place of its terms
(`server.text.protect`); each mask is replaced by the term's translation exactly once. So every term is
translated, and a sentence takes at most two searches.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from server.engine.request import Hypothesis, SearchOptions, SentenceRequest, SentenceResult
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.text.base.pieces import Pieces
from server.text.markup.tags import strip_tags
from server.text.protect.masking import find_terms
from server.text.protect.terms import Match, Terms, missing_terms
from server.text.split.plan import PlannedSentence, plan_sentence
from server.translation.assembly import TranslationOutcome
from server.translation.planning import PlannedRequest, PrefixRefused, TextRequest
from server.translation.translator import Translator


class TermRefused(ValueError):
    """A sentence cannot be translated with masks in place of its terms; the message says what to do."""


@dataclass
class SentenceDraft:
    """A sentence or a part of a sentence: its text, its masks, its last search and the search's result."""

    source: str
    planned: PlannedSentence
    request: SentenceRequest
    result: SentenceResult

    @property
    def read(self) -> str:
        """The text in which terms are searched: without tags that are placed by alignment."""
        return strip_tags(self.source)[0] if self.planned.tags else self.source


@dataclass(frozen=True)
class GlossaryTranslator:
    """A model that translates terms as a glossary has them."""

    translator: Translator
    terms: Terms

    async def translate(self, request: TextRequest) -> TranslationOutcome:
        """As Translator.translate. Raises TermRefused besides."""
        return await translate_with_terms(self.translator, request, self.terms)


async def translate_with_terms(
    translator: Translator, request: TextRequest, terms: Terms, counts_flags: bool = True
) -> TranslationOutcome:
    """`Translator.translate` with a glossary: every term of a sentence, outside of protected spans, is translated as in
    `terms`, as often as the sentence has it. A sentence may have fewer hypotheses than requested.

    Raises TermRefused, and what Translator.translate raises.
    """
    options = request.options
    whole_beam = await translator.prepare(dataclasses.replace(request, options=wide(options)))
    results = await translator.run(whole_beam.sentences, options.deadline)
    remaining = iter(zip(whole_beam.sentences, results, strict=True))
    drafts = [
        SentenceDraft(source, planned, *next(remaining))
        for plan in whole_beam.plans
        for source, planned in zip(plan.sentences, plan.planned, strict=True)
    ]
    await enforce_terms(translator, drafts, options, terms)
    return await finish_drafts(translator, whole_beam, request, drafts, counts_flags)


async def finish_drafts(
    translator: Translator,
    whole_beam: PlannedRequest,
    request: TextRequest,
    drafts: Sequence[SentenceDraft],
    counts_flags: bool = True,
) -> TranslationOutcome:
    """The outcome of a request whose sentences were searched with all hypotheses of the beam, and have their terms."""
    remaining = iter(drafts)
    plans = tuple(
        dataclasses.replace(plan, planned=tuple(next(remaining).planned for _ in plan.planned))
        for plan in whole_beam.plans
    )
    done = [_best(draft.result, request.options.num_hypotheses) for draft in drafts]
    planned = dataclasses.replace(whole_beam, request=request, plans=plans)
    return await translator.finish(planned, done, counts_flags)


def wide(options: SearchOptions) -> SearchOptions:
    """The same search, with all hypotheses of its beam as the result."""
    return dataclasses.replace(options, num_hypotheses=options.beam_size)


async def enforce_terms(
    translator: Translator, drafts: Sequence[SentenceDraft], options: SearchOptions, terms: Terms
) -> None:
    """Keep the hypotheses that have every term of their sentence. Sentences without such a hypothesis are translated
    again, with masks in place of their terms. Raises TermRefused, and what Translator.run_in_portions raises."""
    num_chars = sum(len(sentence.source) for sentence in drafts)
    again = await offload_above(num_chars, _lacking, translator, drafts, options, terms)
    results = await translator.run_in_portions([draft.request for draft in again], options.deadline)
    for draft, result in zip(again, results, strict=True):
        draft.result = result


def _lacking(
    translator: Translator, drafts: Sequence[SentenceDraft], options: SearchOptions, terms: Terms
) -> list[SentenceDraft]:
    """Keep the hypotheses that have every term of their sentence; returns the sentences without one, masked. Raises
    TermRefused, PrefixRefused."""
    again: list[SentenceDraft] = []
    for draft in drafts:
        checkpoint()
        matches = find_terms(draft.read, terms)
        if not _keep_good(draft, matches, translator.target_pieces):
            _mask(translator, draft, matches, options, terms)
            if draft.planned.masked.is_translatable:
                again.append(draft)
            else:  # nothing but terms: there is nothing for the model to translate
                draft.result = _as_read(draft, translator.target_pieces)
    return again


def _keep_good(draft: SentenceDraft, matches: Sequence[Match], pieces: Pieces) -> bool:
    """Keep the hypotheses that have every term; returns whether there are any."""
    if not matches:
        return True
    hypotheses = draft.result.hypotheses
    texts = [draft.planned.restore(hypothesis.ids, pieces).text for hypothesis in hypotheses]
    good = tuple(
        hypothesis for hypothesis, text in zip(hypotheses, texts, strict=True) if not missing_terms(matches, text)
    )
    if good:
        draft.result = dataclasses.replace(draft.result, hypotheses=good)
    return bool(good)


def _mask(
    translator: Translator, draft: SentenceDraft, matches: Sequence[Match], options: SearchOptions, terms: Terms
) -> None:
    """Put masks in place of a sentence's terms. Raises TermRefused, PrefixRefused."""
    prefix = draft.planned.prefix
    planned = plan_sentence(
        draft.source,
        translator.source_pieces,
        draft.planned.is_cut,
        terms,
        bool(draft.planned.tags),
        bool(draft.planned.masked.emphasized),
    )
    planned = dataclasses.replace(planned, languages=draft.planned.languages)
    draft.planned = planned if prefix is None else planned.with_prefix(prefix.text, translator.target_pieces)
    _check(draft, matches, translator.artifact.manifest.max_source_length)
    if len(draft.planned.prefix_ids) >= translator.planner.max_target_pieces(draft.planned, options):
        raise PrefixRefused(f"it leaves no room for the terms of {draft.source[:60]!r}")
    previous = draft.request
    draft.request = SentenceRequest(
        planned.ids, options, previous.context, previous.owner, prefix=draft.planned.prefix_ids
    )


def _check(sentence: SentenceDraft, matches: Sequence[Match], longest: int) -> None:
    """Raise TermRefused where the terms could not be masked, or the masked sentence is too long."""
    masked = Counter(span.text for span in sentence.planned.masked.spans)
    is_whole = not Counter(match.target for match in matches) - masked
    if not is_whole or len(sentence.planned.ids) > longest:
        raise TermRefused(
            f"the sentence {sentence.source[:60]!r} cannot be read with masks in place of its terms: shorten it, or "
            "leave terms out"
        )


def _as_read(sentence: SentenceDraft, pieces: Pieces) -> SentenceResult:
    """A result that has the masks as the source has them."""
    [ids] = pieces.encode([sentence.planned.masked.text])
    hypothesis = Hypothesis((*sentence.planned.prefix_ids, *pieces.without_eos(ids)), 0.0, 0.0, "eos")
    return dataclasses.replace(sentence.result, hypotheses=(hypothesis,))


def _best(result: SentenceResult, count: int) -> SentenceResult:
    return dataclasses.replace(result, hypotheses=result.hypotheses[:count])
