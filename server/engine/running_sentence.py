"""A sentence from the encoder to the end of its search, with the hypotheses that are finished."""

from dataclasses import dataclass, field

from server.backends.context import ContextAttention
from server.backends.memory import Encoded
from server.backends.state import DEAD_SCORE, Floats
from server.engine.beam import normalize
from server.engine.constraint import ConstrainedRows
from server.engine.request import SentenceRequest
from server.engine.stable_prefix import StablePrefix
from server.telemetry.labels import FinishReason


@dataclass(frozen=True)
class EncodedSentence:
    """A sentence after the encoder: the output of the encode graph, when encoding began and ended (time.monotonic()
    values), and the attention to its context."""

    request: SentenceRequest
    content: Encoded
    started: float
    encoded: float
    attention: ContextAttention | None = None


@dataclass(frozen=True)
class FinishedHypothesis:
    """A hypothesis that ended with EOS, or was cut at the maximum length. Its tokens without EOS are those of row
    `parent` after `steps` steps."""

    score: float
    normalized: float
    steps: int
    parent: int
    reason: FinishReason = "eos"


@dataclass(eq=False)  # compared with None for every slot
class RunningSentence:
    """A sentence in a slot, whose first step was at `first_clock` of the lane's clock. `forced`: the first tokens of
    every row, those that a translation starts with and those of its prefix."""

    sentence: EncodedSentence
    first_clock: int
    forced: tuple[int, ...]
    finished: list[FinishedHypothesis] = field(default_factory=list)
    log_probabilities: list[list[float]] = field(default_factory=list)
    """Log-probabilities of the tokens so far of every given translation (see ScoringLane)."""
    num_reported: int = 0
    """Tokens of the stable prefix that `on_partial` was last called with."""
    constrained: ConstrainedRows | None = None
    """The states of its rows, where words are forbidden."""
    stable_prefix: StablePrefix | None = None
    """Created at the first call of `Lane.stable_prefix`."""

    def finish(self, score: float, steps: int, parent: int) -> None:
        """Keep the hypothesis that extends row `parent` after `steps` steps with EOS. `score` in nats, EOS included."""
        request = self.sentence.request
        normalized = normalize(score, steps + 1 - len(request.prefix), request.options.length_penalty)
        self.finished.append(FinishedHypothesis(score, normalized, steps, parent))

    def best(self, scores: Floats, steps: int, forces_eos: bool) -> list[FinishedHypothesis]:
        """The best hypotheses of a search that is complete after `steps` steps: the finished ones, then, if there are
        too few, rows cut at the maximum length. With `forces_eos` cut rows rank among the others. `scores` of the live
        rows [beam], in nats. Empty when scores are not finite."""
        options = self.sentence.request.options
        finished, cut = self.finished, list[FinishedHypothesis]()
        if len(finished) < options.beam_size:
            cut = self._cut(scores, steps, forces_eos)
        if forces_eos:
            finished, cut = finished + cut, []
        return (sorted(finished, key=lambda hypothesis: -hypothesis.normalized) + cut)[: options.num_hypotheses]

    def _cut(self, scores: Floats, steps: int, forces_eos: bool) -> list[FinishedHypothesis]:
        """The live rows of a complete search, as hypotheses cut at the maximum length."""
        request = self.sentence.request
        options, length = request.options, steps + forces_eos - len(request.prefix)
        return [
            FinishedHypothesis(score, normalize(score, length, options.length_penalty), steps, row, "length")
            for row, score in enumerate(map(float, scores[: options.beam_size]))
            if score > DEAD_SCORE / 2
        ]
