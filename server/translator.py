"""One loaded model: texts in, translations out."""

import asyncio
import contextlib
import hashlib
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from server.artifact import EXPORT_AGAIN, Artifact
from server.backends.context import SentenceContext
from server.engine.request import (
    DeadlineExceeded,
    Overloaded,
    SearchOptions,
    SentenceRequest,
    SentenceResult,
    Timings,
)
from server.engine.worker import EngineWorker
from server.metrics import Metrics
from server.outcomes import FinishReason
from server.settings import EngineSettings
from server.text.flags import find_flags
from server.text.pieces import Pieces, VocabularyError
from server.text.plan import PlannedSentence, TextPlan, plan_text
from server.text.protection import Restored, restore

THREAD_ABOVE_CHARS = 10_000
"""Texts longer than this together are cut and rejoined in a thread, so that the event loop stays free."""


class TooManySentences(ValueError):
    """The texts have more sentences than the engine's waiting room could ever hold."""


class AskedOptions(TypedDict):
    """What a request may ask of the search, as Translator.options takes it; documents keep it as JSON."""

    beam_size: int
    length_penalty: float | None
    max_length: int | None


@dataclass(frozen=True)
class SentenceTranslation:
    """`score` is the summed log-probability of the target, EOS included. `flags` name what looks wrong."""

    source: str
    target: str
    score: float
    finish_reason: FinishReason
    num_tokens: int
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class TextHypothesis:
    """A whole text. `score` sums the log-probabilities of its sentences."""

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


@dataclass(frozen=True)
class TranslationOutcome:
    """`timings`, in seconds: queue, encode and decode are each the largest among the request's sentences (which run
    side by side, so that the three may add up to more or less than the whole); `total` is the whole request.
    """

    translations: tuple[TextTranslation, ...]
    timings: Timings
    total: float


@dataclass(frozen=True)
class Work:
    """Texts that were cut, and their sentences as the engine takes them, in order."""

    plans: tuple[TextPlan, ...]
    requests: tuple[SentenceRequest, ...]
    options: SearchOptions
    started: float
    """A time.monotonic() value."""

    @property
    def num_chars(self) -> int:
        return sum(len(segment.text) for plan in self.plans for segment in plan.segments)


