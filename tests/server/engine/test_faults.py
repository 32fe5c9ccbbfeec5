"""A fault fails the sentences that it concerns and no others, and leaves nothing behind: no slot, no count."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from model.reference_search import reference_search
from model.translation_model import TranslationModel
from server.backends.base import Backend, Step
from server.backends.context import full_context
from server.backends.state import DecoderState, Encoded, Flags, Ints
from server.engine import batch_shape
from server.engine.batch_shape import BatchShape
from server.engine.engine import Engine
from server.engine.lane import Lane
from server.engine.lane_kind import lane_width
from server.engine.request import Cancelled, DeadlineExceeded, SearchOptions, SentenceRequest
from tests.server.engine.conftest import LoadBackend
from tests.server.engine.integrity import check_integrity
from tests.server.engine.runs import new_engine, translate
from tests.server.engine.test_engine import assert_same, some_sources

NARROW = SearchOptions(beam_size=2, max_length=20)
WIDE = SearchOptions(beam_size=4, max_length=20)
BAD_ID = 10**6
"""Outside of the vocabulary: every graph that reads it fails."""


class Faulty:
    """A real backend whose states of `beam` rows fail: at `bind`, at the third `step`, or with `scores` that are no
    numbers."""

    def __init__(self, backend: Backend, beam: int, fault: str) -> None:
        self._backend, self.beam, self.fault = backend, beam, fault
        self.manifest, self.shortlist, self.context = backend.manifest, backend.shortlist, backend.context
        self.aligner, self.device = backend.aligner, backend.device
        self.new_state = backend.new_state
        self.prepare_scores, self.bind_scores = backend.prepare_scores, backend.bind_scores

    def encode(self, source_ids: Ints, source_keep: Flags) -> list[Encoded]:
        return self._backend.encode(source_ids, source_keep)

    def bind(self, state: DecoderState) -> Step:
        step = self._backend.bind(state)
        if state.beam != self.beam:
            return step
        if self.fault == "bind":
            raise RuntimeError("no memory for bind")

        def faulty() -> None:
            if self.fault == "step" and state.clock == 2:
                raise RuntimeError("the step broke")
            step()
            if self.fault == "scores":
                state.following.score[:] = np.nan
                state.candidates.score[:] = np.nan

        return faulty


def finish(engine: Engine, rows_are_sound: bool = True) -> None:
    """Run until idle; then nothing is in flight."""
    while not engine.is_idle:
        engine.step()
        if rows_are_sound:
            check_integrity(engine)
    assert engine.queue.in_flight == 0
    assert engine.num_running == 0
    assert not engine.encoded
    assert engine.queue.is_drained


def assert_unharmed(backend: Backend, requests: list[SentenceRequest]) -> None:
    for request in requests:
        (alone,) = translate(backend, [request.source_ids], request.options, slots=1)
        assert_same(request.future.result(timeout=0), alone)


@pytest.mark.parametrize(
    ("fault", "message"),
    [("bind", "no memory for bind"), ("step", "the step broke"), ("scores", "scores that are no numbers")],
)
def test_a_failing_lane_fails_only_its_own_sentences(load: LoadBackend, fault: str, message: str) -> None:
    plain = load("onnx", "fp32")
    engine = new_engine(Faulty(plain, 4, fault), slots=8)
    broken = [SentenceRequest(ids, WIDE) for ids in some_sources(3)]
    others = [SentenceRequest(ids, NARROW) for ids in some_sources(5, seed=1)]
    engine.queue.put([others[0], *broken, *others[1:]])
    finish(engine, rows_are_sound=fault != "scores")
    for request in broken:
        with pytest.raises(RuntimeError, match=message):
            request.future.result(timeout=0)
    assert_unharmed(plain, others)


@pytest.mark.parametrize("with_context", [False, True])
def test_a_sentence_that_cannot_be_encoded_fails_no_other_of_its_batch(
    load: LoadBackend, load_document: LoadBackend, with_context: bool
) -> None:
    backend = load_document("onnx", "fp32") if with_context else load("onnx", "fp32")
    context = None
    if with_context:
        assert backend.context is not None
        context = full_context([backend.context.compute_states((5, 6, 7, 3))], [3])
    good = [SentenceRequest(ids, NARROW, context) for ids in some_sources(4)]
    bad = SentenceRequest((5, BAD_ID, 7, 3), NARROW, context)
    engine = new_engine(backend, slots=8)
    engine.queue.put([*good[:2], bad, *good[2:]])
    finish(engine)
    with pytest.raises(Exception, match="out of data bounds"):
        bad.future.result(timeout=0)
    assert all(request.future.result(timeout=0).hypotheses for request in good)
    if not with_context:
        assert_unharmed(backend, good)


def test_a_sentence_that_cannot_be_admitted_fails_no_other(load: LoadBackend) -> None:
    """Its source memory has another shape than the slots."""
    backend = load("onnx", "fp32")
    engine = new_engine(backend, slots=8)
    good = [SentenceRequest(ids, NARROW) for ids in some_sources(4)]
    bad = SentenceRequest((5, 6, 7, 8, 3), NARROW)
    engine.queue.put([*good[:2], bad, *good[2:]])
    engine.encode()
    assert not engine.encoded.others
    encoded = engine.encoded.short
    for index, sentence in enumerate(encoded):
        if sentence.request is bad:
            tensors = {name: tensor[..., :-1] for name, tensor in sentence.content.tensors.items()}
            encoded[index] = dataclasses.replace(sentence, content=Encoded(sentence.content.length, tensors))
    finish(engine)
    with pytest.raises(ValueError, match="could not broadcast"):
        bad.future.result(timeout=0)
    assert_unharmed(backend, good)


def test_a_failed_resize_fails_only_its_sentence(load: LoadBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """A running sentence continues; a later one that needs no larger lane is admitted."""
    backend = load("onnx", "fp32")
    engine = new_engine(backend, slots=8)
    running, long, later = (SentenceRequest((5,) * size + (3,), NARROW) for size in (6, 40, 5))
    engine.queue.put([running])
    engine.step()
    original: Callable[..., None] = Lane._resize

    def resize(lane: Lane, shape: BatchShape, *rest: object) -> None:
        if shape.source_length > 16:
            raise MemoryError("no memory for the source")
        original(lane, shape, *rest)

    monkeypatch.setattr(Lane, "_resize", resize)
    engine.queue.put([long, later])
    finish(engine)
    with pytest.raises(MemoryError):
        long.future.result(timeout=0)
    assert_unharmed(backend, [running, later])


def test_a_lane_that_cannot_shrink_continues(load: LoadBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a smaller batch needs other arrays."""
    monkeypatch.setattr(batch_shape, "MAX_SPARE_BYTES", 0)
    backend, tried = load("onnx", "fp32"), list[object]()
    engine = new_engine(backend, slots=8)
    short = [SentenceRequest(ids, SearchOptions(beam_size=2, max_length=1)) for ids in some_sources(7)]
    requests = [*short, SentenceRequest((5, 6, 7, 3), NARROW)]
    engine.queue.put(requests)
    engine.step()

    def resize(*arguments: object) -> None:
        tried.append(arguments)
        raise MemoryError("no memory to shrink")

    monkeypatch.setattr(Lane, "_resize", resize)
    finish(engine)
    monkeypatch.undo()
    assert tried
    assert_unharmed(backend, requests)


