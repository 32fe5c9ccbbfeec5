"""What goes into the engine and what comes out of it: one sentence each."""

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal

FinishReason = Literal["eos", "length"]


class Cancelled(Exception):
    """The sentence was cancelled before it was finished; its slot is free."""


class DeadlineExceeded(Exception):
    """The sentence's deadline passed before it was finished; its slot is free."""


class Overloaded(Exception):
    """The waiting room is full; nothing was queued."""


class EngineStopped(Exception):
    """The engine is draining or has failed and takes no more sentences."""


@dataclass(frozen=True)
class SearchOptions:
    """How one sentence is searched.

    `length_penalty` alpha: hypotheses are ranked by log-probability / length**alpha, EOS counted.
    `max_length` bounds the target's tokens, EOS included. `deadline` is a time.monotonic() value.
    """

    beam_size: int = 4
    num_hypotheses: int = 1
    length_penalty: float = 1.0
    max_length: int = 256
    deadline: float | None = None


@dataclass(frozen=True)
class Hypothesis:
    """`ids` without EOS; `score` is the summed log-probability (EOS included); `normalized_score` ranks it."""

    ids: tuple[int, ...]
    score: float
    normalized_score: float
    finish_reason: FinishReason

    @property
    def num_tokens(self) -> int:
        """Tokens that were decoded, EOS included."""
        return len(self.ids) + (self.finish_reason == "eos")


@dataclass(frozen=True)
class Timings:
    """Seconds a sentence spent waiting, being encoded (its batch's time) and being decoded."""

    queue: float
    encode: float
    decode: float


@dataclass(frozen=True)
class SentenceResult:
    """Best hypothesis first; at least one."""

    hypotheses: tuple[Hypothesis, ...]
    timings: Timings


@dataclass(eq=False)
class SentenceRequest:
    """One sentence in flight. `source_ids` end with EOS. `future` is resolved by the engine exactly once."""

    source_ids: tuple[int, ...]
    options: SearchOptions
    future: "Future[SentenceResult]" = field(default_factory=Future)
    arrival: float = 0.0
    is_cancelled: bool = False

    def cancel(self) -> None:
        """Ask for the sentence to be dropped; takes effect at the next step, wherever the sentence is."""
        self.is_cancelled = True