class Translator:
    """A model that translates. Safe to use from any thread; the engine has its own."""

    def __init__(
        self,
        artifact: Artifact,
        vocabularies: tuple[Pieces, Pieces],
        worker: EngineWorker,
        settings: EngineSettings,
        metrics: Metrics,
    ) -> None:
        self.artifact, self.worker = artifact, worker
        self.source_pieces, self.target_pieces = vocabularies
        self.settings, self.metrics = settings, metrics
        self.name = artifact.manifest.name
        files = sorted(artifact.manifest.files.items())
        self.fingerprint = hashlib.sha256(repr(files).encode()).hexdigest()[:32]
        """Changes with the weights and the vocabulary."""

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target."""
        return self.artifact.manifest.source_language, self.artifact.manifest.target_language

    @classmethod
    def load(cls, folder: Path, settings: EngineSettings, metrics: Metrics) -> "Translator":
        """Load, start and warm up the model of an artifact. Raises ArtifactError or VocabularyError."""
        started = time.monotonic()
        artifact = Artifact.load(folder)
        metrics.start_model(artifact.manifest.name)
        vocabularies = open_vocabularies(artifact)
        worker = EngineWorker.load(artifact, settings, metrics)
        worker.start()
        try:
            worker.warm_up()
        except BaseException:
            worker.stop()
            raise
        metrics.model_load_seconds.labels(artifact.manifest.name).set(time.monotonic() - started)
        return cls(artifact, vocabularies, worker, settings, metrics)

    async def translate(
        self,
        texts: Sequence[str],
        options: SearchOptions,
        context: SentenceContext | None = None,
        splits: bool = True,
    ) -> TranslationOutcome:
        """Translate texts side by side: all of their sentences are queued or none. Every sentence sees `context`, and
        no other sentence of the texts. Without `splits` each text is one sentence. Cancelled and raises as `run` does.
        """
        work = await self.prepare(texts, options, context, splits)
        return await self.finish(work, await self.run(work.requests, options.deadline))

    async def prepare(
        self,
        texts: Sequence[str],
        options: SearchOptions,
        context: SentenceContext | None = None,
        splits: bool = True,
    ) -> Work:
        """Cut texts, for `run` and then `finish`. Raises TooManySentences, Overloaded."""
        self.check_room(_fewest_sentences(texts) if splits else 0)
        if sum(map(len, texts)) > THREAD_ABOVE_CHARS:
            return await asyncio.to_thread(self._prepare, texts, options, context, splits)
        return self._prepare(texts, options, context, splits)

    async def finish(self, work: Work, results: Sequence[SentenceResult]) -> TranslationOutcome:
        """What `translate` returns."""
        if work.num_chars > THREAD_ABOVE_CHARS:
            return await asyncio.to_thread(self._finish, work, results)
        return self._finish(work, results)

    async def run(self, requests: Sequence[SentenceRequest], deadline: float | None) -> list[SentenceResult]:
        """Queue all of the sentences or none, and wait for all.

        When the awaiting task is cancelled, or one sentence fails, every sentence is cancelled and leaves its slot at
        the engine's next step. Raises Overloaded, TooManySentences, DeadlineExceeded, EngineStopped.
        """
        self.submit(requests)
        try:
            async with asyncio.timeout(_seconds_left(deadline)):
                await _all_done(requests)
        except TimeoutError:
            raise DeadlineExceeded("the engine did not answer by the deadline") from None
        finally:
            for request in requests:
                request.cancel()
        return [request.future.result() for request in requests]

    async def run_in_turn(self, requests: Sequence[SentenceRequest], deadline: float | None) -> list[SentenceResult]:
        """Like `run`, for any number of sentences: some wait outside the engine, so that others find room in it."""
        at_once = max(1, self.settings.max_waiting // 4)
        results: list[SentenceResult] = []
        for start in range(0, len(requests), at_once):
            results += await self.run(requests[start : start + at_once], deadline)
        return results

    def submit_text(self, text: str, options: SearchOptions) -> "PendingText":
        """Queue one text without waiting for it (for programs without an event loop). Raises Overloaded with
        nothing queued, TooManySentences, EngineStopped."""
        self.check_room(_fewest_sentences([text]))
        work = self._prepare([text], options)
        self.submit(work.requests)
        return PendingText(self, work)

    def stop(self, timeout: float) -> bool:
        """Let sentences in flight finish for at most `timeout` seconds, then stop. True if all finished."""
        finished = self.worker.drain(timeout)
        self.worker.stop()
        return finished

    def plan(self, text: str, splits: bool = True) -> TextPlan:
        """Cut a text into sentences that the model can read; without `splits` only where it is too long for it."""
        manifest = self.artifact.manifest
        return plan_text(text, manifest.source_language, self.source_pieces, manifest.max_source_length, splits)

    def options(
        self,
        beam_size: int = 4,
        num_hypotheses: int = 1,
        length_penalty: float | None = None,
        max_length: int | None = None,
        deadline: float | None = None,
    ) -> SearchOptions:
        """How sentences are searched, the model's own where nothing is asked for: its length penalty, and at most its
        longest target or 20 + 3 * source pieces. `deadline` is a time.monotonic() value."""
        manifest = self.artifact.manifest
        return SearchOptions(
            beam_size,
            num_hypotheses,
            length_penalty=manifest.length_penalty if length_penalty is None else length_penalty,
            max_length=manifest.max_target_length if max_length is None else max_length,
            follows_source=max_length is None,
            deadline=deadline,
        )

    def check_room(self, count: int) -> None:
        """Refuse at least `count` sentences that cannot be queued now, before any work is done for them. Raises
        TooManySentences, Overloaded."""
        if count > self.settings.max_waiting:
            raise TooManySentences(
                f"at least {count} sentences in one request, at most {self.settings.max_waiting} can wait; "
                "send fewer texts at a time"
            )
        waiting = len(self.worker.waiting)
        if waiting + count > self.settings.max_waiting:
            raise Overloaded(f"{waiting} sentences wait already, at most {self.settings.max_waiting} may")

    def _prepare(
        self,
        texts: Sequence[str],
        options: SearchOptions,
        context: SentenceContext | None = None,
        splits: bool = True,
    ) -> Work:
        started = time.monotonic()
        plans = tuple(self.plan(text, splits) for text in texts)
        owner = object()  # all sentences of one call wait in one line
        requests = tuple(SentenceRequest(ids, options, context, owner) for plan in plans for ids in plan.source_ids)
        return Work(plans, requests, options, started)

    @property
    def knows_context(self) -> bool:
        """Whether sentences are translated in the light of their document."""
        return self.worker.context is not None

    @property
    def reach(self) -> int | None:
        """How many sentences away a sentence of a document looks at most; None is the whole document."""
        return None if self.worker.context is None else self.worker.context.reach

    @property
    def needs_drafts(self) -> bool:
        """Whether context is on the decoder's side: made of first translations, not of sources."""
        return self.worker.context is not None and self.worker.context.side == "decoder"

    def submit(self, requests: Sequence[SentenceRequest]) -> None:
        """Queue all or none; who does it cancels them if nobody wants the results any more."""
        self.check_room(len(requests))
        if requests:
            self.worker.answer_all(requests)

    def _finish(self, work: Work, results: Sequence[SentenceResult]) -> TranslationOutcome:
        remaining = iter(results)
        translations = tuple(
            self._join(plan, [next(remaining) for _ in plan.sentences], work.options.num_hypotheses)
            for plan in work.plans
        )
        return TranslationOutcome(translations, largest_timings(results), time.monotonic() - work.started)

    def _join(self, plan: TextPlan, results: Sequence[SentenceResult], num_hypotheses: int) -> TextTranslation:
        of_sentence = self._choices(plan, results)
        sentences = tuple(
            self._sentence(source, planned, choices[0], result)
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

    def _choices(self, plan: TextPlan, results: Sequence[SentenceResult]) -> list[list[Restored]]:
        """The texts of every sentence's hypotheses, with what is protected in them."""
        targets = iter(
            self.target_pieces.decode(hypothesis.ids for result in results for hypothesis in result.hypotheses)
        )
        return [
            [restore(planned.masked, next(targets)) for _ in result.hypotheses]
            for planned, result in zip(plan.planned, results, strict=True)
        ]

    def _sentence(
        self, source: str, planned: PlannedSentence, target: Restored, result: SentenceResult
    ) -> SentenceTranslation:
        best = result.hypotheses[0]
        seen = {"cut": planned.is_cut, "truncated": best.finish_reason == "length", "moved": target.is_moved}
        flags = self.flag(source, target.text, [flag for flag, holds in seen.items() if holds])
        return SentenceTranslation(source, target.text, best.score, best.finish_reason, best.num_tokens, flags)

    def flag(self, source: str, target: str, also: Sequence[str] = ()) -> tuple[str, ...]:
        """What looks wrong with a translation, and `also` what is known already; counted."""
        flags = (*find_flags(source, target), *also)
        for flag in flags:
            self.metrics.sentences_flagged_total.labels(flag, self.name).inc()
        return flags


class PendingText:
    """A text that was queued."""

    def __init__(self, translator: Translator, work: Work) -> None:
        self._translator, self._work = translator, work

    @property
    def num_sentences(self) -> int:
        return len(self._work.requests)

    def wait(self) -> TextTranslation:
        """The translation, when it is there. Raises what the engine raised for a sentence."""
        results = [request.future.result() for request in self._work.requests]
        return self._translator._finish(self._work, results).translations[0]

    def cancel(self) -> None:
        for request in self._work.requests:
            request.cancel()


def open_vocabularies(artifact: Artifact) -> tuple[Pieces, Pieces]:
    """The vocabularies of the source and of the target; often they are the same. Raises VocabularyError for a
    vocabulary that ends sentences otherwise than the model."""
    manifest = artifact.manifest
    target = Pieces(artifact.path(manifest.vocabulary_file), manifest.vocabulary_size)
    source = target
    if manifest.source_vocabulary_file or manifest.source_prefix:
        path = artifact.path(manifest.source_vocabulary_file or manifest.vocabulary_file)
        source = Pieces(path, manifest.source_vocabulary_size or manifest.vocabulary_size, manifest.source_prefix)
    expected = (manifest.special_ids.unk, manifest.special_ids.eos)
    for pieces in (source, target):
        if (pieces.unk_id, pieces.eos_id) != expected:
            raise VocabularyError(
                f"artifact '{manifest.name}': a vocabulary has unk, eos = {pieces.unk_id, pieces.eos_id}, the model "
                f"{expected}: {EXPORT_AGAIN}"
            )
    return source, target


def _seconds_left(deadline: float | None) -> float | None:
    return None if deadline is None else deadline - time.monotonic()


def _fewest_sentences(texts: Iterable[str]) -> int:
    """A bound that is quickly found: a sentence never goes beyond its line."""
    return sum(any(map(str.isalnum, line)) for text in texts for line in text.splitlines())


def largest_timings(results: Sequence[SentenceResult]) -> Timings:
    """Each the largest among the results."""
    return Timings(
        queue=max((result.timings.queue for result in results), default=0.0),
        encode=max((result.timings.encode for result in results), default=0.0),
        decode=max((result.timings.decode for result in results), default=0.0),
    )


async def _all_done(requests: Sequence[SentenceRequest]) -> None:
    """Return when every future has its result; raise the first exception among them.

    The engine's thread wakes the event loop once a request, not once a sentence, and its futures are never cancelled
    from here: resolving them is the engine's.
    """
    if not requests:
        return
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    lock = threading.Lock()
    missing = len(requests)

    def wake(error: BaseException | None) -> None:
        if not over.done():
            over.set_result(None) if error is None else over.set_exception(error)

    def one_done(future: "Future[SentenceResult]") -> None:
        nonlocal missing
        with lock:
            missing -= 1
            is_last = missing == 0
        error = future.exception()
        if is_last or error is not None:
            with contextlib.suppress(RuntimeError):  # The event loop was closed: nobody waits any more.
                loop.call_soon_threadsafe(wake, error)

    for request in requests:
        request.future.add_done_callback(one_done)
    await over
