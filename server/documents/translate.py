"""Translates one batch of a document's sentences, each with what it sees of the document as context. `batches` decides
which sentences form a batch, `sentence_states` gives what they see."""

import asyncio
import dataclasses
import logging
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import cast

from server.documents.attention_weights import attention_weights, largest, weights_by_sentence
from server.documents.cutting import joined, restored_sentence
from server.documents.sentence_states import DocumentStates
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload, offload_above
from server.stores.records import Document, Mode, Sentence
from server.telemetry import tracing
from server.telemetry.labels import FLAGS
from server.text.checks.flags import find_flags
from server.text.protect.masks import Masked
from server.text.protect.terms import Terms
from server.text.split.plan import PlannedSentence, plan_sentence
from server.translation.glossary import SentenceDraft, enforce_terms, wide
from server.translation.translator import RequestedOptions, Translator

logger = logging.getLogger("ringmt")

OnSentence = Callable[[int, Callable[[], str]], None]
"""Takes a sentence's index and a function that returns its translation."""
EXPLANATIONS_AT_ONCE = 16
"""Sentences whose attention weights are computed at the same time: more would only fill the engine's queue."""


@dataclass(frozen=True)
class DocumentTask:
    """How the sentences of one document are translated. `document_id` names the document in caches. `terms` are
    translated as they say. `counts_flags`: the metrics count the flags of the translations; False where they are no
    answer, or the caller counts them."""

    document_id: str
    mode: Mode
    options: RequestedOptions
    terms: Terms | None = None
    counts_flags: bool = True
    finds_missing: bool = True
    """Translations that lack a part of their source are found; False where the caller finds them."""

    @classmethod
    def of(cls, document: Document, translator: Translator) -> "DocumentTask":
        """The task of a stored document. Of two models, only the second one's translations are answers."""
        is_last = translator.languages[1] == document.target_language
        return cls(document.id, document.mode, _known_options(document), counts_flags=is_last)


async def translate_sentences(
    translator: Translator,
    task: DocumentTask,
    sentences: Sequence[Sentence],
    states: DocumentStates | None,
    deadline: float | None = None,
    owner: Hashable = None,
    on_sentence: OnSentence | None = None,
) -> list[Sentence]:
    """The sentences with their translations. `states` are those of the whole document (online at least of what comes
    before), None when there is nothing to see. All sentences wait in one queue flow, that of `owner` if there is one.
    `on_sentence` is called in the engine's thread for every translated sentence, but not with terms or formality.

    Raises Overloaded, TooManySentences, DeadlineExceeded, EngineStopped, and TermRefused.
    """
    last, terms = translator.options(**task.options, deadline=deadline), task.terms
    options = last if terms is None else wide(last)
    owner = object() if owner is None else owner
    if translator.needs_drafts and states is not None:  # encoded once, for the translation and its attention weights
        sources = [part.source_ids for sentence in sentences for part in sentence.parts]
        await states.encodings.fill(translator, sources, owner)
    num_chars = sum(len(sentence.source) for sentence in sentences)
    size = 0 if states is None else num_chars * len(states.owners)
    requests = await offload_above(size, _requests, task.mode, sentences, states, options, owner)
    if on_sentence is not None and terms is None and options.formality is None:
        remaining = iter(requests)
        for sentence in sentences:
            _call_when_done(translator, sentence, [next(remaining) for _ in sentence.parts], on_sentence)
    results = await translator.run_in_portions(requests, deadline)
    masks: list[Masked] = []
    if terms is not None:
        drafts = await offload_above(num_chars, _with_plans, translator, sentences, requests, results)
        await enforce_terms(translator, drafts, last, terms)
        requests, results = [draft.request for draft in drafts], [draft.result for draft in drafts]
        masks = [draft.planned.masked for draft in drafts]
    if translator.needs_drafts:
        results = await _with_attention(translator, requests, results)
    with tracing.stage("detokenize"):
        done = await offload(_finish, translator, sentences, results, masks, states)
    if task.finds_missing:
        done = await with_missing(translator, done, deadline)
    if task.counts_flags:
        translator.count_flags(await offload_above(num_chars, _num_flags, done))
    return done


def _num_flags(sentences: Sequence[Sentence]) -> Counter[str]:
    """How many sentences have each flag, with the sources that the document has."""
    flags = Counter[str]()
    for sentence in sentences:
        checkpoint()
        flags.update(flags_of(sentence))
    return flags


def flags_of(sentence: Sentence, languages: tuple[str, str] = ("", "")) -> list[str]:
    """What looks wrong in a translation of the model, in the order of FLAGS; of two models, from the first one's
    source. `languages`: the codes of source and target, "" for unknown ones."""
    if sentence.translation is None or sentence.is_edited:
        return []
    origin = sentence.origin or sentence
    is_cut_off = "length" in (sentence.finish_reason, origin.finish_reason)
    seen = {*sentence.flags, *origin.flags, *(["truncated"] if is_cut_off else [])}
    return [*find_flags(origin.source, sentence.translation, languages), *sorted(seen, key=FLAGS.index)]


async def with_missing(translator: Translator, sentences: Sequence[Sentence], deadline: float | None) -> list[Sentence]:
    """The translated sentences, those that lack a part of their source with the flag for it."""
    parts = [(number, part) for number, sentence in enumerate(sentences) for part in sentence.parts]
    pairs = [(part.source_ids, part.target_ids or ()) for _, part in parts]
    lacking = {parts[at][0] for at in await translator.find_incomplete(pairs, deadline)}
    return [
        dataclasses.replace(sentence, flags=(*sentence.flags, "truncated")) if number in lacking else sentence
        for number, sentence in enumerate(sentences)
    ]


