"""Sentences of a document, translated in the light of what they see of it."""

import asyncio
import dataclasses
from collections.abc import Hashable, Sequence

from server.documents.parts import joined, plan_of, split_parts
from server.documents.protocol import largest, weights_by_sentence
from server.documents.records import Document, Sentence
from server.documents.states import DocumentStates
from server.engine.request import SentenceRequest, SentenceResult
from server.text.pieces import EOS_ID
from server.translator import TranslationOptions, Translator


def search_of(document: Document, deadline: float | None) -> TranslationOptions:
    """The search options that the document was made with. `deadline` is a time.monotonic() value."""
    return TranslationOptions(**document.options, deadline=deadline)


async def translate_sentences(
    translator: Translator,
    document: Document,
    sentences: Sequence[Sentence],
    states: DocumentStates | None,
    deadline: float | None = None,
    owner: Hashable = None,
) -> list[Sentence]:
    """The sentences with their translations. `states` are those of the whole document, or online at least of what
    comes before; None when there is nothing to see. They wait in the line of `owner`, or in one of their own.

    Raises Overloaded, TooManySentences, DeadlineExceeded, EngineStopped.
    """
    options = search_of(document, deadline)
    owner = object() if owner is None else owner
    requests: list[SentenceRequest] = []
    counts = []
    for sentence in sentences:
        context = states.seen_by(document.mode, sentence.index) if states is not None else None
        parts = split_parts(sentence.source_ids)
        counts.append(len(parts))
        requests += (
            SentenceRequest(part, translator.search_options(len(part), options), context, owner) for part in parts
        )
    results: list[SentenceResult] = []
    at_once = max(1, translator.settings.max_waiting // 4)
    for start in range(0, len(requests), at_once):
        results += await translator.run(requests[start : start + at_once], deadline)
    remaining = iter(results)
    of_sentence = [[next(remaining) for _ in range(count)] for count in counts]
    return await asyncio.to_thread(_finish, translator, document, sentences, of_sentence, states)


def _finish(
    translator: Translator,
    document: Document,
    sentences: Sequence[Sentence],
    results: Sequence[Sequence[SentenceResult]],
    states: DocumentStates | None,
) -> list[Sentence]:
    return [
        _translated(translator, document, sentence, of_parts, states)
        for sentence, of_parts in zip(sentences, results, strict=True)
    ]


def _translated(
    translator: Translator,
    document: Document,
    sentence: Sentence,
    results: Sequence[SentenceResult],
    states: DocumentStates | None,
) -> Sentence:
    best = [result.hypotheses[0] for result in results]
    translation = plan_of(sentence, translator).join(translator.pieces.decode(one.ids for one in best))
    translator.flag(sentence.source, translation)
    return dataclasses.replace(
        sentence,
        translation=translation,
        target_ids=joined((*one.ids, EOS_ID) for one in best),
        score=sum(one.score for one in best),
        finish_reason="length" if any(one.finish_reason == "length" for one in best) else "eos",
        is_edited=False,
        is_stale=False,
        version=sentence.version + sentence.is_stale,
        seen_version=document.version,
        context_used=_used(results, states),
    )


def _used(results: Sequence[SentenceResult], states: DocumentStates | None) -> tuple[tuple[int, float], ...]:
    """Where a sentence looked: the mean over heads and parts."""
    looked = [result.context for result in results if result.context is not None]
    if states is None or not looked:
        return ()
    weights: dict[int, float] = {}
    for use in looked:
        for index, by_head in weights_by_sentence(use, states.owners).items():
            weights[index] = weights.get(index, 0.0) + float(by_head.mean()) / len(looked)
    return largest(weights)
