"""A stream of translations after a translation memory: sentences of the memory come first, the others as the model
translates them."""

import dataclasses
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from server.engine.request import Timings
from server.runtime.offload import offload
from server.text.split.plan import TextPlan
from server.text.split.segment import Segment
from server.translation.assembly import SentenceTranslation, TranslationOutcome
from server.translation.memory_lookup import MemoryPlan, Run
from server.translation.memory_translator import MemoryTranslator, put_together
from server.translation.planning import TextRequest
from server.translation.streaming import Beginning, TranslationStream

Begin = Callable[[TextRequest], Awaitable[TranslationStream]]
"""Begins the stream of what the model translates."""


class MemoryStream:
    """As TranslationStream; sentences of the memory are done at once."""

    def __init__(
        self,
        translator: MemoryTranslator,
        request: TextRequest,
        plan: MemoryPlan,
        stream: TranslationStream | None,
    ) -> None:
        """`stream`: of the plan's texts; None where it has none."""
        self._translator, self._request, self._plan, self._stream = translator, request, plan, stream
        self._started = time.monotonic()
        self._done: list[Beginning] = []
        """The sentences of the memory."""
        self._places: dict[tuple[int, int], tuple[int, int]] = {}
        """Text and sentence of the inner stream -> those of the request."""
        self.plans = self._join_plans()
        """How the texts were cut, without what the model reads."""

    @classmethod
    async def begin(cls, translator: MemoryTranslator, request: TextRequest, begin: Begin) -> "MemoryStream":
        """Queue all sentences that the memory lacks or none. Raises what `begin` and `look_up` raise."""
        plan = await translator.look_up(request)
        stream = None if not plan.texts else await begin(plan.request(request))
        return cls(translator, request, plan, stream)

    async def updates(self) -> AsyncIterator[Beginning | TranslationOutcome | None]:
        """As TranslationStream.updates."""
        for beginning in self._done:
            yield beginning
        done = TranslationOutcome((), Timings(0.0, 0.0, 0.0), 0.0)
        if self._stream is not None:
            async for update in self._stream.updates():
                match update:
                    case TranslationOutcome():
                        done = update
                    case Beginning(text, sentence, target, is_done):
                        yield Beginning(*self._places[text, sentence], target, is_done)
                    case None:
                        yield None
        translations = await offload(put_together, self._plan, done.translations, self._request)
        self._translator.count_sentences(translations)
        yield dataclasses.replace(done, translations=translations, total=time.monotonic() - self._started)

    def close(self) -> None:
        """Cancel sentences that are not done."""
        if self._stream is not None:
            self._stream.close()

    def _join_plans(self) -> tuple[TextPlan, ...]:
        inner = () if self._stream is None else self._stream.plans
        plans: list[TextPlan] = []
        for text, remembered in enumerate(self._plan.whole):
            segments: list[Segment] = []
            number = 0
            for part in remembered.parts:
                match part:
                    case str():
                        segments.append(Segment(part, is_sentence=False))
                    case SentenceTranslation():
                        segments.append(Segment(part.source, is_sentence=True))
                        self._done.append(Beginning(text, number, part.target, True))
                        number += 1
                    case Run(run):
                        segments += inner[run].segments
                        for at in range(len(inner[run].planned)):
                            self._places[run, at] = (text, number + at)
                        number += len(inner[run].planned)
            plans.append(TextPlan(tuple(segments), ()))
        return tuple(plans)
