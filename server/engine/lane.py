"""A running batch: slots of equal beam width, the sentences in them, and the history of their beams."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from server.backends.base import Backend, Step
from server.backends.memory import Layout, document_layout, fits_document
from server.backends.state import DEAD_SCORE, DecoderState
from server.engine.batch_shape import (
    MIN_SOURCE,
    BatchShape,
    keep_or_round,
    min_slots,
    ring_capacity_for,
    round_up_slots,
    round_up_source,
)
from server.engine.beam import backtrack, finished_candidates
from server.engine.constraint import ConstrainedRows
from server.engine.history import Choices, History
from server.engine.lane_kind import LaneKind
from server.engine.past_shapes import BoundState, PastShapes
from server.engine.request import Hypothesis, SentenceRequest
from server.engine.running_sentence import EncodedSentence, FinishedHypothesis, RunningSentence
from server.engine.stable_prefix import StablePrefix
from server.engine.stopping_criteria import StoppingCriteria


class Lane:
    """Slots of one kind. Grows and shrinks with its sentences: steps run over `state.batch_size` slots, with rings as
    long as the running sentences need.

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
        self._stopping = StoppingCriteria(self.max_target_length)
        self._forced: set[int] = set()
        """Slots of sentences whose next token is given."""
        self._constrained: set[int] = set()
        """Slots of sentences in which words are forbidden."""
        self._resize(BatchShape(1, MIN_SOURCE, ring_capacity_for(1, self._max_ring)), document, [])
        memory = self.state.memory
        can_be_part = memory.runs_first_slots and not document
        self._min_slots = min(max_slots, min_slots(memory.ring_bytes + memory.source_bytes)) if can_be_part else 1

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
        self._stopping.resize(slots, keep)
        self.running = [self.running[slot] for slot in keep] + [None] * (slots - count)
        for slots_of in (self._forced, self._constrained):
            moved = {new for new, slot in enumerate(keep) if slot in slots_of}
            slots_of.clear()
            slots_of |= moved

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
        positions = min(self.state.num_ring_slots, self._max_ring)
        slots = round_up_slots(len(contents), self.max_slots, self.backend.device.kind)
        shape = BatchShape(
            slots=keep_or_round(len(contents), self.state.slots, max(self._min_slots, slots)),
            source_length=keep_or_round(longest, self.state.source_length, round_up_source(longest)),
            ring=keep_or_round(positions, self.state.capacity, ring_capacity_for(positions, self._max_ring)),
        )
        if shape != self._shape or not fits_document(self.state.memory, document):
            self._resize(shape, document, self._occupied())
        self._set_batch_size(len(contents))

    def _set_batch_size(self, size: int) -> None:
        """Let steps run over the first `size` slots, to which the sentences behind them move, where the memory allows
        it: an idle slot costs nearly as much as one in use."""
        if not self.state.memory.runs_first_slots:
            return
        for slot in self._occupied():
            if slot >= size:
                self._move(slot, self.running.index(None))
        self.state.batch_size = size

    def _move(self, source: int, target: int) -> None:
        """Move a sentence to a free slot."""
        running = self.running[source]
        assert running is not None
        self.running[target], self.running[source] = running, None
        self._history.move_slot(source, target, running.first_clock, self.state.clock)
        self._stopping.move_slot(source, target)
        self.state.move_slot(source, target)
        for slots_of in (self._forced, self._constrained):
            if source in slots_of:
                slots_of.remove(source)
                slots_of.add(target)

    @property
    def _shape(self) -> BatchShape:
        return BatchShape(self.state.slots, self.state.source_length, self.state.capacity)

    def _occupied(self) -> list[int]:
        return [slot for slot, running in enumerate(self.running) if running is not None]

    def grow_rings(self) -> None:
        """Before a step: lengthen the rings if a sentence has no room in them. If that fails, nothing has changed."""
        if self.state.lacks_room:
            ring = ring_capacity_for(self.state.num_ring_slots, self._max_ring)
            self._resize(self._shape._replace(ring=ring), self.state.memory.document, self._occupied())
            self._set_batch_size(self.num_running)

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
        self._stopping.admit(slot, options.beam_size, max_length, self.state.clock)
        if forced:
            self._forced.add(slot)
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
        state, stopping = self.state, self._stopping
        exhausted = [slot for slot in self._constrained if not self._constrain(slot)] if self._constrained else []
        finished = finished_candidates(state.candidates, stopping.beam_size, self.ids.eos)
        for slot, rank in finished:
            if slot not in self._forced:
                self._finish(slot, rank)
        for slot in exhausted:
            stopping.num_finished[slot] = stopping.beam_size[slot]
        for slot in tuple(self._forced):
            self._force(slot)
        self._history.add(state.clock, state.following)
        state.tick()
        if not (finished or exhausted) and state.clock < stopping.first_limit:
            return []
        return stopping.complete(state)

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
            self.state, slot, int(self._stopping.beam_size[slot]), self.ids.eos, bool(running.finished)
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
        candidates = self.state.candidates
        score, parent = float(candidates.score[slot, rank]), int(candidates.parent[slot, rank])
        running.finish(score, int(self.state.position[slot]), parent)
        self._stopping.num_finished[slot] += 1

    def hypotheses(self, slot: int) -> tuple[Hypothesis, ...]:
        """The best hypotheses of a complete search (see RunningSentence.best). Raises RuntimeError when there are none
        at all, because scores are not finite."""
        running = self.running[slot]
        assert running is not None
        scores, num_steps = self.state.current.score[slot], self.state.clock - running.first_clock
        best = running.best(scores, num_steps, self.forces_eos)
        if not best:
            raise RuntimeError(
                f"model '{self.backend.manifest.name}' found no translation: its graphs gave scores that are no numbers"
            )
        steps = self._steps(slot, running)
        return tuple([self._hypothesis(steps, hypothesis) for hypothesis in best])

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
        if running.stable_prefix is not None:
            running.stable_prefix.clear()
        self._forced.discard(slot)
        self._constrained.discard(slot)
        self.state.release(slot)
        self._stopping.release(slot)
        return running

    @property
    def ring_bytes(self) -> int:
        return self.state.memory.ring_bytes + self._past_shapes.ring_bytes

    @property
    def source_bytes(self) -> int:
        return self.state.memory.source_bytes + self._past_shapes.source_bytes
