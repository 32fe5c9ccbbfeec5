"""A running batch that scores given translations: forced decoding through the same rings and slots as a search."""

import math

import numpy as np

from server.backends.base import Step
from server.backends.state import DecoderState, Floats
from server.engine.beam import normalize
from server.engine.lane import Lane
from server.engine.request import Hypothesis
from server.engine.running_sentence import EncodedSentence


class ScoringLane(Lane):
    """A slot is a sentence, its rows are given translations of it. Every row takes its own next token, however
    unlikely; the step graph scores the whole vocabulary."""

    is_scoring = True

    def _bind(self, state: DecoderState) -> Step:
        score = self.backend.bind_scores(state)

        def step() -> None:
            self._log_probabilities: Floats = score()

        return step

    def admit(self, sentence: EncodedSentence) -> None:
        super().admit(sentence)
        self.awaiting_first_token.clear()  # it decodes no first token

    def advance(self) -> list[int]:
        """After a step: every row records the log-probability of its next token and takes it. Returns the slots that
        are complete."""
        following, complete = self.state.following, []
        following.parent[:] = np.arange(self.beam)
        following.score[:] = self.state.current.score
        for slot, running in enumerate(self.running):
            if running is None:
                continue
            request, position = running.sentence.request, int(self.state.position[slot])
            if position == 0:
                running.log_probabilities = [[] for _ in request.targets]
            if position < self.start_length:
                following.token[slot] = request.source_ids[position]
                continue
            place = position - self.start_length
            for row, target in enumerate(request.targets):
                if place < len(target):
                    log_probability = float(self._log_probabilities[slot, row, target[place]])
                    running.log_probabilities[row].append(log_probability)
                    following.token[slot, row] = target[place]
            if place + 1 >= max(map(len, request.targets)):
                complete.append(slot)
        self.state.tick()
        return complete

    def hypotheses(self, slot: int) -> tuple[Hypothesis, ...]:
        """One for every given translation, in their order. Raises RuntimeError for log-probabilities that are no finite
        numbers."""
        running = self.running[slot]
        assert running is not None
        request, hypotheses = running.sentence.request, []
        for target, log_probabilities in zip(request.targets, running.log_probabilities, strict=True):
            score = sum(log_probabilities)
            if not math.isfinite(score):
                raise RuntimeError(
                    f"model '{self.backend.manifest.name}' scored a translation with a value that is no finite number: "
                    "its graphs are broken, or compute wrong results on this machine"
                )
            length = self.start_length + len(target)
            normalized = normalize(score, length, request.options.length_penalty)
            hypotheses.append(Hypothesis(target[:-1], score, normalized, "eos", tuple(log_probabilities)))
        return tuple(hypotheses)
