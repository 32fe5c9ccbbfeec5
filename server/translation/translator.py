"""One loaded model: texts in, translations out."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import NotRequired, TypedDict

from server.artifact.manifest import ContextKind
from server.backends.alignment import IdPair
from server.backends.context import ContextBackend
from server.engine.asynchronous import queue_all, wait_for_all
from server.engine.request import (
    DeadlineExceeded,
    Overloaded,
    SearchOptions,
    SentenceRequest,
    SentenceResult,
)
from server.runtime.offload import INLINE_CHARS, offload_above
from server.runtime.short_requests import short_requests
from server.scheduling.caller import Service, current
from server.telemetry import tracing
from server.text.checks.address import Formality
from server.text.markup.tags import Pair
from server.text.split.plan import TextPlan
from server.translation.alignment import align_hypotheses, prepare_alignments
from server.translation.assembly import TextTranslation, TranslationOutcome, assemble
from server.translation.coverage import NONE_KNOWN, count_missing, find_incomplete
from server.translation.formality import Addressing, supports_formality
from server.translation.planning import PlannedRequest, TextRequest
from server.translation.resplitting import Resplit, Translated, plan_resplits, with_resplits
from server.translation.served_model import ServedModel
from server.translation.trace_stages import record_stages

BACKGROUND_AT_ONCE = 128
"""Sentences that a document or a file has in the engine at the same time."""


class RequestedOptions(TypedDict):
    """Search options of a request, as Translator.options takes them; documents store them as JSON."""

    beam_size: int
    length_penalty: float | None
    max_length: int | None
    formality: NotRequired[Formality]


class Translator(ServedModel):
    """A model that translates. Safe to use from any thread; the engine has its own threads."""

    @property
    def supports_formality(self) -> bool:
        """Whether requests can say how the reader is addressed."""
        return supports_formality(*self.languages)

    async def translate(self, request: TextRequest, counts_flags: bool = True) -> TranslationOutcome:
        """Translate texts: all of their sentences are queued or none. `counts_flags`: as `finish`. When the task is
        cancelled, so are its sentences. Raises what `prepare`, `run` and `finish` raise."""
        is_short = sum(map(len, request.texts)) <= INLINE_CHARS and current.get().service is Service.INTERACTIVE
        with short_requests.one_more() if is_short else nullcontext():
            planned = await self.prepare(request)
            results = await self.run(planned.sentences, request.options.deadline)
            return await self._finish(await self._with_all_clauses(planned, results), counts_flags)

    async def prepare(self, request: TextRequest) -> PlannedRequest:
        """Cut texts, for `run` and then `finish`. Raises TooManySentences, Overloaded, PrefixRefused, CannotAlign."""
        num_chars = sum(map(len, request.texts))
        if request.splits:
            self.check_capacity(await offload_above(num_chars, self.planner.min_sentences, request.texts))
        if request.aligns:
            await prepare_alignments(self.worker.side_tasks)
        return await offload_above(num_chars, self.planner.plan_request, request, self.worker.side_tasks.can_align)

    async def finish(
        self, planned: PlannedRequest, results: Sequence[SentenceResult], counts_flags: bool = True
    ) -> TranslationOutcome:
        """What `translate` returns, but no sentence is translated again in clauses. With `counts_flags` it is an
        answer, whose flags the metrics count; else a stage on the way to one. Raises what `align` raises, where words
        are to be aligned."""
        incomplete = await self._find_incomplete(planned, results)
        return await self._finish(Translated(planned, results, frozenset(incomplete)), counts_flags)

    async def _finish(self, translated: Translated, counts_flags: bool) -> TranslationOutcome:
        planned, results = translated.planned, translated.results
        vocabularies, aligned = (self.source_pieces, self.target_pieces), list[list[tuple[Pair, ...]]]()
        if planned.needs_alignment:
            aligned = await align_hypotheses(self.worker, vocabularies, planned, results)
        with tracing.stage("detokenize"):
            outcome = await offload_above(
                planned.num_chars, assemble, planned, results, self.target_pieces, aligned, translated.incomplete
            )
        if counts_flags:
            self.count_flags(outcome.num_flags)
        return outcome

    async def _find_incomplete(self, planned: PlannedRequest, results: Sequence[SentenceResult]) -> dict[int, int]:
        """Numbers of the sentences whose best translations lack words, and how many."""
        best = [result.hypotheses[0] for result in results]
        pairs = [(sentence.source_ids, each.ids) for sentence, each in zip(planned.sentences, best, strict=True)]
        known = {number: each.coverage for number, each in enumerate(best) if each.coverage is not None}
        return await self.find_incomplete(pairs, planned.request.options.deadline, known)

    async def find_incomplete(
        self,
        pairs: Sequence[IdPair],
        deadline: float | None,
        coverages: Mapping[int, Sequence[float]] = NONE_KNOWN,
    ) -> dict[int, int]:
        """Numbers of the pairs of source and translation whose translations lack words, and how many words; -1 if that
        is not known. `coverages`: see `server.translation.coverage.find_incomplete`."""
        ratio = self.artifact.manifest.length_ratio
        return await find_incomplete(self.worker, self.source_pieces, pairs, ratio, deadline, coverages)

    async def _with_all_clauses(self, planned: PlannedRequest, results: Sequence[SentenceResult]) -> Translated:
        """The results, with long sentences in clauses where that gives more of them."""
        incomplete = await self._find_incomplete(planned, results)
        longest = self.artifact.manifest.max_source_length
        resplits = plan_resplits(planned, incomplete, self.source_pieces, longest) if incomplete else {}
        better: dict[int, tuple[Resplit, Sequence[SentenceResult], Sequence[int]]] = {}
        for number, resplit in resplits.items():
            done = await self.translate_clauses(resplit.requests, incomplete[number], planned.request.options.deadline)
            if done is not None:
                better[number] = (resplit, *done)
        if not better:
            return Translated(planned, results, frozenset(incomplete))
        return with_resplits(planned, results, incomplete, better)

    async def translate_clauses(
        self, requests: Sequence[SentenceRequest], num_missing: int, deadline: float | None
    ) -> tuple[list[SentenceResult], list[int]] | None:
        """The results of a sentence's clauses, and how many words each lacks; None if they lack no fewer than the whole
        sentence, or there is no time or room for them."""
        try:
            results = await self.run_in_portions(requests, deadline)
        except (Overloaded, DeadlineExceeded):
            return None
        pairs = [
            (request.source_ids, result.hypotheses[0].ids) for request, result in zip(requests, results, strict=True)
        ]
        missing = await count_missing(self.worker, self.source_pieces, pairs, deadline)
        return (results, missing) if sum(missing) < num_missing else None

    async def run(self, requests: Sequence[SentenceRequest], deadline: float | None) -> list[SentenceResult]:
        """Queue all of the sentences or none, and wait for their results (see `wait_for_all`), in the form of address
        that their options ask for. Raises what that raises, Overloaded, TooManySentences, EngineStopped."""
        await self.queue(requests)
        results = await wait_for_all(requests, deadline)
        record_stages(requests, results)
        return await self.as_addressed(requests, results, deadline)

    async def as_addressed(
        self, requests: Sequence[SentenceRequest], results: Sequence[SentenceResult], deadline: float | None
    ) -> list[SentenceResult]:
        """The results in the form of address that the options of their requests ask for, after a second search where
        they have another one. Raises what `run` raises."""
        if not (any(request.options.formality for request in requests) and self.supports_formality):
            return list(results)
        addressing = Addressing(self.source_pieces, self.target_pieces, self.settings.max_beam_size)
        num_pieces = sum(len(request.source_ids) for request in requests)
        searches = await offload_above(4 * num_pieces, addressing.second_searches, requests, results)
        results_of_second = await self.run_in_portions([search.request for search in searches], deadline)
        second = {search.number: result for search, result in zip(searches, results_of_second, strict=True)}

        def chosen() -> list[SentenceResult]:
            pairs = enumerate(zip(requests, results, strict=True))
            return [addressing.chosen(*pair, second.get(number)) for number, pair in pairs]

        return await offload_above(4 * num_pieces, chosen)

    async def run_in_portions(
        self, requests: Sequence[SentenceRequest], deadline: float | None
    ) -> list[SentenceResult]:
        """Like `run`, for any number of sentences: they are queued in portions, so that other requests fit as well."""
        is_background = current.get().service is Service.BACKGROUND
        at_once = BACKGROUND_AT_ONCE if is_background else max(1, self.settings.max_waiting // 4)
        results: list[SentenceResult] = []
        for start in range(0, len(requests), at_once):
            results += await self.run(requests[start : start + at_once], deadline)
        return results

    def submit_text(self, text: str, options: SearchOptions) -> "PendingText":
        """Queue one text without waiting for it (for programs without an event loop). Raises Overloaded with
        nothing queued, TooManySentences, EngineStopped."""
        self.check_capacity(self.planner.min_sentences([text]))
        planned = self.planner.plan_request(TextRequest([text], options), self.worker.side_tasks.can_align)
        self.check_capacity(len(planned.sentences))
        self.worker.answer_all(planned.sentences)
        return PendingText(self, planned)

    def plan(self, text: str, splits: bool = True) -> TextPlan:
        """Cut a text into sentences that the model can read; without `splits` only where it is too long for it."""
        return self.planner.plan_text(text, splits)

    def options(
        self,
        beam_size: int = 4,
        num_hypotheses: int = 1,
        length_penalty: float | None = None,
        max_length: int | None = None,
        deadline: float | None = None,
        formality: Formality | None = None,
    ) -> SearchOptions:
        """Search options, with the model's defaults for what is None: its length penalty, and at most its longest
        target or 20 + 3 * source pieces. `deadline` is a time.monotonic() value."""
        manifest = self.artifact.manifest
        return SearchOptions(
            beam_size,
            num_hypotheses,
            length_penalty=manifest.length_penalty if length_penalty is None else length_penalty,
            max_length=manifest.max_target_length if max_length is None else max_length,
            follows_source=max_length is None,
            deadline=deadline,
            formality=formality,
        )

    def check_capacity(self, count: int) -> None:
        """Check, before any work is done for them, that at least `count` sentences can be queued now. Raises
        TooManySentences, Overloaded."""
        self.planner.check_count(count)
        self.worker.queue.check_capacity(current.get(), count)

    @property
    def _context(self) -> ContextBackend | ContextKind | None:
        """What the engine has; before the model is loaded, what it will have."""
        if self._loaded is not None:
            return self._loaded.worker.context
        manifest = self.artifact.manifest
        has_graphs = manifest.graph(self.settings.backend, self.settings.precision).context is not None
        return manifest.context if has_graphs else None

    @property
    def knows_context(self) -> bool:
        """Whether sentences are translated with the context of their document."""
        return self._context is not None

    @property
    def reach(self) -> int | None:
        """The largest distance, in sentences, at which a sentence attends to others; None: the whole document."""
        return None if self._context is None else self._context.reach

    @property
    def needs_drafts(self) -> bool:
        """Whether context is on the decoder's side: made of first translations, not of sources."""
        return self._context is not None and self._context.side == "decoder"

    async def queue(self, requests: Sequence[SentenceRequest]) -> None:
        """Queue all sentences or none (see `queue_all`); the caller cancels them when their results are not needed."""
        self.check_capacity(len(requests))
        if requests:
            await queue_all(self.worker, requests)

    def count_flags(self, numbers: Mapping[str, int]) -> None:
        """Count flags of an answer in the metrics: how many of its sentences have each."""
        for flag, number in numbers.items():
            self.metrics.sentences_flagged_total.labels(flag, self.name).inc(number)


class PendingText:
    """A text that was queued by `Translator.submit_text`."""

    def __init__(self, translator: Translator, planned: PlannedRequest) -> None:
        self._translator, self._planned = translator, planned

    def wait(self) -> TextTranslation:
        """Wait for the translation. Raises what the engine raised for a sentence."""
        results = [sentence.future.result() for sentence in self._planned.sentences]
        return asyncio.run(self._finished(results))

    async def _finished(self, results: Sequence[SentenceResult]) -> TextTranslation:
        translator, planned = self._translator, self._planned
        addressed = await translator.as_addressed(planned.sentences, results, None)
        translated = await translator._with_all_clauses(planned, addressed)
        return (await translator._finish(translated, counts_flags=True)).translations[0]

    def cancel(self) -> None:
        for sentence in self._planned.sentences:
            sentence.cancel()
