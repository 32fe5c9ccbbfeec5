"""One loaded model: texts in, translations out."""

import asyncio
import hashlib
import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypedDict

from server.artifact.artifact import Artifact
from server.artifact.manifest import EXPORT_AGAIN
from server.backends.context import SentenceContext
from server.engine.request import ModelUnavailable, SearchOptions, SentenceRequest, SentenceResult
from server.engine.wait import wait_for_all
from server.engine.worker import EngineWorker
from server.runtime.offload import offload_above
from server.runtime.ref_count import RefCount
from server.scheduling.caller import Service, current
from server.settings import EngineSettings
from server.telemetry import tracing
from server.telemetry.labels import ModelState
from server.telemetry.metrics import Metrics
from server.text.base.pieces import Pieces, VocabularyError
from server.text.base.words import has_letters
from server.text.markup.tags import Pair
from server.text.split.plan import PlannedSentence, TextPlan, plan_text
from server.translation.alignment import align_work
from server.translation.assembly import TextTranslation, TranslationOutcome, Work
from server.translation.trace_stages import trace_stages_of

BACKGROUND_AT_ONCE = 128
"""Sentences that a document or a file has in the engine at the same time."""


class TooManySentences(ValueError):
    """The texts have more sentences than the engine's waiting room could ever hold."""


class PrefixRefused(ValueError):
    """A prefix that no translation can have: there is nothing to translate, or no room after it."""


