"""Translates texts with a glossary.

A sentence is first translated freely. If some of its hypotheses have every term as the glossary says, the best of these
is taken. Otherwise the sentence is translated again with masks in place of its terms (`server.text.protection`), each
of which comes back as the term's translation exactly once. So every term is there, and a sentence takes at most two
searches.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from server.backends.context import SentenceContext
from server.engine.request import Hypothesis, SearchOptions, SentenceRequest, SentenceResult
from server.text.pieces import Pieces
from server.text.plan import PlannedSentence, plan_sentence
from server.text.protection import find_terms
from server.text.terms import Match, Terms, missing
from server.translations import TranslationOutcome
from server.translator import PrefixRefused, Translator


class TermRefused(ValueError):
    """A sentence cannot be translated with masks in place of its terms; the message says what to do."""


@dataclass
class _Sentence:
    """A sentence with its terms (`matches`), and the result of its last search."""

    source: str
    planned: PlannedSentence
    result: SentenceResult
    matches: list[Match]


async def translate_with_terms(
    translator: Translator,
    texts: Sequence[str],
    options: SearchOptions,
    terms: Terms,
    context: SentenceContext | None = None,
    splits: bool = True,
    prefixes: Sequence[str] = (),
) -> TranslationOutcome:
    """`Translator.translate`, with every term that is in a sentence, outside of protected spans, translated as `terms`
    say, as often as it is there. A sentence may have fewer hypotheses than were asked for.

    Raises TermRefused, and what Translator.translate raises.
    """
    wide = dataclasses.replace(options, num_hypotheses=options.beam_size)
    work = await translator.prepare(texts, wide, context, splits, prefixes)
    results = await translator.run(work.requests, options.deadline)
    remaining = iter(results)
    by_text = [
        [
            _Sentence(source, planned, next(remaining), find_terms(source, terms))
            for source, planned in zip(plan.sentences, plan.planned, strict=True)
        ]
        for plan in work.plans
    ]
    again = [one for sentences in by_text for one in sentences if not _keep_good(one, translator.target_pieces)]
    if again:
        await _translate_masked(translator, again, options, terms, context)
    plans = tuple(
        dataclasses.replace(plan, planned=tuple(one.planned for one in sentences))
        for plan, sentences in zip(work.plans, by_text, strict=True)
    )
    done = [_best(one.result, options.num_hypotheses) for sentences in by_text for one in sentences]
    return await translator.finish(dataclasses.replace(work, plans=plans, options=options), done)


def _keep_good(sentence: _Sentence, pieces: Pieces) -> bool:
    """Keep the hypotheses that have every term; returns whether there are any."""
    if not sentence.matches:
        return True
    hypotheses = sentence.result.hypotheses
    texts = [sentence.planned.restored(one.ids, pieces).text for one in hypotheses]
    good = tuple(one for one, text in zip(hypotheses, texts, strict=True) if not missing(sentence.matches, text))
    if good:
        sentence.result = dataclasses.replace(sentence.result, hypotheses=good)
    return bool(good)


async def _translate_masked(
    translator: Translator,
    sentences: Sequence[_Sentence],
    options: SearchOptions,
    terms: Terms,
    context: SentenceContext | None,
) -> None:
    """Put masks in place of the sentences' terms and translate them again."""
    owner, longest = object(), translator.artifact.manifest.max_source_length
    asked: list[tuple[_Sentence, SentenceRequest]] = []
    for one in sentences:
        prefix = one.planned.prefix
        planned = plan_sentence(one.source, translator.source_pieces, one.planned.is_cut, terms)
        one.planned = planned if prefix is None else planned.after(prefix.text, translator.target_pieces)
        _check(one, longest)
        if len(one.planned.prefix_ids) >= translator.room(one.planned, options):
            raise PrefixRefused(f"it leaves no room for the terms of {one.source[:60]!r}")
        if planned.masked.is_readable:
            request = SentenceRequest(planned.ids, options, context, owner, prefix=one.planned.prefix_ids)
            asked.append((one, request))
        else:  # nothing but terms: there is nothing for the model to translate
            one.result = _as_read(one, translator.target_pieces)
    results = await translator.run([request for _, request in asked], options.deadline)
    for (one, _), result in zip(asked, results, strict=True):
        one.result = result


def _check(sentence: _Sentence, longest: int) -> None:
    """Raise TermRefused where the terms could not be masked, or the masked sentence is too long."""
    masked = Counter(span.text for span in sentence.planned.masked.spans)
    is_whole = not Counter(match.target for match in sentence.matches) - masked
    if not is_whole or len(sentence.planned.ids) > longest:
        raise TermRefused(
            f"the sentence {sentence.source[:60]!r} cannot be read with masks in place of its terms: shorten it, or "
            "leave terms out"
        )


def _as_read(sentence: _Sentence, pieces: Pieces) -> SentenceResult:
    """A result that has the masks as the source has them."""
    [ids] = pieces.encode([sentence.planned.masked.text])
    said = Hypothesis((*sentence.planned.prefix_ids, *ids[:-1]), 0.0, 0.0, "eos")
    return dataclasses.replace(sentence.result, hypotheses=(said,))


def _best(result: SentenceResult, count: int) -> SentenceResult:
    return dataclasses.replace(result, hypotheses=result.hypotheses[:count])
