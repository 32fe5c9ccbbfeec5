"""Translates sentences of a document in the light of what they see of it."""

import asyncio
import dataclasses
import logging
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import cast

from server.backends.context import EncodedSource
from server.documents.attention_weights import largest, look, weights_by_sentence
from server.documents.cutting import joined
from server.documents.sentence_states import DocumentStates
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload, offload_above
from server.stores.records import Document, Sentence
from server.telemetry import tracing
from server.text.checks.flags import find_flags
from server.text.protect.protection import Masked
from server.text.protect.terms import Terms
from server.text.split.plan import PlannedSentence, plan_sentence
from server.translation.glossary import SentenceDraft, enforce_terms, wide
from server.translation.translator import RequestedOptions, Translator

logger = logging.getLogger("ringmt")

Heard = Callable[[int, Callable[[], str]], None]
"""Takes a sentence's index and a function that makes its translation."""
EXPLANATIONS_AT_ONCE = 16
"""Sentences asked at the same time where they look: more would only fill the engine's waiting room."""


async def translate_sentences(
    translator: Translator,
    document: Document,
    sentences: Sequence[Sentence],
    states: DocumentStates | None,
    deadline: float | None = None,
    owner: Hashable = None,
    heard: Heard | None = None,
    terms: Terms | None = None,
    counts_flags: bool = True,
) -> list[Sentence]:
    """The sentences with their translations. `states` are those of the whole document (online at least of what comes
    before), None when there is nothing to see. All wait in one line, that of `owner` if there is one. `heard` is called
    in the engine's thread for every sentence that is translated. `terms` are translated as they say; then `heard` is
    never called. `counts_flags`: the metrics count the flags of what the last model of the document says; whoever has
    them counted otherwise says no.

    Raises Overloaded, TooManySentences, DeadlineExceeded, EngineStopped, and TermRefused.
    """
    last = translator.options(**known_options(document), deadline=deadline)
    options = last if terms is None else wide(last)
    owner = object() if owner is None else owner
    if translator.needs_drafts and states is not None:  # asked twice: what its translation is, and where that looked
        await states.reads.fill(translator, [part.source_ids for one in sentences for part in one.parts], owner)
    num_chars = sum(len(sentence.source) for sentence in sentences)
    requests = await offload_above(
        0 if states is None else num_chars * len(states.owners), _requests, document, sentences, states, options, owner
    )
    if heard is not None and terms is None:
        remaining = iter(requests)
        for sentence in sentences:
            _tell_when_done(translator, sentence, [next(remaining) for _ in sentence.parts], heard)
    results = await translator.run_in_portions(requests, deadline)
    masks: list[Masked] = []
    if terms is not None:
        said = await offload_above(num_chars, _parts_said, translator, sentences, requests, results)
        await enforce_terms(translator, said, last, terms)
        requests, results = [one.request for one in said], [one.result for one in said]
        masks = [one.planned.masked for one in said]
    if translator.needs_drafts:
        results = await _looked(translator, requests, results)
    found = _Found(results, masks)
    with tracing.stage("detokenize"):
        done = await offload(_finish, translator, sentences, found, states)
    if counts_flags and translator.languages[1] == document.target_language:  # not the first of two
        translator.count_flags(await offload_above(num_chars, _num_flags, done))
    return done


def _num_flags(sentences: Sequence[Sentence]) -> Counter[str]:
    """How many sentences have each flag: what is translated, beside what the document has."""
    flags = Counter[str]()
    for one in sentences:
        checkpoint()
        flags.update(find_flags((one.origin or one).source, one.translation or ""))
    return flags


def _requests(
    document: Document,
    sentences: Sequence[Sentence],
    states: DocumentStates | None,
    options: SearchOptions,
    owner: Hashable,
) -> list[SentenceRequest]:
    """One request for every part of every sentence, with what the sentence sees."""
    requests: list[SentenceRequest] = []
    for sentence in sentences:
        checkpoint()
        context = states.seen_by(document.mode, sentence.index) if states is not None else None
        of_parts = [
            SentenceRequest(part.source_ids, options, context, owner, encoded=read_of(states, part.source_ids))
            for part in sentence.parts
        ]
        requests += of_parts
    return requests


def known_options(document: Document) -> RequestedOptions:
    """The options that a document was sent with. What a newer RingMT wrote, and this one does not know, is left out,
    and the log says so."""
    known = {name: value for name, value in document.options.items() if name in RequestedOptions.__annotations__}
    if len(known) < len(document.options):
        unknown = ", ".join(sorted(ascii(name) for name in document.options.keys() - known.keys()))
        logger.warning(
            "document %s has options that this RingMT does not know (%s): it is translated without them; update RingMT",
            document.id,
            unknown,
        )
    return cast(RequestedOptions, known)


