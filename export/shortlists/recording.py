"""Greedy translations with the best candidates of every step, by the server's own engine."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from server.backends.base import Backend
from server.backends.memory import Layout
from server.engine.engine import Engine
from server.engine.lane import Lane
from server.engine.lane_kind import LaneKind
from server.engine.request import SearchOptions, SentenceRequest
from server.engine.synchronous import run_now

BEAM = 4
"""Rows of a slot, of which one is alive: a step has twice as many candidates."""
Ids = Sequence[int]


class RecordedRequest(SentenceRequest):
    """A sentence, and the candidates of each of its steps, best first: token and log-probability, each [2 * BEAM]."""

    def __init__(self, source_ids: tuple[int, ...], options: SearchOptions) -> None:
        super().__init__(source_ids, options)
        self.steps: list[tuple[NDArray[np.int64], NDArray[np.float32]]] = []


class RecordingLane(Lane):
    """A lane of greedy searches that writes the candidates of all steps to their requests."""

    def advance(self) -> list[int]:
        state = self.state
        tokens, scores = state.candidates.token.copy(), state.candidates.score - state.current.score[:, :1]
        for slot, running in enumerate(self.running):
            if running is not None and isinstance(running.sentence.request, RecordedRequest):
                running.sentence.request.steps.append((tokens[slot], scores[slot]))
        return super().advance()


class RecordingEngine(Engine):
    """An engine of recording lanes."""

    def new_lane(self, kind: LaneKind, document: Mapping[str, Layout]) -> Lane:
        return RecordingLane(self.backend, BEAM, self.slots, document)


class Translation:
    """A greedy translation of `source` (ids with what begins and ends it): `target` without EOS, and the best
    candidates for each of its pieces, `tokens` and `log_probabilities` [piece, 2 * BEAM]."""

    def __init__(self, request: RecordedRequest, start_length: int) -> None:
        self.source = request.source_ids
        self.target = request.future.result().hypotheses[0].ids
        steps = request.steps[start_length : start_length + len(self.target)]
        self.tokens = np.array([tokens for tokens, _ in steps], np.int64).reshape(len(steps), 2 * BEAM)
        self.log_probabilities = np.array([scores for _, scores in steps]).reshape(len(steps), 2 * BEAM)


def translations(backend: Backend, sources: Sequence[tuple[int, ...]]) -> list[Translation]:
    """Greedy translations of `sources`, in their order. Raises what the engine raises."""
    manifest = backend.manifest
    options = SearchOptions(1, max_length=manifest.max_target_length, follows_source=True)
    requests = [RecordedRequest(source, options) for source in sources]
    run_now(backend, requests, RecordingEngine)
    return [Translation(request, manifest.start_length) for request in requests]
