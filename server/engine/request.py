"""What goes into the engine and what comes out of it: one sentence each."""

import math
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from server.backends.context import ContextUse, EncodedSource, SentenceContext
from server.scheduling.caller import Caller, current
from server.scheduling.fair_queue import Path
from server.telemetry.labels import FinishReason

Result = TypeVar("Result")


class Cancelled(Exception):
    """The sentence was cancelled before it was finished; its slot is free."""


class DeadlineExceeded(Exception):
    """The sentence's deadline passed before it was finished; its slot is free."""


class Overloaded(Exception):
    """The waiting room is full; nothing was queued."""


class EngineStopped(Exception):
    """The engine is draining or has failed and takes no more sentences."""


class ModelUnavailable(EngineStopped):
    """This model's engine hangs or has ended; the message says which model, why, and what to do. Others go on."""


@dataclass(frozen=True)
class SearchOptions:
    """How one sentence is searched.

    `length_penalty` alpha: hypotheses are ranked by log-probability / length**alpha, EOS counted.
    `max_length` bounds the target's tokens, EOS included; with `follows_source`, what is added to a prefix is also
    bounded by 20 + 3 * the source's pieces. `deadline` is a time.monotonic() value.
    """

    beam_size: int = 4
    num_hypotheses: int = 1
    length_penalty: float = 1.0
    max_length: int = 256
    follows_source: bool = False
    deadline: float | None = None

    def length_limit(self, source_length: int, given: int = 0) -> int:
        """The most tokens of the target, EOS included, for a source of `source_length` pieces and a prefix of `given`
        tokens."""
        return min(self.max_length, given + 20 + 3 * source_length) if self.follows_source else self.max_length


@dataclass(frozen=True)
class Hypothesis:
    """`ids` without EOS. `score`: the sum of the tokens' log-probabilities in nats, EOS included, a given prefix not.
    `normalized_score` ranks it. `log_probabilities` of every token, EOS included, where the translation was given."""

    ids: tuple[int, ...]
    score: float
    normalized_score: float
    finish_reason: FinishReason
    log_probabilities: tuple[float, ...] = ()

    @property
    def num_tokens(self) -> int:
        """Tokens of the hypothesis, EOS included."""
        return len(self.ids) + (self.finish_reason == "eos")


@dataclass(frozen=True)
class Timings:
    """Seconds a sentence spent waiting, being encoded (its batch's time) and being decoded."""

    queue: float
    encode: float
    decode: float


@dataclass(frozen=True)
class SentenceResult:
    """`hypotheses`: at least one, best first; where translations were given, one for each, in their order. `context` is
    where the sentence looked, if it saw something."""

    hypotheses: tuple[Hypothesis, ...]
    timings: Timings
    context: ContextUse | None = None


@dataclass(eq=False)
class SentenceRequest:
    """One sentence in flight.

    `source_ids` end with EOS. `context`: what the sentence sees of its document, None for nothing. Sentences of one
    `owner` (a document, for example) wait in one line among those of their `caller`; lines take turns. `targets`: given
    translations to be scored instead of a search, each ending with EOS and within `max_length`, as many as `beam_size`.
    `read`: the sentence was encoded already and is not encoded again. `prefix`: ids that every hypothesis begins with,
    fewer than its length limit; they count neither in its score nor in the length that it is ranked by. The engine
    resolves `future` exactly once.
    """

    source_ids: tuple[int, ...]
    options: SearchOptions
    context: SentenceContext | None = None
    owner: Hashable = None
    targets: tuple[tuple[int, ...], ...] = ()
    read: EncodedSource | None = None
    prefix: tuple[int, ...] = ()
    caller: Caller = field(default_factory=current.get)
    future: "Future[SentenceResult]" = field(default_factory=Future)
    arrival: float = 0.0
    is_cancelled: bool = False
    is_taken: bool = False
    """Whether it has left the waiting room, by any of its lines."""
    deadline: float = field(init=False)
    """The deadline of its options, infinite where they have none."""
    on_cancel: Callable[[], None] | None = None
    told: Callable[[tuple[int, ...]], None] | None = None
    """Called in the engine's thread whenever a longer beginning of the best hypothesis is sure."""

    def __post_init__(self) -> None:
        self.deadline = math.inf if self.options.deadline is None else self.options.deadline

    @property
    def line(self) -> Path:
        """Where it waits."""
        return self.caller.tenant, self.caller.service, self.owner

    def cancel(self) -> None:
        """Ask for the sentence to be dropped; takes effect at the next step, wherever the sentence is."""
        self.is_cancelled = True
        on_cancel = self.on_cancel  # the thread that answers the sentence may forget it at any moment
        if on_cancel is not None and not self.future.done():
            on_cancel()

    def refuse(self, error: Exception) -> None:
        """Answer it, still waiting, with an error."""
        self.future.set_exception(error)


@dataclass(eq=False)
class SideTask(Generic[Result]):
    """Work that is no sentence and takes about as long as an encoder call; workers do one between two steps. `cost` is
    in source tokens; errands of one `owner` wait in one line, as sentences do. To cancel one, cancel its future."""

    run: Callable[[], Result]
    cost: int
    owner: Hashable = None
    caller: Caller = field(default_factory=current.get)
    future: "Future[Result]" = field(default_factory=Future)

    @property
    def line(self) -> Path:
        """Where it waits."""
        return self.caller.tenant, self.caller.service, self.owner

    def refuse(self, error: Exception) -> None:
        """Answer it, still waiting, with an error."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)

    def do(self) -> None:
        """Run it and resolve the future, unless that was cancelled."""
        if self.future.set_running_or_notify_cancel():
            try:
                self.future.set_result(self.run())
            except Exception as error:  # the caller gets it, the engine goes on
                self.future.set_exception(error)
