"""A running batch: slots of equal beam width, the sentences in them, and the history of their beams."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from server.backends.base import Backend, Step
from server.backends.context import ContextUse
from server.backends.memory import Encoded, Layout, document_layout, suits
from server.backends.state import DEAD_SCORE, DecoderState, Ints
from server.engine.batch_shape import Room, fitting, ring_capacity_for, round_up_slots
from server.engine.beam import backtrack, ended, is_complete, normalize
from server.engine.beginnings import CommonBeginning
from server.engine.history import Choices, History
from server.engine.request import Hypothesis, SentenceRequest
from server.telemetry.labels import FinishReason


@dataclass(frozen=True)
class EncodedSentence:
    """A sentence after the encoder: what the encode graph gave for it, when that began and ended (time.monotonic()
    values), and where in its document the sentence looked."""

    request: SentenceRequest
    content: Encoded
    started: float
    encoded: float
    use: ContextUse | None = None

    @property
    def length(self) -> int:
        return self.content.length


@dataclass(frozen=True)
class Ending:
    """A hypothesis that ended with EOS, or was cut at the maximum length. Its tokens without EOS are those of row
    `parent` after `steps` steps."""

    score: float
    normalized: float
    steps: int
    parent: int
    reason: FinishReason = "eos"


@dataclass
class Running:
    """A sentence that runs since the lane's clock stood at `first_clock`."""

    sentence: EncodedSentence
    first_clock: int
    endings: list[Ending] = field(default_factory=list)
    log_probabilities: list[list[float]] = field(default_factory=list)
    """Log-probabilities of the tokens so far of every translation that was given."""
    num_reported: int = 0
    """Tokens of the longest beginning that its listener was told of."""
    beginning: CommonBeginning | None = None
    """What its live rows have in common, as far as somebody asked."""

    def is_over(self, now: float) -> bool:
        """Cancelled or late."""
        request = self.sentence.request
        return request.is_cancelled or now > request.deadline


class LaneKind(NamedTuple):
    """What the sentences of a lane have in common: the lane's beam width, whether steps look at documents, and whether
    translations are given and only scored."""

    beam: int
    looks: bool
    scores: bool = False