class RequestedOptions(TypedDict):
    """What a request may ask of the search, as Translator.options takes it; documents keep it as JSON."""

    beam_size: int
    length_penalty: float | None
    max_length: int | None


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
        self.users = RefCount()
        """Requests and jobs that use it; it is not stopped before they end."""
        self.state: ModelState = "ready"
        self.reason: str | None = None
        """Why it is not ready."""

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target."""
        return self.artifact.manifest.source_language, self.artifact.manifest.target_language

    @classmethod
    def load(cls, folder: Path, settings: EngineSettings, metrics: Metrics) -> "Translator":
        """Load, start and warm up the model of an artifact. Raises ArtifactError or VocabularyError."""
        started = time.monotonic()
        artifact = Artifact.load(folder)
        vocabularies = open_vocabularies(artifact)
        worker = EngineWorker.load(artifact, settings, metrics)
        worker.start()
        try:
            worker.warm_up()
        except BaseException:
            worker.stop()
            raise
        metrics.start_model(artifact.manifest.name)
        metrics.model_load_seconds.labels(artifact.manifest.name).set(time.monotonic() - started)
        return cls(artifact, vocabularies, worker, settings, metrics)

    async def translate(
        self,
        texts: Sequence[str],
        options: SearchOptions,
        context: SentenceContext | None = None,
        splits: bool = True,
        prefixes: Sequence[str] = (),
        aligns: bool = False,
        tagged: bool = False,
        counts_flags: bool = True,
    ) -> TranslationOutcome:
        """Translate texts: all of their sentences are queued or none. Every sentence sees `context`, and no other
        sentence of the texts. Without `splits` each text is one sentence. `prefixes`, one for every text or none at
        all: what the translation of its first sentence begins with, "" for no prefix. With `aligns` the outcome has the
        alignment of words. `tagged`: opening and closing marks in the texts are tags; if the model aligns words, they
        are placed round the translations of the words that they enclose. `counts_flags`: as `finish`. When
        the task is cancelled, so are its sentences. Raises what `prepare`, `run` and `finish` raise.
        """
        work = await self.prepare(texts, options, context, splits, prefixes, aligns, tagged)
        return await self.finish(work, await self.run(work.requests, options.deadline), counts_flags)

    async def prepare(
        self,
        texts: Sequence[str],
        options: SearchOptions,
        context: SentenceContext | None = None,
        splits: bool = True,
        prefixes: Sequence[str] = (),
        aligns: bool = False,
        tagged: bool = False,
    ) -> Work:
        """Cut texts, for `run` and then `finish`. Raises TooManySentences, Overloaded, PrefixRefused, CannotAlign."""
        size = sum(map(len, texts))
        if splits:
            self.check_capacity(await offload_above(size, self._fewest_sentences, texts))
        if aligns:
            await asyncio.to_thread(self.worker.prepare_alignments)
        strips_tags = tagged and self.worker.can_align
        plan = partial(self.plan, splits=splits, strips_tags=strips_tags, count=self._limited())
        begun = partial(self._begun, prefixes, options) if any(prefixes) else None
        cut = partial(Work.cut, texts, plan, options, context, begun, aligns)
        return await offload_above(size, cut)

    async def finish(
        self, work: Work, results: Sequence[SentenceResult], counts_flags: bool = True
    ) -> TranslationOutcome:
        """What `translate` returns. With `counts_flags` it is an answer, whose flags the metrics count; else a step on
        the way to one. Raises what `align` raises, where something is to be aligned."""
        vocabularies, aligned = (self.source_pieces, self.target_pieces), list[list[tuple[Pair, ...]]]()
        if work.needs_alignment:
            aligned = await align_work(self.worker, vocabularies, work, results)
        put_together = partial(work.put_together, results, self.target_pieces, aligned)
        with tracing.stage("detokenize"):
            outcome = await offload_above(work.num_chars, put_together)
        if counts_flags:
            self.count_flags(outcome.num_flags)
        return outcome

    async def run(self, requests: Sequence[SentenceRequest], deadline: float | None) -> list[SentenceResult]:
        """Queue all of the sentences or none, and wait for their results (see `wait_for_all`). Raises what that raises,
        Overloaded, TooManySentences, EngineStopped."""
        self.submit(requests)
        results = await wait_for_all(requests, deadline)
        trace_stages_of(requests, results)
        return results

    async def run_in_turn(self, requests: Sequence[SentenceRequest], deadline: float | None) -> list[SentenceResult]:
        """Like `run`, for any number of sentences: they are queued in portions, so that others find room."""
        is_background = current.get().service is Service.BACKGROUND
        at_once = BACKGROUND_AT_ONCE if is_background else max(1, self.settings.max_waiting // 4)
        results: list[SentenceResult] = []
        for start in range(0, len(requests), at_once):
            results += await self.run(requests[start : start + at_once], deadline)
        return results

    def submit_text(self, text: str, options: SearchOptions) -> "PendingText":
        """Queue one text without waiting for it (for programs without an event loop). Raises Overloaded with
        nothing queued, TooManySentences, EngineStopped."""
        self.check_capacity(self._fewest_sentences([text]))
        work = Work.cut([text], partial(self.plan, count=self._limited()), options)
        self.submit(work.requests)
        return PendingText(self, work)

    def fail(self, state: ModelState, reason: str) -> None:
        """The engine hangs, has ended, or could not be started anew: what is in flight is answered with
        ModelUnavailable, and nothing more is taken until `recover`."""
        self.state, self.reason = state, reason
        self.worker.abandon(self.unavailable())

    def recover(self, worker: EngineWorker) -> None:
        """Go on with another worker, which has translated."""
        self.worker, self.state, self.reason = worker, "ready", None

    def unavailable(self) -> ModelUnavailable:
        """The error that says why it is not ready, and what happens next."""
        follows = "its engine is being started anew" if self.state == "restarting" else "load it again or restart"
        return ModelUnavailable(f"model '{self.name}' is not available: {self.reason}; {follows}")

    def check_ready(self) -> None:
        """Raises ModelUnavailable."""
        if self.state != "ready":
            raise self.unavailable()

    def stop(self, timeout: float) -> bool:
        """Let sentences in flight finish for at most `timeout` seconds, then stop. True if all finished."""
        finished = self.worker.drain(timeout)
        self.worker.stop()
        return finished

    def plan(
        self, text: str, splits: bool = True, strips_tags: bool = False, count: Callable[[int], None] | None = None
    ) -> TextPlan:
        """Cut a text into sentences that the model can read; without `splits` only where it is too long for it.
        `lifts_tags` and `count`: as `plan_text`."""
        manifest = self.artifact.manifest
        longest = manifest.max_source_length
        counted = {} if count is None else {"count": count}
        return plan_text(text, manifest.source_language, self.source_pieces, longest, splits, strips_tags, **counted)

    def options(
        self,
        beam_size: int = 4,
        num_hypotheses: int = 1,
        length_penalty: float | None = None,
        max_length: int | None = None,
        deadline: float | None = None,
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
        )

    def check_capacity(self, count: int) -> None:
        """Check, before any work is done for them, that at least `count` sentences can be queued now. Raises
        TooManySentences, Overloaded."""
        caller = current.get()
        if count > self.settings.max_waiting and caller.service is Service.INTERACTIVE:
            raise TooManySentences(
                f"at least {count} sentences in one request, at most {self.settings.max_waiting} can wait; "
                "send fewer texts at a time"
            )
        self.worker.queue.check_capacity(caller, count)

    def _limited(self) -> Callable[[int], None]:
        """Counts the sentences of a request while they are planned. Raises TooManySentences at the first that could
        never be queued with those before, and not only when all are planned."""
        total = 0

        def count(further: int) -> None:
            nonlocal total
            total += further
            if total > self.settings.max_waiting:
                self.check_capacity(total)

        return count

    def _fewest_sentences(self, texts: Iterable[str]) -> int:
        """A lower bound of the number of sentences, quickly found: no sentence goes beyond its line. Counted up to one
        more than can wait."""
        lines = (line for text in texts for line in text.splitlines() if has_letters(line))
        return sum(1 for _ in itertools.islice(lines, self.settings.max_waiting + 1))

    def _begun(self, prefixes: Sequence[str], options: SearchOptions, index: int, plan: TextPlan) -> TextPlan:
        """The plan of text `index`, with its prefix. Raises PrefixRefused."""
        if not prefixes[index]:
            return plan
        if not plan.planned:
            raise PrefixRefused(f"text {index} has no sentence whose translation could begin with something")
        begun = plan.with_prefix(prefixes[index], self.target_pieces)
        [sentence, *_] = begun.planned
        length, room = len(sentence.prefix_ids), self.room(sentence, options)
        if length >= room:
            raise PrefixRefused(
                f"that of text {index} has {length} pieces, at most {room - 1} leave room for what follows"
            )
        return begun

    def room(self, sentence: PlannedSentence, options: SearchOptions) -> int:
        """The most pieces that a sentence's translation may have, without EOS where that is forced."""
        limit = options.length_limit(len(sentence.ids), len(sentence.prefix_ids))
        manifest = self.artifact.manifest
        return min(limit, manifest.max_target_length) - manifest.forced_eos

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
        """Queue all sentences or none; the caller cancels them when nobody waits for the results any more."""
        self.check_capacity(len(requests))
        if requests:
            self.worker.answer_all(requests)

    def count_flags(self, numbers: Mapping[str, int]) -> None:
        """Count flags of an answer in the metrics: how many of its sentences have each."""
        for flag, number in numbers.items():
            self.metrics.sentences_flagged_total.labels(flag, self.name).inc(number)


class PendingText:
    """A text that was queued by `Translator.submit_text`."""

    def __init__(self, translator: Translator, work: Work) -> None:
        self._translator, self._work = translator, work

    def wait(self) -> TextTranslation:
        """Wait for the translation. Raises what the engine raised for a sentence."""
        results = [request.future.result() for request in self._work.requests]
        translator = self._translator
        outcome = self._work.put_together(results, translator.target_pieces)
        translator.count_flags(outcome.num_flags)
        return outcome.translations[0]

    def cancel(self) -> None:
        for request in self._work.requests:
            request.cancel()


def open_vocabularies(artifact: Artifact) -> tuple[Pieces, Pieces]:
    """The vocabularies of source and target, often the same. Raises VocabularyError for one whose ids of UNK and EOS
    are not the model's."""
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
