"""Translations with a given prefix: the engine against the reference search, alone and in any batch."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.reference_search import ReferenceHypothesis, reference_search
from model.translation_model import TranslationModel
from server.backends.load import UseShortlist, load_backend
from server.engine.coalescing import key_of
from server.engine.request import Cancelled, SearchOptions, SentenceRequest, SentenceResult
from tests.graphs import ranges_of_random_words, write_graphs
from tests.models import lively_model, tiny_config
from tests.reference.int8 import at_int8
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.runs import Arrival, listed_words, new_engine, play, random_arrival, random_source, run

Ids = tuple[int, ...]
OPTIONS = [SearchOptions(beam, beam, 0.3 * beam, 24) for beam in range(1, 9)]
WAYS: list[tuple[str, str, UseShortlist]] = [
    ("onnx", "fp32", "off"),
    ("onnx", "fp32", "on"),
    ("onnx", "int8", "off"),
    ("onnx", "int8", "on"),
    ("torchscript", "fp32", "off"),
    ("torchscript", "fp32", "on"),
]


def random_prefix(generator: random.Random, longest: int = 10) -> Ids:
    """Any words, the unknown one (1) and ones that no shortlist has among them."""
    return tuple(generator.choice([1, *range(4, 320)]) for _ in range(generator.randrange(longest + 1)))


def some_pairs(seed: int, count: int = 5) -> list[tuple[Ids, Ids]]:
    """Sources with prefixes, longer than the ring among them."""
    generator = random.Random(seed)
    return [(random_source(generator), random_prefix(generator)) for _ in range(count)]


def check(result: SentenceResult, expected: list[ReferenceHypothesis], prefix: Ids, tolerance: float = 1e-3) -> None:
    assert [h.ids for h in result.hypotheses] == [h.ids for h in expected]
    assert [h.finish_reason for h in result.hypotheses] == [h.finish_reason for h in expected]
    for ours, theirs in zip(result.hypotheses, expected, strict=True):
        assert ours.ids[: len(prefix)] == prefix
        assert ours.score == pytest.approx(theirs.score, abs=tolerance)
        assert ours.normalized_score == pytest.approx(theirs.normalized_score, abs=tolerance)


@pytest.mark.parametrize("way", [way for way in WAYS if way[1] == "fp32"], ids="-".join)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: f"beam{options.beam_size}")
def test_equals_the_reference_search(
    load: LoadBackend, tiny_model: TranslationModel, way: tuple[str, str, UseShortlist], options: SearchOptions
) -> None:
    """Also over a shortlist, which need not contain the prefix."""
    backend, pairs = load(*way), some_pairs(options.beam_size)
    arrivals = [Arrival(0, source, options, prefix=prefix) for source, prefix in pairs]
    outside = 0
    for (source, prefix), request in zip(pairs, play(backend, arrivals, slots=4), strict=True):
        words = None
        if way[2] == "on":
            words = listed_words(backend, source)
            outside += len(set(prefix) - set(words))
        expected = reference_search(
            tiny_model,
            list(source),
            options.beam_size,
            options.num_hypotheses,
            options.length_penalty,
            options.max_length,
            words,
            prefix,
        )
        check(request.future.result(timeout=0), expected, prefix)
    assert outside > 0 or way[2] == "off"


def test_equals_the_reference_search_at_int8(tmp_path: Path) -> None:
    model = lively_model(tiny_config(max_length=40))
    backend = load_backend(write_graphs(model, tmp_path, ("onnx", "int8")), "onnx", "int8")
    twin, same = at_int8(model, ranges_of_random_words(model)), 0
    for options in OPTIONS:
        pairs = some_pairs(options.beam_size, count=2)
        arrivals = [Arrival(0, source, options, prefix=prefix) for source, prefix in pairs]
        for (source, prefix), request in zip(pairs, play(backend, arrivals, slots=2), strict=True):
            [best, *_] = reference_search(
                twin, list(source), options.beam_size, 1, options.length_penalty, options.max_length, prefix=prefix
            )
            result = request.future.result(timeout=0).hypotheses[0]
            assert result.ids[: len(prefix)] == prefix
            assert result.normalized_score == pytest.approx(best.normalized_score, abs=0.05)
            same += result.ids == best.ids
    assert same >= 15, "of 16: sums of floats that differ in their last bits may take another level"


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10_000), slots=st.sampled_from([1, 2, 5, 16]), way=st.sampled_from(WAYS[:4]))
def test_a_sentence_with_a_prefix_is_the_same_alone_and_in_any_company(
    load: LoadBackend, seed: int, slots: int, way: tuple[str, str, UseShortlist]
) -> None:
    """Among sentences with and without a prefix, which arrive and leave meanwhile."""
    generator, backend = random.Random(seed), load(*way)
    arrivals = [
        random_arrival(generator, prefix=random_prefix(generator) if generator.random() < 0.6 else ())
        for _ in range(30)
    ]
    for arrival, request in zip(arrivals, play(backend, arrivals, slots), strict=True):
        [alone] = play(backend, [Arrival(0, arrival.source, arrival.options, prefix=arrival.prefix)], slots=1)
        error = request.future.exception(timeout=0)
        if isinstance(error, Cancelled):
            assert arrival.cancel_after is not None
            continue
        ours, theirs = request.future.result().hypotheses, alone.future.result().hypotheses
        assert [h.ids for h in ours] == [h.ids for h in theirs]
        assert ours[0].ids[: len(arrival.prefix)] == arrival.prefix
        for hypothesis, expected in zip(ours, theirs, strict=True):
            assert hypothesis.score == pytest.approx(expected.score, abs=1e-4)


def test_the_best_translation_forced_to_its_own_beginning_is_itself(load: LoadBackend) -> None:
    """With a beam of one there is nothing else to find."""
    backend, generator = load("onnx", "fp32"), random.Random(3)
    options = SearchOptions(beam_size=1, max_length=30)
    for _ in range(8):
        source = random_source(generator)
        [free] = play(backend, [Arrival(0, source, options)], slots=1)
        ids = free.future.result().hypotheses[0].ids
        for length in range(len(ids)):
            [forced] = play(backend, [Arrival(0, source, options, prefix=ids[:length])], slots=1)
            assert forced.future.result().hypotheses[0].ids == ids


def test_a_prefix_as_long_as_the_limit_fails_no_other_sentence(load: LoadBackend) -> None:
    engine = new_engine(load("onnx", "fp32"), slots=4)
    options = SearchOptions(max_length=8)
    long, short = (SentenceRequest((5, 6, 3), options, prefix=(7,) * length) for length in (8, 7))
    engine.queue.put([long, short])
    run(engine)
    with pytest.raises(ValueError, match="a prefix of 8 tokens leaves no room within 8"):
        long.future.result(timeout=0)
    assert short.future.result(timeout=0).hypotheses[0].num_tokens == 8


def test_a_limit_that_follows_the_source_counts_after_the_prefix() -> None:
    options = SearchOptions(max_length=100, follows_source=True)
    assert options.length_limit(4) == 32
    assert options.length_limit(4, prefix_length=30) == 62
    assert options.length_limit(4, prefix_length=90) == 100


def test_partial_results_begin_with_the_prefix(load: LoadBackend) -> None:
    prefix, partials = (7, 8, 9, 10, 11), list[Ids]()
    request = SentenceRequest((5, 6, 3), SearchOptions(max_length=20), prefix=prefix)
    request.on_partial = partials.append
    engine = new_engine(load("onnx", "fp32"))
    engine.queue.put([request])
    run(engine)
    assert [ids[: len(prefix)] for ids in partials[:5]] == [prefix[: n + 1] for n in range(5)]
    assert len(partials) > 5


def test_the_cache_key_contains_the_prefix() -> None:
    keys = {key_of(SentenceRequest((5, 3), SearchOptions(), prefix=prefix)) for prefix in ((), (7,), (7, 8))}
    assert len(keys) == 3
