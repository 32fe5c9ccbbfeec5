"""Beginnings that are told while a sentence is decoded."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.engine.beam import backtrack
from server.engine.beginnings import CommonBeginning
from server.engine.history import Choices, History
from server.engine.lane import Lane
from server.engine.request import SearchOptions, SentenceRequest
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.runs import new_engine, random_source, run, translate
from tests.server.engine.test_engine import some_sources

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
                    assert tuple(lane.sure_beginning(slot)) == slow_beginning(lane, slot)
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


def common(steps: list[Choices], rows: list[int]) -> list[int]:
    """The slow twin of CommonBeginning: the whole path of every row, compared."""
    paths = [backtrack(steps, row) for row in rows]
    longest = paths[0] if paths else []
    while any(path[: len(longest)] != longest for path in paths):
        longest = longest[:-1]
    return longest


@settings(deadline=None, max_examples=200)
@given(data=st.data(), beam=st.integers(1, 4), length=st.integers(0, 12))
def test_any_search_however_often_it_is_asked(data: st.DataObject, beam: int, length: int) -> None:
    """Rows that are not live stand for nothing: their tokens and parents are arbitrary."""
    beginning, steps, live = CommonBeginning(5), list[Choices](), [0]
    for number in range(length):
        chosen = data.draw(st.lists(st.sampled_from(live), min_size=1, max_size=beam), label="parents")
        parents = [*chosen, *data.draw(st.lists(st.integers(0, beam - 1), min_size=beam, max_size=beam))][:beam]
        rows = data.draw(st.permutations(range(beam)))
        tokens = [100 * number + place for place in range(beam)]
        steps.append((tokens, [parents[rows[row]] for row in range(beam)]))
        live = [row for row in range(beam) if rows[row] < len(chosen)]
        if data.draw(st.booleans(), label="is asked"):
            beginning.extend(steps[beginning.clock - 5 :], live)
            assert beginning.ids == common(steps, live)
    beginning.extend(steps[beginning.clock - 5 :], live)
    assert beginning.ids == common(steps, live)


def work(load: LoadBackend, length: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Steps that are read from the history for listeners of sentences with `length` tokens, and a step a token."""
    read, of = 0, History.of

    def counted(history: History, slot: int, first: int, end: int) -> list[Choices]:
        nonlocal read
        read += end - first
        return of(history, slot, first, end)

    with monkeypatch.context() as patch:
        patch.setattr(History, "of", counted)
        engine = new_engine(load("onnx", "fp32"), slots=4)
        requests = [listening(source, SearchOptions(2, max_length=length))[0] for source in some_sources(4)]
        engine.waiting.put(requests)
        run(engine)
    decoded = sum(request.future.result(timeout=0).hypotheses[0].num_tokens for request in requests)
    assert decoded > 2 * length
    return read


def test_a_listener_costs_what_is_new_in_every_step(load: LoadBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the tokens are twice the work: a history that is read again in every step would be four times."""
    short, long = work(load, 15, monkeypatch), work(load, 60, monkeypatch)
    assert long < 8 * short, (short, long)


def test_rows_that_stay_apart_cost_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hypotheses that differ from their first token on: who looked for where they part would walk all of them."""
    made = dropped = 0
    drop = CommonBeginning._drop

    def counted(beginning: CommonBeginning, node: Any) -> None:
        nonlocal dropped
        dropped += 1
        drop(beginning, node)

    monkeypatch.setattr(CommonBeginning, "_drop", counted)
    beginning = CommonBeginning(0)
    for number in range(1000):
        made += 2
        beginning.extend([([2 * number, 2 * number + 1], [0, 1 if number else 0])], [0, 1])
    assert beginning.ids == []
    assert dropped <= made
    beginning.extend([([7, 7], [1, 1])], [0])
    assert beginning.ids == [*range(1, 2000, 2), 7]