class Lane:
    """Slots of one kind. Grows and shrinks with its sentences; the step graph sees only `state.slots` slots, and rings
    as long as the sentences that run.

    `fresh` are the sentences that have not made a step yet.
    """

    def __init__(
        self, backend: Backend, beam: int, max_slots: int, document: Mapping[str, Layout] = MappingProxyType({})
    ) -> None:
        """`document`: room for a slot's document, where steps look at documents."""
        self.backend, self.beam, self.max_slots = backend, beam, max_slots
        self.kind = LaneKind(beam, bool(document))
        self.max_target_length, self.ids = backend.manifest.max_target_length, backend.manifest.special_ids
        self._most_ring = backend.manifest.ring_capacity
        self.forces_eos = backend.manifest.forced_eos
        self.running: list[Running | None] = []
        self.num_running = 0
        self.fresh: list[SentenceRequest] = []
        self.beam_size: Ints = np.zeros(0, np.int64)
        self.max_length: Ints = np.zeros(0, np.int64)
        self.num_ended: Ints = np.zeros(0, np.int64)
        self._forced: set[int] = set()
        """Slots of sentences whose next token is given."""
        self._first_limit = sys.maxsize
        """No sentence reaches its maximum length before the clock stands here."""
        self._ring_limit = sys.maxsize
        """No sentence needs longer rings before the clock stands here."""
        self._resize(Room(1, 16, ring_capacity_for(1, self._most_ring)), document, [])

    def _resize(self, room: Room, document: Mapping[str, Layout], keep: list[int]) -> None:
        """Move the sentences of the slots in `keep` to the first slots of a state of another size. If that fails,
        nothing has changed."""
        state = self._new_state(room, document)
        slots, count = room.slots, len(keep)
        history = History(self.max_target_length, slots, self.beam)
        if count:
            state.copy_slots(self.state, keep)
            first = min(running.first_clock for running in self.running if running is not None)
            history.copy_slots(self._history, keep, first, state.clock)
        self._bind(state)
        self.state: DecoderState = state
        self._history: History = history
        if not count:
            self._first_limit = sys.maxsize
        for name, idle in (("beam_size", 1), ("max_length", self.max_target_length), ("num_ended", 0)):
            values: Ints = np.full(slots, idle, np.int64)
            values[:count] = getattr(self, name)[keep]
            setattr(self, name, values)
        self.running = [self.running[slot] for slot in keep] + [None] * (slots - count)
        self._forced = {new for new, slot in enumerate(keep) if slot in self._forced}
        self._watch_rings()

    def _watch_rings(self) -> None:
        """Note when the sentence that is furthest reaches the end of the rings. Those that come later do so later."""
        state = self.state
        is_whole = state.capacity == self._most_ring
        self._ring_limit = sys.maxsize if is_whole else state.clock + state.capacity - int(state.position.max())

    def _new_state(self, room: Room, document: Mapping[str, Layout]) -> DecoderState:
        return self.backend.new_state(room.slots, self.beam, room.source_length, document, capacity=room.ring)

    def _bind(self, state: DecoderState) -> None:
        self._step: Step = self.backend.bind(state)

    def fit(self, arriving: list[EncodedSentence]) -> None:
        """Make room for `arriving`, or give up room that is not needed: a step's time grows with slots, source length
        and rings."""
        occupied = [slot for slot, running in enumerate(self.running) if running is not None]
        contents = [running.sentence.content for running in self.running if running is not None]
        contents += [sentence.content for sentence in arriving]
        if not contents:
            return
        longest, document = max(content.length for content in contents), document_layout(contents)
        positions = min(self._num_positions(), self._most_ring)
        room = Room(
            slots=fitting(len(contents), self.state.slots, round_up_slots(len(contents), self.max_slots)),
            source_length=fitting(longest, self.state.source_length, -(-longest // 8) * 8),
            ring=fitting(positions, self.state.capacity, ring_capacity_for(positions, self._most_ring)),
        )
        if room != self._room or not suits(self.state.memory, document):
            self._resize(room, document, occupied)

    @property
    def _room(self) -> Room:
        return Room(self.state.slots, self.state.source_length, self.state.capacity)

    def _num_positions(self) -> int:
        """How many positions the sentence that is furthest has after the next step."""
        return int(self.state.position.max()) + 1

    def lengthen_rings(self) -> None:
        """Before a step: make room for the next position of the sentence that is furthest. If that fails, nothing has
        changed."""
        if self.state.clock < self._ring_limit:
            return
        ring = ring_capacity_for(self._num_positions(), self._most_ring)
        if ring <= self.state.capacity:  # the sentence that was furthest has left
            self._watch_rings()
            return
        occupied = [slot for slot, running in enumerate(self.running) if running is not None]
        self._resize(self._room._replace(ring=ring), self.state.memory.document, occupied)

    def past_the_rings(self) -> list[int]:
        """Slots of sentences that longer rings are needed for."""
        past: list[int] = np.flatnonzero(self.state.position >= self.state.capacity).tolist()
        return past

    def admit(self, sentence: EncodedSentence) -> None:
        """Seat a sentence in a free slot, for which `fit` has made room; it takes part in the next step. Raises
        ValueError when its prefix leaves no room for a translation; then the slot is free as before."""
        slot = self.running.index(None)
        options, prefix = sentence.request.options, sentence.request.prefix
        limit = options.length_limit(len(sentence.request.source_ids), len(prefix))
        max_length = max(1, min(limit, self.max_target_length) - self.forces_eos)
        if len(prefix) >= max_length:
            raise ValueError(f"a prefix of {len(prefix)} tokens leaves no room within {max_length}")
        try:
            self.state.admit(slot, sentence.content, self.ids.bos, options.beam_size)
        except Exception:
            self.state.release(slot)
            raise
        self.beam_size[slot] = options.beam_size
        self.max_length[slot] = max_length
        self.num_ended[slot] = 0
        if prefix:
            self._forced.add(slot)
        self._first_limit = min(self._first_limit, self.state.clock + int(self.max_length[slot]))
        self.running[slot] = Running(sentence, self.state.clock)
        self.fresh.append(sentence.request)
        self.num_running += 1

    def step(self) -> None:
        """Run the graph once: candidates and the following rows are in the state afterwards."""
        self._step()

    def advance(self) -> list[int]:
        """After a step: keep the hypotheses that ended, move to the next tokens. Returns the slots whose search is
        over."""
        state = self.state
        endings = ended(state.candidates, self.beam_size, self.ids.eos)
        for slot, rank in endings:
            if slot not in self._forced:
                self._end(slot, rank)
        for slot in tuple(self._forced):
            self._force(slot)
        self._history.add(state.clock, state.following)
        state.tick()
        if not endings and state.clock < self._first_limit:
            return []
        over = is_complete(self.num_ended, self.beam_size, state.position, self.max_length) & (state.is_running > 0)
        going_on = np.flatnonzero(~over & (state.is_running > 0))
        left = self.max_length[going_on] - state.position[going_on]
        self._first_limit = state.clock + int(left.min()) if len(left) else sys.maxsize
        complete: list[int] = np.flatnonzero(over).tolist()
        return complete

    def _force(self, slot: int) -> None:
        """Let the slot's only row take the next token of the prefix, whatever the candidates are, with its score
        unchanged at 0."""
        running = self.running[slot]
        assert running is not None
        prefix, at, rows = running.sentence.request.prefix, int(self.state.position[slot]), self.state.following
        rows.token[slot], rows.parent[slot] = prefix[at], 0
        rows.score[slot], rows.score[slot, 0] = DEAD_SCORE, 0
        if at + 1 == len(prefix):
            self._forced.remove(slot)

    def _end(self, slot: int, rank: int) -> None:
        running = self.running[slot]
        if running is None:
            return
        steps, score = int(self.state.position[slot]), float(self.state.candidates.score[slot, rank])
        request = running.sentence.request
        normalized = normalize(score, steps + 1 - len(request.prefix), request.options.length_penalty)
        running.endings.append(Ending(score, normalized, steps, int(self.state.candidates.parent[slot, rank])))
        self.num_ended[slot] += 1

    def hypotheses(self, slot: int) -> tuple[Hypothesis, ...]:
        """The best hypotheses of a search that is over: those that ended, then, if there are too few, rows cut at the
        maximum length. Where the model forces EOS there, cut rows rank among the others. Raises RuntimeError when
        there are none at all, because scores are not finite."""
        running = self.running[slot]
        assert running is not None
        options = running.sentence.request.options
        found, cut = running.endings, list[Ending]()
        if len(found) < options.beam_size:
            cut = self._cut(slot, running)
        if self.forces_eos:
            found, cut = found + cut, []
        best = (sorted(found, key=lambda ending: -ending.normalized) + cut)[: options.num_hypotheses]
        if not best:
            raise RuntimeError(
                f"model '{self.backend.manifest.name}' found no translation: its graphs gave scores that are no numbers"
            )
        steps = self._steps(slot, running)
        return tuple([self._hypothesis(steps, ending) for ending in best])

    def _cut(self, slot: int, running: Running) -> list[Ending]:
        """The live rows of a search that is over, as hypotheses cut at the maximum length."""
        request, steps = running.sentence.request, self.state.clock - running.first_clock
        options = request.options
        scores = [float(score) for score in self.state.current.score[slot, : options.beam_size]]
        length = steps + self.forces_eos - len(request.prefix)
        return [
            Ending(score, normalize(score, length, options.length_penalty), steps, beam, "length")
            for beam, score in enumerate(scores)
            if score > DEAD_SCORE / 2
        ]

    def _hypothesis(self, steps: Sequence[Choices], ending: Ending) -> Hypothesis:
        ids = backtrack(steps[: ending.steps], ending.parent)
        return Hypothesis(tuple(ids), ending.score, ending.normalized, ending.reason)

    def sure_beginning(self, slot: int) -> Sequence[int]:
        """Ids that the best hypothesis of a running sentence is sure to begin with: the common beginning of its live
        rows and of the best hypothesis that ended. Only the steps since the last call are read; the answer is not to be
        changed, and is good until the next step."""
        running = self.running[slot]
        assert running is not None
        if running.beginning is None:
            running.beginning = CommonBeginning(running.first_clock)
        beginning = running.beginning
        live = np.flatnonzero(self.state.current.score[slot] > DEAD_SCORE / 2).tolist()
        beginning.extend(self._history.of(slot, beginning.clock, self.state.clock), live)
        if running.endings:
            best = max(running.endings, key=lambda ending: ending.normalized)
            if not beginning.knows_ending(best):
                beginning.end(best, backtrack(self._steps(slot, running)[: best.steps], best.parent))
        return beginning.sure_ids(bool(live))

    def _steps(self, slot: int, running: Running) -> list[Choices]:
        """What a running sentence's rows chose in all of its steps."""
        return self._history.of(slot, running.first_clock, self.state.clock)

    def release(self, slot: int) -> Running:
        """Empty the slot; it can be seated again before the next step."""
        running = self.running[slot]
        assert running is not None
        self.running[slot] = None
        self.num_running -= 1
        self._forced.discard(slot)
        self.state.release(slot)
        self.beam_size[slot], self.max_length[slot], self.num_ended[slot] = 1, self.max_target_length, 0
        return running

    def check_integrity(self) -> None:
        """Raise AssertionError if slots, sentences and state disagree (called by tests after every step)."""
        assert len(self.running) == self.state.slots <= self.max_slots
        assert self.num_running == sum(running is not None for running in self.running)
        if self.state.capacity < self._most_ring:
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
                assert self.state.source_keep[slot].sum() == running.sentence.length
        assert rows.parent.min() >= 0
        assert rows.parent.max() < self.beam
