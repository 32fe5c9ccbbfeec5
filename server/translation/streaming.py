"""Translates texts and returns the beginnings of translations while they are decoded."""

import asyncio
import contextlib
import dataclasses
import threading
import time
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

from server.engine.request import DeadlineExceeded, SentenceResult
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.text.split.plan import PlannedSentence, TextPlan
from server.translation.assembly import TranslationOutcome
from server.translation.planning import PlannedRequest, TextRequest
from server.translation.trace_stages import record_stages
from server.translation.translator import Translator

QUIET_SECONDS = 15.0
"""Seconds without an update after which a stream yields a keepalive."""


@dataclass(frozen=True)
class Beginning:
    """The beginning of a sentence's translation, which replaces the beginning before it. `is_done`: it is the whole
    translation. `text` and `sentence` count from 0, sentences within their text."""

    text: int
    sentence: int
    target: str
    is_done: bool


class Progress:
    """What sentences have so far, written by the engine's thread and read by the event loop. Sentences keep it, and it
    refers to none of them: a cycle would keep a stream's sentences until a full garbage collection."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        self._lock = threading.Lock()
        self._updates: dict[int, tuple[int, ...] | None] = {}

    async def read(self, deadline: float | None) -> dict[int, tuple[int, ...] | None]:
        """Number of a sentence -> the ids of its last beginning since the last call, None when it is done; nothing
        after QUIET_SECONDS. Raises DeadlineExceeded at `deadline`, a time.monotonic() value."""
        left = QUIET_SECONDS if deadline is None else min(QUIET_SECONDS, deadline - time.monotonic())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self._woken.wait()
        self._woken.clear()
        with self._lock:
            updates, self._updates = self._updates, {}
        if not updates and deadline is not None and time.monotonic() >= deadline:
            raise DeadlineExceeded("the engine did not answer by the deadline")
        return updates

    def record(self, index: int, ids: tuple[int, ...] | None) -> None:
        """Runs in the engine's thread. Wakes the event loop only if it has read all updates before."""
        with self._lock:
            is_first = not self._updates
            self._updates[index] = ids
        if is_first:
            with contextlib.suppress(RuntimeError):  # the event loop is closed
                self._loop.call_soon_threadsafe(self._woken.set)

    def end(self, index: int, _: "Future[SentenceResult]") -> None:
        self.record(index, None)


class TranslationStream:
    """A request whose sentences are queued. Use it in the event loop that began it, and always `close` it."""

    def __init__(self, translator: Translator, planned: PlannedRequest) -> None:
        self._translator, self._planned = translator, planned
        self._places = [(text, at) for text, plan in enumerate(planned.plans) for at in range(len(plan.planned))]
        self._progress = Progress()

    @classmethod
    async def begin(cls, translator: Translator, request: TextRequest) -> "TranslationStream":
        """Queue all sentences or none. Raises what Translator.translate raises before it waits."""
        # What is shown of a sentence that is done stays: nothing is aligned after it.
        planned = await translator.prepare(dataclasses.replace(request, lowers_emphasis=False))
        stream = cls(translator, planned)
        for index, sentence in enumerate(planned.sentences):
            sentence.on_partial = partial(stream._progress.record, index)
        await stream.queue()
        return stream

    async def queue(self) -> None:
        """Queue all sentences or none."""
        for index, sentence in enumerate(self._planned.sentences):
            sentence.future.add_done_callback(partial(self._progress.end, index))
        await self._translator.queue(self._planned.sentences)

    @property
    def plans(self) -> tuple[TextPlan, ...]:
        """How the texts were cut."""
        return self._planned.plans

    async def updates(self) -> AsyncIterator[Beginning | TranslationOutcome | None]:
        """Beginnings of sentences, each replacing the one before, and at the end the outcome; None after QUIET_SECONDS
        without an update. Of several beginnings of a sentence since the last read only the latest is returned. Raises
        what Translator.run raises."""
        missing = len(self._planned.sentences)
        shown = [""] * missing
        while missing:
            updates = await self._progress.read(self._planned.request.options.deadline)
            if not updates:
                yield None
            num_chars = sum(len(self._sentence(index).masked.text) for index in updates)
            targets = await offload_above(num_chars, self._targets, updates)
            for index, target in targets.items():
                is_done = updates[index] is None
                missing -= is_done
                if is_done or target != shown[index]:
                    shown[index] = target
                    yield Beginning(*self._places[index], target, is_done)
        results = self._results()
        record_stages(self._planned.sentences, results)
        yield await self._translator.finish(self._planned, results)

    def close(self) -> None:
        """Cancel sentences that are not done: the engine drops them at its next step."""
        for request in self._planned.sentences:
            request.cancel()

    def _sentence(self, index: int) -> PlannedSentence:
        text, sentence = self._places[index]
        return self._planned.plans[text].planned[sentence]

    def _targets(self, updates: Mapping[int, tuple[int, ...] | None]) -> dict[int, str]:
        """The translations that sentences have so far, by their requests."""
        return {index: self._target(index, ids) for index, ids in updates.items()}

    def _target(self, index: int, ids: tuple[int, ...] | None) -> str:
        checkpoint()
        planned, pieces = self._sentence(index), self._translator.target_pieces
        if ids is not None:
            return planned.restore_partial(ids, pieces)
        future: Future[SentenceResult] = self._planned.sentences[index].future
        return planned.restore(future.result().hypotheses[0].ids, pieces).text

    def _results(self) -> list[SentenceResult]:
        return [request.future.result() for request in self._planned.sentences]
