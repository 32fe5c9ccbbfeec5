"""Searches in which words are forbidden: the engine against the reference search, alone and in any batch."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.reference_search import reference_search
from model.translation_model import TranslationModel
from server.backends.load import UseShortlist
from server.engine.coalescing import CoalescedSearch, key_of
from server.engine.constraint import State
from server.engine.request import SearchOptions, SentenceRequest
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.runs import Arrival, listed_words, play, random_arrival, random_source
from tests.server.engine.test_prefix import check, random_prefix

EOS: Final = 3
WAYS: list[tuple[str, str, UseShortlist, int]] = [
    ("onnx", "fp32", "off", 1),
    ("onnx", "fp32", "on", 3),
    ("onnx", "fp32", "off", 4),
    ("onnx", "fp32", "on", 8),
    ("torchscript", "fp32", "off", 2),
    ("torchscript", "fp32", "on", 3),
]
"""Runtime, precision, shortlist and beam size."""


@dataclass(frozen=True)
class ForbiddenPairs:
    """No word of `words` anywhere, and none of `pairs` after a word that is as even or odd as it is."""

    words: frozenset[int] = frozenset()
    pairs: frozenset[int] = frozenset()

    @property
    def key(self) -> tuple[tuple[int, ...], ...]:
        return tuple(sorted(self.words)), tuple(sorted(self.pairs))

    def start(self) -> State:
        return 1

    def after(self, state: State, token: int) -> State | None:
        assert isinstance(state, int)
        return None if token in self.words or (token in self.pairs and (state - token) % 2 == 0) else token

    def permits(self, ids: Sequence[int], token: int) -> bool:
        """The same, from the ids themselves; after a token that was taken although it is forbidden, all is new."""
        state = self.start()
        for index in ids:
            following = self.after(state, index)
            state = self.start() if following is None else following
        return self.after(state, token) is not None


def random_constraint(generator: random.Random) -> ForbiddenPairs:
    """From few words to so many that nothing may continue; EOS among them at times."""
    share, words = generator.choice([0.05, 0.5, 0.9, 1.0]), [EOS, *range(4, 320)]
    return ForbiddenPairs(
        frozenset(word for word in words if generator.random() < share / 2),
        frozenset(word for word in words if generator.random() < share),
    )


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(map(str, way)))
def test_equals_the_reference_search(
    load: LoadBackend, tiny_model: TranslationModel, way: tuple[str, str, UseShortlist, int]
) -> None:
    runtime, precision, shortlist, beam = way
    backend, generator = load(runtime, precision, shortlist), random.Random(beam)
    options = SearchOptions(beam, beam, 0.3 * beam, 14)
    arrivals = [
        Arrival(
            0,
            random_source(generator),
            options,
            prefix=random_prefix(generator, 4) if generator.random() < 0.3 else (),
            constraint=random_constraint(generator),
        )
        for _ in range(6)
    ]
    changed = 0
    for arrival, request in zip(arrivals, play(backend, arrivals, slots=4), strict=True):
        words = None
        if shortlist == "on":
            words = listed_words(backend, arrival.source)
        assert isinstance(arrival.constraint, ForbiddenPairs)
        given = (list(arrival.source), beam, beam, options.length_penalty, 14, words, arrival.prefix)
        expected = reference_search(tiny_model, *given, arrival.constraint.permits)
        check(request.future.result(timeout=0), expected, arrival.prefix)
        changed += expected != reference_search(tiny_model, *given)
    assert changed >= 3, "the constraints change something"


@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 10_000), slots=st.sampled_from([1, 2, 5, 16]))
def test_a_constrained_sentence_is_the_same_alone_and_in_any_company(load: LoadBackend, seed: int, slots: int) -> None:
    """Among sentences with and without a constraint, which arrive and leave meanwhile; these are as ever."""
    generator, backend = random.Random(seed), load("onnx", "int8", "on")
    arrivals = [
        random_arrival(generator, constraint=random_constraint(generator) if generator.random() < 0.6 else None)
        for _ in range(30)
    ]
    alone = [
        play(backend, [Arrival(0, a.source, a.options, constraint=a.constraint)], slots=1)[0] for a in arrivals[:10]
    ]
    for request, single in zip(play(backend, arrivals, slots)[:10], alone, strict=True):
        if not request.is_cancelled or (request.future.done() and request.future.exception() is None):
            together, by_itself = request.future.result(timeout=0), single.future.result(timeout=0)
            assert [h.ids for h in together.hypotheses] == [h.ids for h in by_itself.hypotheses]


def test_what_forbids_nothing_changes_nothing(load: LoadBackend) -> None:
    backend, generator = load("onnx", "int8", "on"), random.Random(3)
    options = SearchOptions(4, 4, max_length=20)
    sources = [random_source(generator) for _ in range(6)]
    free = play(backend, [Arrival(0, source, options) for source in sources], slots=3)
    idle = play(backend, [Arrival(0, source, options, constraint=ForbiddenPairs()) for source in sources], slots=3)
    for without, with_none in zip(free, idle, strict=True):
        assert without.future.result(timeout=0).hypotheses == with_none.future.result(timeout=0).hypotheses


def test_searches_with_other_constraints_are_not_shared() -> None:
    options = SearchOptions()
    plain, some, same, others = (
        SentenceRequest((5, EOS), options, constraint=constraint)
        for constraint in (
            None,
            ForbiddenPairs(frozenset([7])),
            ForbiddenPairs(frozenset([7])),
            ForbiddenPairs(frozenset([8])),
        )
    )
    assert key_of(some) == key_of(same)
    assert len({key_of(plain), key_of(some), key_of(others)}) == 3
    key = key_of(some)
    assert key is not None
    assert CoalescedSearch(key, [some]).constraint == some.constraint
