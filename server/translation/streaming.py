"""Translates texts and gives beginnings of the translations while they are decoded."""

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

from server.backends.context import SentenceContext
from server.engine.request import DeadlineExceeded, SearchOptions, SentenceResult
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.text.split.plan import PlannedSentence, TextPlan
from server.translation.assembly import TranslationOutcome, Work
from server.translation.trace_stages import trace_stages_of
from server.translation.translator import Translator

QUIET_SECONDS = 15.0
"""After so long without news, a stream sends a sign of life."""


@dataclass(frozen=True)
class Beginning:
    """How the translation of a sentence begins; replaces what was told of it before. `is_done`: it is the whole
    translation. `text` and `sentence` count from 0, sentences within their text."""

    text: int
    sentence: int
    target: str
    is_done: bool


class TranslationStream:
    """Texts that were queued. Use it in the event loop that began it, and always `close` it."""

    def __init__(self, translator: Translator, work: Work) -> None:
        self._translator, self._work = translator, work
        self._places = [(text, at) for text, plan in enumerate(work.plans) for at in range(len(plan.planned))]
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        self._lock = threading.Lock()
        self._news: dict[int, tuple[int, ...] | None] = {}
        """Request -> the ids that were heard last, None when it is over; what has not been read yet."""

    @classmethod
    async def begin(
        cls,
        translator: Translator,
        texts: Sequence[str],
        options: SearchOptions,
        context: SentenceContext | None = None,
        prefixes: Sequence[str] = (),
        aligns: bool = False,
    ) -> "TranslationStream":
        """Queue all sentences or none. Raises what Translator.translate raises before it waits."""
        stream = cls(translator, await translator.prepare(texts, options, context, prefixes=prefixes, aligns=aligns))
        for index, request in enumerate(stream._work.requests):
            request.on_partial = partial(stream._hear, index)
            request.future.add_done_callback(partial(stream._end, index))
        translator.submit(stream._work.requests)
        return stream

    @property
    def plans(self) -> tuple[TextPlan, ...]:
        """How the texts were cut."""
        return self._work.plans

    async def news(self) -> AsyncIterator[Beginning | TranslationOutcome | None]:
        """Beginnings of sentences, each replacing the one before, and at the end the outcome; None after QUIET_SECONDS
        without news. When news come faster than they are read, only the latest is given. Raises what Translator.run
        raises."""
        missing = len(self._work.requests)
        shown = [""] * missing
        while missing:
            news = await self._wait()
            if not news:
                yield None
            num_chars = sum(len(self._planned(index).masked.text) for index in news)
            targets = await offload_above(num_chars, self._targets, news)
            for index, target in targets.items():
                is_done = news[index] is None
                missing -= is_done
                if is_done or target != shown[index]:
                    shown[index] = target
                    yield Beginning(*self._places[index], target, is_done)
        results = self._results()
        trace_stages_of(self._work.requests, results)
        yield await self._translator.finish(self._work, results)

    def close(self) -> None:
        """Cancel what is not done: it leaves the engine at its next step."""
        for request in self._work.requests:
            request.cancel()

    async def _wait(self) -> dict[int, tuple[int, ...] | None]:
        deadline = self._work.options.deadline
        left = QUIET_SECONDS if deadline is None else min(QUIET_SECONDS, deadline - time.monotonic())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self._woken.wait()
        self._woken.clear()
        with self._lock:
            news, self._news = self._news, {}
        if not news and deadline is not None and time.monotonic() >= deadline:
            raise DeadlineExceeded("the engine did not answer by the deadline")
        return news

    def _hear(self, index: int, ids: tuple[int, ...] | None) -> None:
        """Runs in the engine's thread. Wakes the event loop only if that has read all news before."""
        with self._lock:
            is_first = not self._news
            self._news[index] = ids
        if is_first:
            with contextlib.suppress(RuntimeError):  # The event loop was closed: nobody waits any more.
                self._loop.call_soon_threadsafe(self._woken.set)

    def _end(self, index: int, _: "Future[SentenceResult]") -> None:
        self._hear(index, None)

    def _planned(self, index: int) -> PlannedSentence:
        text, sentence = self._places[index]
        return self._work.plans[text].planned[sentence]

    def _targets(self, news: Mapping[int, tuple[int, ...] | None]) -> dict[int, str]:
        """The translations that sentences have so far, by their requests."""
        return {index: self._target(index, ids) for index, ids in news.items()}

    def _target(self, index: int, ids: tuple[int, ...] | None) -> str:
        checkpoint()
        planned, pieces = self._planned(index), self._translator.target_pieces
        if ids is not None:
            return planned.restore_partial(ids, pieces)
        future: Future[SentenceResult] = self._work.requests[index].future
        return planned.restore(future.result().hypotheses[0].ids, pieces).text

    def _results(self) -> list[SentenceResult]:
        return [request.future.result() for request in self._work.requests]