@pytest.mark.parametrize("beam_size", [9, 17, 33])
def test_any_beam_size_is_searched(load: LoadBackend, tiny_model: TranslationModel, beam_size: int) -> None:
    """A lane's width is the next power of two; sentences of other widths run beside it."""
    backend, source = load("onnx", "fp32"), (5, 6, 7, 8, 3)
    wide = SentenceRequest(source, SearchOptions(beam_size, num_hypotheses=3, max_length=12))
    others = [SentenceRequest(ids, WIDE) for ids in some_sources(3)]
    engine = new_engine(backend, slots=4)
    engine.queue.put([others[0], wide, *others[1:]])
    finish(engine)
    assert lane_width(beam_size) == {9: 16, 17: 32, 33: 64}[beam_size]
    expected = reference_search(tiny_model, list(source), beam_size, 3, 1.0, 12)
    assert [h.ids for h in wide.future.result(timeout=0).hypotheses] == [h.ids for h in expected]
    assert_unharmed(backend, others)


@pytest.mark.parametrize("when", ["waiting", "ready", "running"])
@pytest.mark.parametrize("how", ["cancelled", "expired"])
def test_an_aborted_sentence_is_not_counted_as_in_flight(load: LoadBackend, when: str, how: str) -> None:
    engine = new_engine(load("onnx", "fp32"), slots=4)
    aborted, other = (SentenceRequest((5, 6, 7, 3), dataclasses.replace(NARROW)) for _ in range(2))
    engine.queue.put([aborted, other])
    if when == "ready":
        engine.encode()
    if when == "running":
        engine.step()
    if how == "cancelled":
        aborted.cancel()
    else:
        aborted.deadline = 0.0
    finish(engine)
    with pytest.raises(Cancelled if how == "cancelled" else DeadlineExceeded):
        aborted.future.result(timeout=0)
    assert other.future.result(timeout=0).hypotheses
