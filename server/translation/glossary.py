"""Translates texts with a glossary.

A sentence is first translated freely. If some of its hypotheses have every term as the glossary says, the best of these
is taken. Otherwise the sentence is translated again with masks in place of its terms
(`server.text.protect.protection`), each of which comes back as the term's translation exactly once. So every term is
there, and a sentence takes at most two searches.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from server.backends.context import SentenceContext
from server.engine.request import Hypothesis, SearchOptions, SentenceRequest, SentenceResult
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.text.base.pieces import Pieces
from server.text.markup.tags import strip_tags
from server.text.protect.protection import find_terms
from server.text.protect.terms import Match, Terms, missing_terms
from server.text.split.plan import PlannedSentence, plan_sentence
from server.translation.assembly import TranslationOutcome
from server.translation.translator import PrefixRefused, Translator


class TermRefused(ValueError):
    """A sentence cannot be translated with masks in place of its terms; the message says what to do."""


@dataclass
class Said:
    """A sentence or a part of one: its text, how it was masked, its last search, and the result of that."""

    source: str
    planned: PlannedSentence
    request: SentenceRequest
    result: SentenceResult

    @property
    def read(self) -> str:
        """The text as terms are found in it: without tags that an alignment will set."""
        return strip_tags(self.source)[0] if self.planned.tags else self.source


@dataclass(frozen=True)
class WithTerms:
    """A model that says terms as it is told."""

    translator: Translator
    terms: Terms

    async def translate(
        self,
        texts: Sequence[str],
        options: SearchOptions,
        context: SentenceContext | None = None,
        splits: bool = True,
        *,
        tagged: bool = False,
    ) -> TranslationOutcome:
        """As Translator.translate. Raises TermRefused besides."""
        return await translate_with_terms(self.translator, texts, options, self.terms, context, splits, tagged=tagged)


async def translate_with_terms(
    translator: Translator,
    texts: Sequence[str],
    options: SearchOptions,
    terms: Terms,
    context: SentenceContext | None = None,
    splits: bool = True,
    prefixes: Sequence[str] = (),
    aligns: bool = False,
    tagged: bool = False,
    counts_flags: bool = True,
) -> TranslationOutcome:
    """`Translator.translate`, with every term that is in a sentence, outside of protected spans, translated as `terms`
    say, as often as it is there. A sentence may have fewer hypotheses than were asked for.

    Raises TermRefused, and what Translator.translate raises.
    """
    work = await translator.prepare(texts, wide(options), context, splits, prefixes, aligns, tagged)
    results = await translator.run(work.requests, options.deadline)
    remaining = iter(zip(work.requests, results, strict=True))
    by_text = [
        [Said(source, planned, *next(remaining)) for source, planned in zip(plan.sentences, plan.planned, strict=True)]
        for plan in work.plans
    ]
    await translate_terms(translator, [one for said in by_text for one in said], options, terms)
    plans = tuple(
        dataclasses.replace(plan, planned=tuple(one.planned for one in said))
        for plan, said in zip(work.plans, by_text, strict=True)
    )
    done = [_best(one.result, options.num_hypotheses) for said in by_text for one in said]
    return await translator.finish(dataclasses.replace(work, plans=plans, options=options), done, counts_flags)


def wide(options: SearchOptions) -> SearchOptions:
    """The same search, with all hypotheses of its beam as the result."""
    return dataclasses.replace(options, num_hypotheses=options.beam_size)


async def translate_terms(translator: Translator, said: Sequence[Said], options: SearchOptions, terms: Terms) -> None:
    """Keep the hypotheses that have every term of their sentence. Sentences without such a hypothesis are translated
    once more, with masks in place of their terms. Raises TermRefused, and what Translator.run_in_turn raises."""
    num_chars = sum(len(sentence.source) for sentence in said)
    again = await offload_above(num_chars, _lacking, translator, said, options, terms)
    results = await translator.run_in_turn([one.request for one in again], options.deadline)
    for one, result in zip(again, results, strict=True):
        one.result = result


def _lacking(translator: Translator, said: Sequence[Said], options: SearchOptions, terms: Terms) -> list[Said]:
    """Keep the hypotheses that have every term of their sentence; returns the sentences without one, masked. Raises
    TermRefused, PrefixRefused."""
    again: list[Said] = []
    for one in said:
        checkpoint()
        matches = find_terms(one.read, terms)
        if not _keep_good(one, matches, translator.target_pieces):
            _mask(translator, one, matches, options, terms)
            if one.planned.masked.is_translatable:
                again.append(one)
            else:  # nothing but terms: there is nothing for the model to translate
                one.result = _as_read(one, translator.target_pieces)
    return again


def _keep_good(said: Said, matches: Sequence[Match], pieces: Pieces) -> bool:
    """Keep the hypotheses that have every term; returns whether there are any."""
    if not matches:
        return True
    hypotheses = said.result.hypotheses
    texts = [said.planned.restore(one.ids, pieces).text for one in hypotheses]
    good = tuple(one for one, text in zip(hypotheses, texts, strict=True) if not missing_terms(matches, text))
    if good:
        said.result = dataclasses.replace(said.result, hypotheses=good)
    return bool(good)


def _mask(translator: Translator, said: Said, matches: Sequence[Match], options: SearchOptions, terms: Terms) -> None:
    """Put masks in place of a sentence's terms. Raises TermRefused, PrefixRefused."""
    prefix = said.planned.prefix
    planned = plan_sentence(said.source, translator.source_pieces, said.planned.is_cut, terms, bool(said.planned.tags))
    said.planned = planned if prefix is None else planned.with_prefix(prefix.text, translator.target_pieces)
    _check(said, matches, translator.artifact.manifest.max_source_length)
    if len(said.planned.prefix_ids) >= translator.room(said.planned, options):
        raise PrefixRefused(f"it leaves no room for the terms of {said.source[:60]!r}")
    asked = said.request
    said.request = SentenceRequest(planned.ids, options, asked.context, asked.owner, prefix=said.planned.prefix_ids)


def _check(sentence: Said, matches: Sequence[Match], longest: int) -> None:
    """Raise TermRefused where the terms could not be masked, or the masked sentence is too long."""
    masked = Counter(span.text for span in sentence.planned.masked.spans)
    is_whole = not Counter(match.target for match in matches) - masked
    if not is_whole or len(sentence.planned.ids) > longest:
        raise TermRefused(
            f"the sentence {sentence.source[:60]!r} cannot be read with masks in place of its terms: shorten it, or "
            "leave terms out"
        )


def _as_read(sentence: Said, pieces: Pieces) -> SentenceResult:
    """A result that has the masks as the source has them."""
    [ids] = pieces.encode([sentence.planned.masked.text])
    said = Hypothesis((*sentence.planned.prefix_ids, *ids[:-1]), 0.0, 0.0, "eos")
    return dataclasses.replace(sentence.result, hypotheses=(said,))


def _best(result: SentenceResult, count: int) -> SentenceResult:
    return dataclasses.replace(result, hypotheses=result.hypotheses[:count])