@dataclass(frozen=True)
class _Found:
    """The engine's results for the parts of all sentences, in order. `masks` is how the parts were masked; empty
    without terms."""

    results: Sequence[SentenceResult]
    masks: Sequence[Masked]


def _parts_said(
    translator: Translator,
    sentences: Sequence[Sentence],
    requests: Sequence[SentenceRequest],
    results: Sequence[SentenceResult],
) -> list[SentenceDraft]:
    """Every part with its text, its request and its result."""
    spans = [(one.source, part.span) for one in sentences for part in one.parts]
    texts = [source if span is None else source[slice(*span)] for source, span in spans]
    return [
        SentenceDraft(text, _planned(text, translator), request, result)
        for text, request, result in zip(texts, requests, results, strict=True)
    ]


def _planned(text: str, translator: Translator) -> PlannedSentence:
    checkpoint()
    return plan_sentence(text, translator.source_pieces)


def _tell_when_done(
    translator: Translator, sentence: Sentence, of_parts: Sequence[SentenceRequest], heard: Heard
) -> None:
    missing = len(of_parts)

    def translation() -> str:
        best = [request.future.result().hypotheses[0] for request in of_parts]
        return joined(sentence, translator.target_pieces.decode(one.ids for one in best), translator)

    lock = threading.Lock()

    def one_done(future: "Future[SentenceResult]") -> None:
        nonlocal missing
        with lock:
            missing -= 1
            is_whole = not missing
        if is_whole and all(request.future.exception() is None for request in of_parts):
            heard(sentence.index, translation)

    for request in of_parts:
        request.future.add_done_callback(one_done)


def read_of(states: DocumentStates | None, source_ids: tuple[int, ...]) -> EncodedSource | None:
    """What the encoder gave for a part before, if that is still at hand."""
    return None if states is None else states.reads.get(source_ids)


async def _looked(
    translator: Translator, requests: Sequence[SentenceRequest], results: Sequence[SentenceResult]
) -> list[SentenceResult]:
    """The results, each with where its translation looked. On the decoder's side every step looks for itself, so the
    finished translation is asked as a whole."""

    async def looked(request: SentenceRequest, result: SentenceResult) -> SentenceResult:
        if request.context is None:
            return result
        ids = result.hypotheses[0].ids
        use = await look(translator, request.source_ids, request.context, ids, request.owner, request.encoded)
        return dataclasses.replace(result, context=use)

    found: list[SentenceResult] = []
    pairs = list(zip(requests, results, strict=True))
    for start in range(0, len(pairs), EXPLANATIONS_AT_ONCE):
        found += await asyncio.gather(*(looked(*pair) for pair in pairs[start : start + EXPLANATIONS_AT_ONCE]))
    return found


def _finish(
    translator: Translator,
    sentences: Sequence[Sentence],
    found: _Found,
    states: DocumentStates | None,
) -> list[Sentence]:
    done: list[Sentence] = []
    end = 0
    for sentence in sentences:
        start, end = end, end + len(sentence.parts)
        of_parts = _Found(found.results[start:end], found.masks[start:end])
        done.append(_translated(translator, sentence, of_parts, states))
    return done


def _translated(
    translator: Translator,
    sentence: Sentence,
    found: _Found,
    states: DocumentStates | None,
) -> Sentence:
    checkpoint()
    best = [result.hypotheses[0] for result in found.results]
    translation = joined(sentence, translator.target_pieces.decode(one.ids for one in best), translator, found.masks)
    return dataclasses.replace(
        sentence,
        parts=tuple(
            dataclasses.replace(part, target_ids=one.ids) for part, one in zip(sentence.parts, best, strict=True)
        ),
        translation=translation,
        score=sum(one.score for one in best),
        finish_reason="length" if any(one.finish_reason == "length" for one in best) else "eos",
        is_edited=False,
        is_stale=False,
        version=sentence.version + sentence.is_stale,
        context_used=_used(found.results, states),
    )


def _used(results: Sequence[SentenceResult], states: DocumentStates | None) -> tuple[tuple[int, float], ...]:
    """Where a sentence looked: (sentence index, weight), means over heads and parts."""
    looked = [result.context for result in results if result.context is not None]
    if states is None or not looked:
        return ()
    weights: dict[int, float] = {}
    for use in looked:
        for index, by_head in weights_by_sentence(use, states.owners).items():
            weights[index] = weights.get(index, 0.0) + float(by_head.mean()) / len(looked)
    return largest(weights)
