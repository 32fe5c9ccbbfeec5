"""When a sentence comes makes no difference, to the last bit: where its past lies follows from its own position."""

from collections.abc import Callable

import pytest

from server.backends.base import Backend
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.runs import new_engine, run
from tests.server.engine.test_engine import some_sources
from tests.server.engine.test_scoring import long_target, score_request

Ask = Callable[[tuple[int, ...], int], SentenceRequest]
"""Of a source and a number of steps: a sentence that takes so many."""


def search(source: tuple[int, ...], steps: int) -> SentenceRequest:
    return SentenceRequest(source, SearchOptions(beam_size=3, num_hypotheses=3, max_length=steps))


def score(source: tuple[int, ...], steps: int) -> SentenceRequest:
    return score_request(source, [long_target(steps, seed) for seed in range(3)])


def after(backend: Backend, earlier: SentenceRequest | None, request: SentenceRequest) -> SentenceResult:
    """The result of a sentence that takes the slot where an earlier one sat."""
    engine = new_engine(backend, slots=1)
    engine.queue.put([request] if earlier is None else [earlier, request])
    run(engine)
    return request.future.result(timeout=0)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("ask", [search, score])
def test_a_sentence_has_the_same_bits_whenever_it_comes(load: LoadBackend, ask: Ask, precision: str) -> None:
    """Sums of floats depend on the order of what is added: of the ring's entries, here. At int8 a last bit that differs
    now and then takes a number to the next level."""
    backend = load("onnx", precision, "on")
    backend.prepare_scores()
    capacity = backend.manifest.ring_capacity
    for source in some_sources(4, seed=6):
        first = after(backend, None, ask(source, 30))
        for steps in range(1, capacity + 1):
            assert after(backend, ask(source, steps), ask(source, 30)).hypotheses == first.hypotheses
