"""What goes into the engine and what comes out of it: one sentence each."""

import math
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from server.backends.alignment import IdPair
from server.backends.base import Backend
from server.backends.context import ContextAttention, EncodedSource, SentenceContext
from server.engine.constraint import Constraint
from server.scheduling.caller import Caller, current
from server.scheduling.fair_queue import FlowPath
from server.telemetry.labels import FinishReason
from server.text.checks.address import Formality

Result = TypeVar("Result")


class Cancelled(Exception):
    """The sentence was cancelled before it was finished; its slot is free."""


class DeadlineExceeded(Exception):
    """The sentence's deadline passed before it was finished; its slot is free."""


class Overloaded(Exception):
    """The queue is full; nothing was queued."""


class EngineStopped(Exception):
    """The engine is draining or has failed and accepts no more sentences."""


class ModelUnavailable(EngineStopped):
    """This model's engine is stuck or has exited; the message names the model, the reason and what to do. Other models
    are not affected."""


@dataclass(frozen=True)
class SearchOptions:
    """The beam search of one sentence.

    `length_penalty` alpha: hypotheses are ranked by log-probability / length**alpha, EOS counted. `max_length` bounds
    the target's tokens, EOS included; with `follows_source`, what is added to a prefix is also bounded by 20 + 3 * the
    source's pieces. `deadline` is a time.monotonic() value. `formality` is how the reader is to be addressed
    (`server.translation.formality`); it has no effect on the search itself.
    """

    beam_size: int = 4
    num_hypotheses: int = 1
    length_penalty: float = 1.0
    max_length: int = 256
    follows_source: bool = False
    deadline: float | None = None
    formality: Formality | None = None

    def length_limit(self, source_length: int, prefix_length: int = 0) -> int:
        """The most tokens of the target, EOS included, for a source of `source_length` pieces and a prefix of
        `prefix_length` tokens."""
        limit = prefix_length + 20 + 3 * source_length
        return min(self.max_length, limit) if self.follows_source else self.max_length


@dataclass(frozen=True)
class Hypothesis:
    """`ids` without EOS. `score`: the sum of the tokens' log-probabilities in nats, EOS included, prefix excluded.
    Hypotheses are ranked by `normalized_score`. `log_probabilities` of every token, EOS included, where the translation
    was given. `coverage` of every source piece (see `coverage_of`), EOS included; None where it is not known."""

    ids: tuple[int, ...]
    score: float
    normalized_score: float
    finish_reason: FinishReason
    log_probabilities: tuple[float, ...] = ()
    coverage: tuple[float, ...] | None = None

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
    """`hypotheses`: at least one, best first; where translations were given, one for each, in their order. `context`:
    the attention weights over the document, None for a sentence without context."""

    hypotheses: tuple[Hypothesis, ...]
    timings: Timings
    context: ContextAttention | None = None


@dataclass(eq=False)
class SentenceRequest:
    """One sentence in flight. The engine resolves `future` exactly once.

    `source_ids` end with EOS; the first of them, as many as the manifest's `start_length`, are what the translation
    starts with: its result does not have them, and its score does not count them, only the length that it is ranked by.
    `context`: the sentences of its document that it attends to, None for none. Sentences of one `owner` (a document,
    for example) are one flow among the flows of their `caller`; flows take turns. `targets`: given translations that
    are scored instead of a search, each ending with EOS and within `max_length`, as many as `beam_size`. `encoded`: the
    encoder output, where the source was encoded before. `prefix`: ids that every hypothesis begins with, fewer than its
    length limit; they count neither in its score nor in the length that it is ranked by. `constraint`: what the
    hypotheses must not contain, but for their prefix; None for nothing.
    """

    source_ids: tuple[int, ...]
    options: SearchOptions
    context: SentenceContext | None = None
    owner: Hashable = None
    targets: tuple[tuple[int, ...], ...] = ()
    encoded: EncodedSource | None = None
    prefix: tuple[int, ...] = ()
    constraint: Constraint | None = None
    caller: Caller = field(default_factory=current.get)
    future: "Future[SentenceResult]" = field(default_factory=Future)
    arrival: float = 0.0
    is_cancelled: bool = False
    is_short: bool = False
    """Whether it belongs to a short interactive request; set by the queue (see `RequestQueue`)."""
    is_taken: bool = False
    """Whether it has left the queue, by any of its flows."""
    deadline: float = field(init=False)
    """The deadline of its options, infinite where they have none."""
    on_cancel: Callable[[], None] | None = None
    on_partial: Callable[[tuple[int, ...]], None] | None = None
    """Called in the engine's thread with the ids of the stable prefix (`Lane.stable_prefix`) whenever it grows."""
    wants_coverage: Callable[[IdPair], bool] | None = None
    """Called in the engine's thread with the source and the best hypothesis: whether its coverage is wanted. It is
    known for some only (see `server.engine.coverage`)."""

    def __post_init__(self) -> None:
        self.deadline = math.inf if self.options.deadline is None else self.options.deadline

    @property
    def flow(self) -> FlowPath:
        """The flow of the queue in which the sentence waits."""
        return self.caller.tenant, self.caller.service, self.owner

    def cancel(self) -> None:
        """Cancel the sentence at the next step, wherever it is."""
        self.is_cancelled = True
        on_cancel = self.on_cancel  # the thread that resolves the future may reset the attribute at any moment
        if on_cancel is not None and not self.future.done():
            on_cancel()

    def must_abort(self, now: float) -> bool:
        """Whether the sentence is cancelled or past its deadline."""
        return self.is_cancelled or now > self.deadline

    def abort(self) -> None:
        """Resolve a sentence that `must_abort` with its error."""
        if self.is_cancelled:
            self.future.set_exception(Cancelled("the sentence was cancelled"))
        else:
            self.future.set_exception(DeadlineExceeded("the deadline passed before the sentence was translated"))


@dataclass(eq=False)
class SideTask(Generic[Result]):
    """A task other than decoding that takes about as long as an encoder call; workers run one between two steps. `cost`
    is in source tokens; the side tasks of one `owner` are one flow, as its sentences are. Cancelling the future cancels
    the task."""

    function: Callable[[Backend], Result]
    cost: int
    owner: Hashable = None
    caller: Caller = field(default_factory=current.get)
    future: "Future[Result]" = field(default_factory=Future)

    @property
    def flow(self) -> FlowPath:
        """The flow of the queue in which the task waits."""
        return self.caller.tenant, self.caller.service, self.owner

    def run(self, backend: Backend) -> None:
        """Run the function with the backend of an engine and resolve the future, unless it was cancelled."""
        if self.future.set_running_or_notify_cancel():
            try:
                self.future.set_result(self.function(backend))
            except Exception as error:  # for the caller; the engine continues
                self.future.set_exception(error)
