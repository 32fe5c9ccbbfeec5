"""Stable prefixes that are reported while a sentence is decoded."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.engine.beam import backtrack
from server.engine.history import Choices, History
from server.engine.lane import Lane
from server.engine.request import SearchOptions, SentenceRequest
from server.engine.stable_prefix import StablePrefix
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.runs import new_engine, random_source, run, translate
from tests.server.engine.test_engine import some_sources

Partials = list[tuple[int, ...]]


def with_callback(source: tuple[int, ...], options: SearchOptions) -> tuple[SentenceRequest, Partials]:
    partials: Partials = []
    request = SentenceRequest(source, options)
    request.on_partial = partials.append
    return request, partials


def slow_prefix(lane: Lane, slot: int) -> tuple[int, ...]:
    """The slow reference: every live row and the best finished hypothesis, each from its first token on."""
    running = lane.running[slot]
    assert running is not None
    steps = lane._steps(slot, running)
    size = running.sentence.request.options.beam_size
    rows = [row for row in range(size) if lane.state.current.score[slot, row] > -1e29]
    hypotheses = [backtrack(steps, row) for row in rows]
    if running.finished:
        best = sorted(running.finished, key=lambda hypothesis: -hypothesis.normalized)[0]
        hypotheses.append(backtrack(steps[: best.steps], best.parent))
    common: list[int] = []
    for tokens in zip(*hypotheses, strict=False):
        if len(set(tokens)) > 1:
            break
        common.append(tokens[0])
    return tuple(common)


@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 10_000), slots=st.sampled_from([1, 3, 8]))
def test_partial_results_grow_and_are_prefixes_of_the_result(load: LoadBackend, seed: int, slots: int) -> None:
    generator, backend = random.Random(seed), load("onnx", "fp32")
    engine = new_engine(backend, slots)
    sources = [random_source(generator) for _ in range(8)]
    options = [
        SearchOptions(beam, generator.choice([1, beam]), generator.choice([0.0, 1.0]), generator.choice([6, 40]))
        for beam in (1, 4, 4, 4, 3, 8, 4, 1)
    ]
    reported = [with_callback(source, option) for source, option in zip(sources, options, strict=True)]
    plain = [SentenceRequest(source, option) for source, option in zip(sources, options, strict=True)]
    engine.queue.put([*(request for request, _ in reported), *plain])
    while not engine.is_idle:
        engine.step()
        for lane in engine.lanes.values():
            for slot, running in enumerate(lane.running):
                if running is not None:
                    assert tuple(lane.stable_prefix(slot)) == slow_prefix(lane, slot)
    for (request, partials), other, source, option in zip(reported, plain, sources, options, strict=True):
        best = request.future.result(timeout=0).hypotheses[0]
        assert other.future.result(timeout=0).hypotheses[0].ids == best.ids
        assert translate(backend, [source], option)[0].hypotheses[0].ids == best.ids
        assert all(best.ids[: len(ids)] == ids for ids in partials)
        assert [len(ids) for ids in partials] == sorted({len(ids) for ids in partials} - {0})


def test_a_beam_of_one_reports_every_token(load: LoadBackend) -> None:
    request, partials = with_callback((5, 6, 7, 8, 9, 3), SearchOptions(beam_size=1, max_length=12))
    engine = new_engine(load("onnx", "fp32"))
    engine.queue.put([request])
    run(engine)
    ids = request.future.result(timeout=0).hypotheses[0].ids
    assert partials == [ids[:count] for count in range(1, len(partials) + 1)]
    assert len(partials) >= len(ids) - 1


def common(steps: list[Choices], rows: list[int]) -> list[int]:
    """The slow reference of StablePrefix: the whole path of every row, compared."""
    paths = [backtrack(steps, row) for row in rows]
    longest = paths[0] if paths else []
    while any(path[: len(longest)] != longest for path in paths):
        longest = longest[:-1]
    return longest


@settings(deadline=None, max_examples=200)
@given(data=st.data(), beam=st.integers(1, 4), length=st.integers(0, 12))
def test_any_search_at_any_frequency_of_calls(data: st.DataObject, beam: int, length: int) -> None:
    """Tokens and parents of rows that are not live are arbitrary."""
    prefix, steps, live = StablePrefix(5), list[Choices](), [0]
    for number in range(length):
        chosen = data.draw(st.lists(st.sampled_from(live), min_size=1, max_size=beam), label="parents")
        parents = [*chosen, *data.draw(st.lists(st.integers(0, beam - 1), min_size=beam, max_size=beam))][:beam]
        rows = data.draw(st.permutations(range(beam)))
        tokens = [100 * number + place for place in range(beam)]
        steps.append((tokens, [parents[rows[row]] for row in range(beam)]))
        live = [row for row in range(beam) if rows[row] < len(chosen)]
        if data.draw(st.booleans(), label="is called"):
            prefix.extend(steps[prefix.clock - 5 :], live)
            assert prefix.ids == common(steps, live)
    prefix.extend(steps[prefix.clock - 5 :], live)
    assert prefix.ids == common(steps, live)


def work(load: LoadBackend, length: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Steps that are read from the history for sentences of `length` tokens with a callback, and one step a token."""
    read, of = 0, History.of

    def counted(history: History, slot: int, first: int, end: int) -> list[Choices]:
        nonlocal read
        read += end - first
        return of(history, slot, first, end)

    with monkeypatch.context() as patch:
        patch.setattr(History, "of", counted)
        engine = new_engine(load("onnx", "fp32"), slots=4)
        requests = [with_callback(source, SearchOptions(2, max_length=length))[0] for source in some_sources(4)]
        engine.queue.put(requests)
        run(engine)
    decoded = sum(request.future.result(timeout=0).hypotheses[0].num_tokens for request in requests)
    assert decoded > 2 * length
    return read


def test_the_cost_of_a_callback_is_linear_in_the_tokens(load: LoadBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times the tokens are four times the work; reading the whole history in every step would be sixteen times."""
    short, long = work(load, 15, monkeypatch), work(load, 60, monkeypatch)
    assert long < 8 * short, (short, long)


def test_rows_without_a_common_prefix_cost_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hypotheses that differ from their first token on: a search for their common ancestor would walk all steps."""
    created = pruned = 0
    prune = StablePrefix._prune

    def counted(prefix: StablePrefix, node: Any) -> None:
        nonlocal pruned
        pruned += 1
        prune(prefix, node)

    monkeypatch.setattr(StablePrefix, "_prune", counted)
    prefix = StablePrefix(0)
    for number in range(1000):
        created += 2
        prefix.extend([([2 * number, 2 * number + 1], [0, 1 if number else 0])], [0, 1])
    assert prefix.ids == []
    assert pruned <= created
    prefix.extend([([7, 7], [1, 1])], [0])
    assert prefix.ids == [*range(1, 2000, 2), 7]
