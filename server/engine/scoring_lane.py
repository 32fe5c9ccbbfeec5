"""A running batch that scores given translations: forced decoding through the same rings and slots as a search."""

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from server.backends.base import Backend, ScoreStep
from server.backends.memory import Layout
from server.backends.state import DecoderState, Floats
from server.engine.batch_shape import Room
from server.engine.beam import normalize
from server.engine.lane import EncodedSentence, Lane
from server.engine.request import Hypothesis


class ScoringLane(Lane):
    """A slot is a sentence, its rows are given translations of it. Every row takes its own next token, however
    unlikely; the step graph scores the whole vocabulary."""

    def __init__(
        self, backend: Backend, beam: int, max_slots: int, document: Mapping[str, Layout] = MappingProxyType({})
    ) -> None:
        super().__init__(backend, beam, max_slots, document)
        self.kind = self.kind._replace(scores=True)

    def _new_state(self, room: Room, document: Mapping[str, Layout]) -> DecoderState:
        return self.backend.new_state(
            room.slots, self.beam, room.source_length, document, scores=True, capacity=room.ring
        )

    def _bind(self, state: DecoderState) -> None:
        self._score: ScoreStep = self.backend.bind_scores(state)

    def admit(self, sentence: EncodedSentence) -> None:
        super().admit(sentence)
        self.fresh.clear()  # It decodes no first token.

    def step(self) -> None:
        self._log_probabilities: Floats = self._score()

    def advance(self) -> list[int]:
        """Every row notes the log-probability of its next token and takes it. Returns the slots that are complete."""
        following, complete = self.state.following, []
        following.parent[:] = np.arange(self.beam)
        following.score[:] = self.state.current.score
        for slot, running in enumerate(self.running):
            if running is None:
                continue
            at, targets = int(self.state.position[slot]), running.sentence.request.targets
            if at == 0:
                running.log_probabilities = [[] for _ in targets]
            for row, target in enumerate(targets):
                if at < len(target):
                    running.log_probabilities[row].append(float(self._log_probabilities[slot, row, target[at]]))
                    following.token[slot, row] = target[at]
            if at + 1 >= max(map(len, targets)):
                complete.append(slot)
        self.state.tick()
        return complete

    def hypotheses(self, slot: int) -> tuple[Hypothesis, ...]:
        """One for every given translation, in their order. Raises RuntimeError for log-probabilities that are no finite
        numbers."""
        running = self.running[slot]
        assert running is not None
        request, found = running.sentence.request, []
        for target, each in zip(request.targets, running.log_probabilities, strict=True):
            score = sum(each)
            if not math.isfinite(score):
                raise RuntimeError(
                    f"model '{self.backend.manifest.name}' scored a translation with what is no finite number: its "
                    "graphs are broken, or do not compute on this machine what they should"
                )
            normalized = normalize(score, len(target), request.options.length_penalty)
            found.append(Hypothesis(target[:-1], score, normalized, "eos", tuple(each)))
        return tuple(found)