def _requests(
    mode: Mode,
    sentences: Sequence[Sentence],
    states: DocumentStates | None,
    options: SearchOptions,
    owner: Hashable,
) -> list[SentenceRequest]:
    """One request for every part of every sentence, with what the sentence sees."""
    requests: list[SentenceRequest] = []
    for sentence in sentences:
        checkpoint()
        context = states.seen_by(mode, sentence.index) if states is not None else None
        for part in sentence.parts:
            encoding = None if states is None else states.encodings.get(part.source_ids)
            requests.append(SentenceRequest(part.source_ids, options, context, owner, encoded=encoding))
    return requests


def _known_options(document: Document) -> RequestedOptions:
    """The options that a document was sent with. Options that a newer RingMT wrote, and this one does not know, are
    left out, and the log says so."""
    known = {name: value for name, value in document.options.items() if name in RequestedOptions.__annotations__}
    if len(known) < len(document.options):
        unknown = ", ".join(sorted(ascii(name) for name in document.options.keys() - known.keys()))
        logger.warning(
            "document %s has options that this RingMT does not know (%s): it is translated without them; update RingMT",
            document.id,
            unknown,
        )
    return cast(RequestedOptions, known)


def _with_plans(
    translator: Translator,
    sentences: Sequence[Sentence],
    requests: Sequence[SentenceRequest],
    results: Sequence[SentenceResult],
) -> list[SentenceDraft]:
    """Every part with its text, its request and its result."""
    spans = [(sentence.source, part.span) for sentence in sentences for part in sentence.parts]
    texts = [source if span is None else source[slice(*span)] for source, span in spans]
    return [
        SentenceDraft(text, _planned(text, translator), request, result)
        for text, request, result in zip(texts, requests, results, strict=True)
    ]


def _planned(text: str, translator: Translator) -> PlannedSentence:
    checkpoint()
    return plan_sentence(text, translator.source_pieces)


def _call_when_done(
    translator: Translator, sentence: Sentence, requests: Sequence[SentenceRequest], on_sentence: OnSentence
) -> None:
    """Call `on_sentence` when the requests for all parts of the sentence have succeeded. A future keeps its callbacks:
    they refer to no request, so that requests and the states that these see are freed at once."""
    targets: list[tuple[int, ...] | None] = [None] * len(requests)
    lock = threading.Lock()

    def translation() -> str:
        return joined(sentence, translator.target_pieces.decode(ids or () for ids in targets), translator)

    def part_done(number: int, future: "Future[SentenceResult]") -> None:
        if future.exception() is not None:
            return
        with lock:
            targets[number] = future.result().hypotheses[0].ids
            is_whole = None not in targets
        if is_whole:
            on_sentence(sentence.index, translation)

    for number, request in enumerate(requests):
        request.future.add_done_callback(partial(part_done, number))


async def _with_attention(
    translator: Translator, requests: Sequence[SentenceRequest], results: Sequence[SentenceResult]
) -> list[SentenceResult]:
    """The results, each with the attention weights of its translation. On the decoder's side every step attends by
    itself, so the weights are computed again for the finished translation as a whole."""

    async def explained(request: SentenceRequest, result: SentenceResult) -> SentenceResult:
        if request.context is None:
            return result
        ids = result.hypotheses[0].ids
        use = await attention_weights(
            translator, request.source_ids, request.context, ids, request.owner, request.encoded
        )
        return dataclasses.replace(result, context=use)

    done: list[SentenceResult] = []
    pairs = list(zip(requests, results, strict=True))
    for start in range(0, len(pairs), EXPLANATIONS_AT_ONCE):
        done += await asyncio.gather(*(explained(*pair) for pair in pairs[start : start + EXPLANATIONS_AT_ONCE]))
    return done


def _finish(
    translator: Translator,
    sentences: Sequence[Sentence],
    results: Sequence[SentenceResult],
    masks: Sequence[Masked],
    states: DocumentStates | None,
) -> list[Sentence]:
    """The sentences with the results of their parts. `masks` is how the parts were masked; empty without terms."""
    done: list[Sentence] = []
    end = 0
    for sentence in sentences:
        start, end = end, end + len(sentence.parts)
        done.append(_translated(translator, sentence, results[start:end], masks[start:end], states))
    return done


def _translated(
    translator: Translator,
    sentence: Sentence,
    results: Sequence[SentenceResult],
    masks: Sequence[Masked],
    states: DocumentStates | None,
) -> Sentence:
    checkpoint()
    best = [result.hypotheses[0] for result in results]
    targets = translator.target_pieces.decode(hypothesis.ids for hypothesis in best)
    restored = restored_sentence(sentence, targets, translator, masks)
    is_cut_off = any(hypothesis.finish_reason == "length" for hypothesis in best)
    return dataclasses.replace(
        sentence,
        parts=tuple(
            dataclasses.replace(part, target_ids=hypothesis.ids)
            for part, hypothesis in zip(sentence.parts, best, strict=True)
        ),
        translation=restored.text,
        score=sum(hypothesis.score for hypothesis in best),
        finish_reason="length" if is_cut_off else "eos",
        is_edited=False,
        is_stale=False,
        version=sentence.version + sentence.is_stale,
        context_used=_context_used(results, states),
        flags=("moved",) if restored.is_moved else (),
    )


def _context_used(results: Sequence[SentenceResult], states: DocumentStates | None) -> tuple[tuple[int, float], ...]:
    """The sentences that a sentence attended to: (sentence index, weight), means over heads and parts."""
    uses = [result.context for result in results if result.context is not None]
    if states is None or not uses:
        return ()
    weights: dict[int, float] = {}
    for use in uses:
        for index, by_head in weights_by_sentence(use, states.owners).items():
            weights[index] = weights.get(index, 0.0) + float(by_head.mean()) / len(uses)
    return largest(weights)
