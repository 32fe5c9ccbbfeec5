"""Beginnings that are told while a sentence is decoded."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.engine.beam import agreed, backtrack
from server.engine.lane import Lane
from server.engine.request import SearchOptions, SentenceRequest
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.runs import new_engine, random_source, run, translate

Told = list[tuple[int, ...]]


def listening(source: tuple[int, ...], options: SearchOptions) -> tuple[SentenceRequest, Told]:
    told: Told = []
    request = SentenceRequest(source, options)
    request.told = told.append
    return request, told


def slow_beginning(lane: Lane, slot: int) -> tuple[int, ...]:
    """The twin: every live row and the best ending, each from its first token on."""
    running = lane.running[slot]
    assert running is not None
    steps = lane._steps(slot, running)
    size = running.sentence.request.options.beam_size
    rows = [row for row in range(size) if lane.state.current.score[slot, row] > -1e29]
    hypotheses = [backtrack(steps, row) for row in rows]
    if running.endings:
        ending = sorted(running.endings, key=lambda one: -one.normalized)[0]
        hypotheses.append(backtrack(steps[: ending.steps], ending.parent))
    common: list[int] = []
    for tokens in zip(*hypotheses, strict=False):
        if len(set(tokens)) > 1:
            break
        common.append(tokens[0])
    return tuple(common)


@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 10_000), slots=st.sampled_from([1, 3, 8]))
def test_beginnings_grow_and_are_those_of_the_answer(load: LoadBackend, seed: int, slots: int) -> None:
    generator, backend = random.Random(seed), load("onnx", "fp32")
    engine = new_engine(backend, slots)
    sources = [random_source(generator) for _ in range(8)]
    options = [
        SearchOptions(beam, generator.choice([1, beam]), generator.choice([0.0, 1.0]), generator.choice([6, 40]))
        for beam in (1, 4, 4, 4, 3, 8, 4, 1)
    ]
    heard = [listening(source, option) for source, option in zip(sources, options, strict=True)]
    plain = [SentenceRequest(source, option) for source, option in zip(sources, options, strict=True)]
    engine.waiting.put([*(request for request, _ in heard), *plain])
    while not engine.is_idle:
        engine.step()
        for lane in engine.lanes.values():
            for slot, running in enumerate(lane.running):
                if running is not None:
                    assert lane.sure_beginning(slot) == slow_beginning(lane, slot)
    for (request, told), other, source, option in zip(heard, plain, sources, options, strict=True):
        best = request.future.result(timeout=0).hypotheses[0]
        assert other.future.result(timeout=0).hypotheses[0].ids == best.ids
        assert translate(backend, [source], option)[0].hypotheses[0].ids == best.ids
        assert all(best.ids[: len(ids)] == ids for ids in told)
        assert [len(ids) for ids in told] == sorted({len(ids) for ids in told} - {0})


def test_one_row_tells_every_token_as_it_comes(load: LoadBackend) -> None:
    request, told = listening((5, 6, 7, 8, 9, 3), SearchOptions(beam_size=1, max_length=12))
    engine = new_engine(load("onnx", "fp32"))
    engine.waiting.put([request])
    run(engine)
    ids = request.future.result(timeout=0).hypotheses[0].ids
    assert told == [ids[:count] for count in range(1, len(told) + 1)]
    assert len(told) >= len(ids) - 1


@pytest.mark.parametrize("rows", [[0], [0, 1], [0, 1, 2], [1, 2], []])
def test_agreed_is_what_rows_have_in_common(rows: list[int]) -> None:
    history = [([4, 5, 6], [0, 0, 0]), ([7, 8, 9], [0, 0, 1]), ([1, 2, 3], [1, 1, 0])]
    paths = [backtrack(history, row) for row in rows]
    common = [] if not paths else paths[0]
    while any(path[: len(common)] != common for path in paths):
        common = common[:-1]
    assert agreed(history, rows) == common
