"""A translation as the chunks of OpenAI's API: text that is only ever added to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from server.api.admission.server_sent_events import KEEPALIVE_COMMENT, Events
from server.api.openai.content import Content
from server.api.openai.schemas import Chunk, ChunkChoice, Delta, Usage
from server.api.requests.json_response import json_of
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.text.split.plan import TextPlan
from server.translation.assembly import TextTranslation
from server.translation.streaming import Beginning, TranslationStream

OBJECT: Final = "chat.completion.chunk"
DONE = b"data: [DONE]\n\n"
FinishReason = Literal["stop", "length"]
End = Callable[[Sequence[TextTranslation]], tuple[FinishReason, Usage]]


@dataclass(frozen=True)
class ChunkWriter:
    """Writes the chunks of one answer."""

    id: str
    created: int
    model: str
    has_usage: bool

    def first(self) -> bytes:
        return self._chunk([_choice(Delta(role="assistant", content=""))])

    def text(self, text: str) -> bytes:
        return self._chunk([_choice(Delta(content=text))])

    def last(self, finish_reason: FinishReason, usage: Usage) -> bytes:
        """The end of the text, the tokens if they are requested, and the end of the stream."""
        end = self._chunk([_choice(Delta(), finish_reason)])
        return end + (self._chunk([], usage) if self.has_usage else b"") + DONE

    def _chunk(self, choices: list[ChunkChoice], usage: Usage | None = None) -> bytes:
        chunk = Chunk(id=self.id, object=OBJECT, created=self.created, model=self.model, choices=choices)
        if usage is not None:
            chunk.usage = usage
        return b"data: " + json_of(chunk, exclude_unset=True) + b"\n\n"


def _choice(delta: Delta, finish_reason: FinishReason | None = None) -> ChunkChoice:
    """The choice of a chunk, with all fields that clients read, even where they are null."""
    return ChunkChoice(index=0, delta=delta, finish_reason=finish_reason)


async def whole(text: str, writer: ChunkWriter, finish_reason: FinishReason, usage: Usage) -> Events:
    """The events of a text that is known."""
    yield writer.first()
    yield writer.text(text)
    yield writer.last(finish_reason, usage)


async def streamed(stream: TranslationStream, content: Content, writer: ChunkWriter, end: End) -> Events:
    """A text while it is translated, in the order of its sentences."""
    num_chars = sum(map(len, content.texts))
    text = await offload_above(num_chars, GrowingText, content, stream.plans)
    yield writer.first()
    async for update in stream.updates():
        match update:
            case None:
                yield KEEPALIVE_COMMENT
            case Beginning():
                if added := text.add(update):
                    yield writer.text(added)
            case _:
                if added := text.rest():
                    yield writer.text(added)
                yield writer.last(*await offload_above(num_chars, end, update.translations))


@dataclass
class _Place:
    """A sentence. `before`: what stands between the sentence before and this one. `is_open`: whether the beginnings of
    its translation only ever get longer. `target`: as much of it as is known."""

    before: str
    is_open: bool
    target: str = ""
    is_done: bool = False


class GrowingText:
    """The text as far as it can be sent: all sentences that are done and have none before them that is not, and the
    beginning of the next. A beginning with protected text may change, so such a sentence is sent when it is done."""

    def __init__(self, content: Content, plans: Sequence[TextPlan]) -> None:
        self._placeholders = content.placeholders
        self._places: dict[tuple[int, int], _Place] = {}
        gap = list[str]()
        literals = content.literals or [""] * (len(plans) + 1)
        for text, plan in enumerate(plans):
            gap.append(literals[text])
            planned, number = iter(plan.planned), 0
            for segment in plan.segments:
                checkpoint()
                if segment.is_sentence:
                    sentence = next(planned)
                    is_open = not sentence.masked.spans and not sentence.tags
                    self._places[text, number] = _Place("".join(gap), is_open)
                    number, gap = number + 1, []
                else:
                    gap.append(content.placeholders[text].restore(segment.text))
        self._end = "".join([*gap, literals[-1]])
        self._order = iter(self._places.values())
        self._current = next(self._order, None)
        self._sent = 0
        """Characters of the current sentence that were sent, with what stands before it."""

    def add(self, beginning: Beginning) -> str:
        """The text that can be sent after this beginning."""
        place = self._places[beginning.text, beginning.sentence]
        place.target = self._placeholders[beginning.text].restore(beginning.target)
        place.is_done = beginning.is_done
        added = list[str]()
        while self._current is not None:
            checkpoint()
            current = self._current
            if current.is_done or (current.is_open and current.target):
                known = current.before + current.target
                added.append(known[self._sent :])
                self._sent = max(self._sent, len(known))
            if not current.is_done:
                break
            self._current, self._sent = next(self._order, None), 0
        return "".join(added)

    def rest(self) -> str:
        """What stands after the last sentence."""
        return self._end
