"""A running batch: slots of equal beam width, the sentences in them, and the history of their beams."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from server.backends.base import Backend, Step
from server.backends.context import ContextAttention
from server.backends.memory import Encoded, Layout, document_layout, fits_document
from server.backends.state import DEAD_SCORE, DecoderState, Ints
from server.engine.batch_shape import BatchShape, keep_or_round, ring_capacity_for, round_up_slots
from server.engine.beam import backtrack, finished_candidates, is_complete, normalize
from server.engine.constraint import ConstrainedRows
from server.engine.history import Choices, History
from server.engine.past_shapes import BoundState, PastShapes
from server.engine.request import Hypothesis, SentenceRequest
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


class LaneKind(NamedTuple):
    """What the sentences of a lane have in common: the lane's beam width, whether steps attend to documents, whether
    translations are given and only scored, and whether they are of short requests, whose lanes take turns with all
    others."""

    beam: int
    attends_context: bool
    is_scoring: bool = False
    is_short: bool = False


class Lane:
    """Slots of one kind. Grows and shrinks with its sentences; the step graph sees only `state.slots` slots, and rings
    as long as the running sentences need.

    `awaiting_first_token` are the sentences that have not made a step yet.
    """

    is_scoring = False

    def __init__(
        self, backend: Backend, beam: int, max_slots: int, document: Mapping[str, Layout] = MappingProxyType({})
    ) -> None:
        """`document`: the layout of a slot's document, where steps attend to documents."""
        self.backend, self.beam, self.max_slots = backend, beam, max_slots
        self.kind = LaneKind(beam, bool(document), self.is_scoring)
        self.start_length, self.ids = backend.manifest.start_length, backend.manifest.special_ids
        self.max_target_length = backend.manifest.max_target_length + self.start_length
        self._max_ring = backend.manifest.ring_capacity
        self.forces_eos = backend.manifest.forced_eos
        self.running: list[RunningSentence | None] = []
        self.num_running = 0
        self._past_shapes = PastShapes()
        self.awaiting_first_token: list[SentenceRequest] = []
        self.beam_size: Ints = np.zeros(0, np.int64)
        self.max_length: Ints = np.zeros(0, np.int64)
        self.num_finished: Ints = np.zeros(0, np.int64)
        self._forced: set[int] = set()
        """Slots of sentences whose next token is given."""
        self._constrained: set[int] = set()
        """Slots of sentences in which words are forbidden."""
        self._first_limit = sys.maxsize
        """No sentence reaches its maximum length before the clock stands here."""
        self._ring_limit = sys.maxsize
        """No sentence needs longer rings before the clock stands here."""
        self._resize(BatchShape(1, 16, ring_capacity_for(1, self._max_ring)), document, [])

    def _resize(self, shape: BatchShape, document: Mapping[str, Layout], keep: list[int]) -> None:
        """Move the sentences of the slots in `keep` to the first slots of a state of another shape. If that fails,
        nothing has changed."""
        slots, count = shape.slots, len(keep)
        bound = (None if document else self._past_shapes.take(shape)) or self._new_state(shape, document)
        state = bound.state
        if count:
            state.copy_slots(self.state, keep)
            first = min(running.first_clock for running in self.running if running is not None)
            bound.history.copy_slots(self._history, keep, first, state.clock)
        if self.running and self.state.clock:  # else no step has run over it
            self._past_shapes.keep(self._shape, BoundState(self.state, self._step, self._history))
        self._step: Step = bound.step
        self.state: DecoderState = state
        self._history: History = bound.history
        if not count:
            self._first_limit = sys.maxsize
        for name, idle in (("beam_size", 1), ("max_length", self.max_target_length), ("num_finished", 0)):
            values: Ints = np.full(slots, idle, np.int64)
            values[:count] = getattr(self, name)[keep]
            setattr(self, name, values)
        self.running = [self.running[slot] for slot in keep] + [None] * (slots - count)
        for slots_of in (self._forced, self._constrained):
            moved = {new for new, slot in enumerate(keep) if slot in slots_of}
            slots_of.clear()
            slots_of |= moved
        self._update_ring_limit()

    def _update_ring_limit(self) -> None:
        """Compute when the sentence that is furthest reaches the end of the rings; others reach it later."""
        state = self.state
        is_whole = state.capacity == self._max_ring
        self._ring_limit = sys.maxsize if is_whole else state.clock + state.capacity - int(state.position.max())

    def _new_state(self, shape: BatchShape, document: Mapping[str, Layout]) -> BoundState:
        state = self.backend.new_state(
            shape.slots, self.beam, shape.source_length, document, self.is_scoring, shape.ring
        )
        return BoundState(state, self._bind(state), History(self.max_target_length, shape.slots, self.beam))

    def _bind(self, state: DecoderState) -> Step:
        return self.backend.bind(state)

    def resize_for(self, arriving: list[EncodedSentence]) -> None:
        """Grow so that `arriving` sentences fit, or shrink to what is needed: a step's time grows with slots, source
        length and rings."""
        contents = [running.sentence.content for running in self.running if running is not None]
        contents += [sentence.content for sentence in arriving]
        if not contents:
            return
        longest, document = max(content.length for content in contents), document_layout(contents)
        positions = min(self._num_positions(), self._max_ring)
        shape = BatchShape(
            slots=keep_or_round(len(contents), self.state.slots, round_up_slots(len(contents), self.max_slots)),
            source_length=keep_or_round(longest, self.state.source_length, -(-longest // 8) * 8),
            ring=keep_or_round(positions, self.state.capacity, ring_capacity_for(positions, self._max_ring)),
        )
        if shape != self._shape or not fits_document(self.state.memory, document):
            self._resize(shape, document, self._occupied())

    @property
    def _shape(self) -> BatchShape:
        return BatchShape(self.state.slots, self.state.source_length, self.state.capacity)

    def _occupied(self) -> list[int]:
        return [slot for slot, running in enumerate(self.running) if running is not None]

    def _num_positions(self) -> int:
        """Positions of the sentence that is furthest, after the next step."""
        return int(self.state.position.max()) + 1

    def grow_rings(self) -> None:
        """Before a step: lengthen the rings if the sentence that is furthest has reached their end. If that fails,
        nothing has changed."""
        if self.state.clock < self._ring_limit:
            return
        ring = ring_capacity_for(self._num_positions(), self._max_ring)
        if ring <= self.state.capacity:  # the sentence that was furthest is finished
            self._update_ring_limit()
            return
        self._resize(self._shape._replace(ring=ring), self.state.memory.document, self._occupied())

    def slots_past_ring(self) -> list[int]:
        """Slots of sentences that cannot make a step without longer rings."""
        slots: list[int] = np.flatnonzero(self.state.position >= self.state.capacity).tolist()
        return slots

    def admit(self, sentence: EncodedSentence) -> None:
        """Put a sentence into a free slot, after `resize_for`; it takes part in the next step. Raises ValueError when
        its prefix is as long as its translation may be; then the slot is still free."""
        slot = self.running.index(None)
        options, prefix = sentence.request.options, sentence.request.prefix
        limit = self.start_length + options.length_limit(len(sentence.request.source_ids), len(prefix))
        max_length = max(self.start_length + 1, min(limit, self.max_target_length) - self.forces_eos)
        forced = (*self.start_of(sentence.request), *prefix)
        if len(forced) >= max_length:
            raise ValueError(f"a prefix of {len(prefix)} tokens leaves no room within {max_length - self.start_length}")
        try:
            self.state.admit(slot, sentence.content, self.ids.bos, options.beam_size)
        except Exception:
            self.state.release(slot)
            raise
        self.beam_size[slot] = options.beam_size
        self.max_length[slot] = max_length
        self.num_finished[slot] = 0
        if forced:
            self._forced.add(slot)
        self._first_limit = min(self._first_limit, self.state.clock + int(self.max_length[slot]))
        self.running[slot] = running = RunningSentence(sentence, self.state.clock, forced)
        if sentence.request.constraint is not None:
            running.constrained = ConstrainedRows(sentence.request.constraint, self.beam)
            self._constrained.add(slot)
        self.awaiting_first_token.append(sentence.request)
        self.num_running += 1

    def start_of(self, request: SentenceRequest) -> tuple[int, ...]:
        """The tokens with which the sentence's translation starts."""
        return request.source_ids[: self.start_length]

    def step(self) -> None:
        """Run the graph once: candidates and the following rows are in the state afterwards."""
        self._step()

    def advance(self) -> list[int]:
        """After a step: keep the hypotheses that finished, move to the next tokens. Returns the slots whose search is
        complete."""
        state = self.state
        exhausted = [slot for slot in self._constrained if not self._constrain(slot)] if self._constrained else []
        finished = finished_candidates(state.candidates, self.beam_size, self.ids.eos)
        for slot, rank in finished:
            if slot not in self._forced:
                self._finish(slot, rank)
        for slot in exhausted:
            self.num_finished[slot] = self.beam_size[slot]
        for slot in tuple(self._forced):
            self._force(slot)
        self._history.add(state.clock, state.following)
        state.tick()
        if not (finished or exhausted) and state.clock < self._first_limit:
            return []
        is_over = is_complete(self.num_finished, self.beam_size, state.position, self.max_length)
        is_running = state.is_running > 0
        continuing = np.flatnonzero(~is_over & is_running)
        remaining = self.max_length[continuing] - state.position[continuing]
        self._first_limit = state.clock + int(remaining.min()) if len(remaining) else sys.maxsize
        complete: list[int] = np.flatnonzero(is_over & is_running).tolist()
        return complete

    def _constrain(self, slot: int) -> bool:
        """Leave out what the slot's constraint forbids. Returns whether any row continues."""
        running = self.running[slot]
        assert running is not None
        assert running.constrained is not None
        if slot in self._forced:
            if (position := int(self.state.position[slot])) >= self.start_length:
                running.constrained.force(running.forced[position])
            return True
        return running.constrained.choose(
            self.state, slot, int(self.beam_size[slot]), self.ids.eos, bool(running.finished)
        )

    def _force(self, slot: int) -> None:
        """Let the slot's only row take the next token that is given, whatever the candidates are, with its score
        unchanged at 0."""
        running = self.running[slot]
        assert running is not None
        forced, position, rows = running.forced, int(self.state.position[slot]), self.state.following
        rows.token[slot], rows.parent[slot] = forced[position], 0
        rows.score[slot], rows.score[slot, 0] = DEAD_SCORE, 0
        if position + 1 == len(forced):
            self._forced.remove(slot)

    def _finish(self, slot: int, rank: int) -> None:
        """Keep the hypothesis that the slot's candidate `rank` completes."""
        running = self.running[slot]
        if running is None:
            return
        steps, score = int(self.state.position[slot]), float(self.state.candidates.score[slot, rank])
        request = running.sentence.request
        normalized = normalize(score, steps + 1 - len(request.prefix), request.options.length_penalty)
        parent = int(self.state.candidates.parent[slot, rank])
        running.finished.append(FinishedHypothesis(score, normalized, steps, parent))
        self.num_finished[slot] += 1

    def hypotheses(self, slot: int) -> tuple[Hypothesis, ...]:
        """The best hypotheses of a complete search: the finished ones, then, if there are too few, rows cut at the
        maximum length. Where the model forces EOS there, cut rows rank among the others. Raises RuntimeError when there
        are none at all, because scores are not finite."""
        running = self.running[slot]
        assert running is not None
        options = running.sentence.request.options
        finished, cut = running.finished, list[FinishedHypothesis]()
        if len(finished) < options.beam_size:
            cut = self._cut(slot, running)
        if self.forces_eos:
            finished, cut = finished + cut, []
        best = (sorted(finished, key=lambda hypothesis: -hypothesis.normalized) + cut)[: options.num_hypotheses]
        if not best:
            raise RuntimeError(
                f"model '{self.backend.manifest.name}' found no translation: its graphs gave scores that are no numbers"
            )
        steps = self._steps(slot, running)
        return tuple([self._hypothesis(steps, hypothesis) for hypothesis in best])

    def _cut(self, slot: int, running: RunningSentence) -> list[FinishedHypothesis]:
        """The live rows of a complete search, as hypotheses cut at the maximum length."""
        request, steps = running.sentence.request, self.state.clock - running.first_clock
        options = request.options
        scores = [float(score) for score in self.state.current.score[slot, : options.beam_size]]
        length = steps + self.forces_eos - len(request.prefix)
        return [
            FinishedHypothesis(score, normalize(score, length, options.length_penalty), steps, beam, "length")
            for beam, score in enumerate(scores)
            if score > DEAD_SCORE / 2
        ]

    def _hypothesis(self, steps: Sequence[Choices], finished: FinishedHypothesis) -> Hypothesis:
        ids = backtrack(steps[: finished.steps], finished.parent)[self.start_length :]
        return Hypothesis(tuple(ids), finished.score, finished.normalized, finished.reason)

    def stable_prefix(self, slot: int) -> Sequence[int]:
        """Ids with which the best hypothesis of a running sentence will begin: the common prefix of its live rows and
        of the best finished hypothesis. Reads only the steps since the last call. The caller must not change the
        result, which is valid until the next step."""
        running = self.running[slot]
        assert running is not None
        if running.stable_prefix is None:
            running.stable_prefix = StablePrefix(running.first_clock)
        prefix = running.stable_prefix
        live = np.flatnonzero(self.state.current.score[slot] > DEAD_SCORE / 2).tolist()
        prefix.extend(self._history.of(slot, prefix.clock, self.state.clock), live)
        if running.finished:
            best = max(running.finished, key=lambda hypothesis: hypothesis.normalized)
            if prefix.best is not best:
                prefix.set_best(best, backtrack(self._steps(slot, running)[: best.steps], best.parent))
        ids = prefix.stable_ids(bool(live))
        return ids[self.start_length :] if self.start_length else ids

    def _steps(self, slot: int, running: RunningSentence) -> list[Choices]:
        """The choices of a running sentence's rows in all of its steps."""
        return self._history.of(slot, running.first_clock, self.state.clock)

    def release(self, slot: int) -> RunningSentence:
        """Empty the slot; another sentence may be admitted to it before the next step."""
        running = self.running[slot]
        assert running is not None
        self.running[slot] = None
        self.num_running -= 1
        self._forced.discard(slot)
        self._constrained.discard(slot)
        self.state.release(slot)
        self.beam_size[slot], self.max_length[slot], self.num_finished[slot] = 1, self.max_target_length, 0
        return running

    @property
    def ring_bytes(self) -> int:
        return self.state.memory.ring_bytes + self._past_shapes.ring_bytes

    @property
    def source_bytes(self) -> int:
        return self.state.memory.source_bytes + self._past_shapes.source_bytes

    def check_integrity(self) -> None:
        """Raise AssertionError if slots, sentences and state disagree (called by tests after every step)."""
        assert len(self.running) == self.state.slots <= self.max_slots
        assert self.num_running == len(self._occupied())
        if self.state.capacity < self._max_ring:
            assert self.state.position.max() <= self.state.capacity, "a row has overwritten its own past"
        rows = self.state.current
        for slot, running in enumerate(self.running):
            live = rows.score[slot] > DEAD_SCORE / 2
            assert bool(self.state.is_running[slot]) == (running is not None)
            if running is None:
                assert not live.any(), f"free slot {slot} has live rows"
                assert self.state.position[slot] == 0
            else:
                size = running.sentence.request.options.beam_size
                assert live[0], f"slot {slot} runs without a live row"
                assert not live[size:].any(), f"slot {slot} has more rows than its beam size {size}"
                assert self.state.position[slot] == self.state.clock - running.first_clock < self.max_target_length
                assert self.state.source_keep[slot].sum() == running.sentence.content.length
        assert rows.parent.min() >= 0
        assert rows.parent.max() < self.beam
