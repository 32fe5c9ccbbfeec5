"""Runs sentences through an engine, whose integrity is checked after every step."""

import itertools
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from server.artifact.signature import LISTED_WORDS
from server.backends.base import Backend
from server.backends.context import SentenceContext
from server.engine.constraint import Constraint
from server.engine.engine import Engine
from server.engine.meter import EngineMeter
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from server.engine.scheduler import RequestQueue
from server.scheduling.caller import Caller, Service
from server.telemetry.metrics import Metrics
from tests.server.engine.integrity import check_integrity

METER = EngineMeter(Metrics(), "tiny")
"""One meter for all engines here, whose metrics are not read: making a meter takes longer than most searches."""


def new_engine(backend: Backend, slots: int = 4, max_waiting: int = 10_000) -> Engine:
    return Engine(backend, RequestQueue(max_waiting), slots, METER)


def ticking_clock(monkeypatch: pytest.MonkeyPatch, step: float) -> "itertools.count[float]":
    """A clock that advances by `step` seconds at each reading, so that turns by time are the same in every run. Only
    the test's own thread reads it: other threads, whose readings come at any moment, keep the real one."""
    ticks, thread, monotonic = itertools.count(step, step), threading.get_ident(), time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks) if threading.get_ident() == thread else monotonic())
    return ticks


def run(engine: Engine) -> None:
    while not engine.is_idle:
        engine.step()
        check_integrity(engine)


def translate(
    backend: Backend, sources: Sequence[tuple[int, ...]], options: SearchOptions, slots: int = 4
) -> list[SentenceResult]:
    engine = new_engine(backend, slots)
    requests = [SentenceRequest(source, options) for source in sources]
    engine.queue.put(requests)
    run(engine)
    return [request.future.result(timeout=0) for request in requests]


def listed_words(backend: Backend, source: tuple[int, ...]) -> list[int]:
    """The shortlist of a sentence."""
    [encoded] = backend.encode(np.array([source]), np.ones((1, len(source)), np.int32))
    words = encoded.on_host(LISTED_WORDS)
    assert words is not None
    listed: list[int] = words.tolist()
    return listed


def random_source(generator: random.Random, longest: int = 20) -> tuple[int, ...]:
    return (*(generator.randrange(4, 320) for _ in range(generator.randrange(longest))), 3)


@dataclass(frozen=True)
class Arrival:
    """A sentence that is queued before step `step`; with `cancel_after` it is cancelled so many steps later."""

    step: int
    source: tuple[int, ...]
    options: SearchOptions
    cancel_after: int | None = None
    context: SentenceContext | None = None
    prefix: tuple[int, ...] = ()
    constraint: Constraint | None = None
    service: Service = Service.INTERACTIVE
    """Short interactive sentences have turns by time: at which step one is done may differ from run to run."""


def random_arrival(generator: random.Random, **more: Any) -> Arrival:
    """A sentence that comes among others, is searched narrowly or widely, and may leave early."""
    return Arrival(
        step=generator.randrange(40),
        source=random_source(generator),
        options=SearchOptions(beam_size=generator.choice([1, 3, 4, 4]), max_length=generator.choice([14, 40])),
        cancel_after=generator.choice([None, None, None, generator.randrange(20)]),
        **more,
    )


def play(backend: Backend, arrivals: Sequence[Arrival], slots: int) -> list[SentenceRequest]:
    """Run a schedule to its end; requests in the order of `arrivals`."""
    engine = new_engine(backend, slots)
    requests = [
        SentenceRequest(
            a.source, a.options, a.context, prefix=a.prefix, constraint=a.constraint, caller=Caller("", a.service)
        )
        for a in arrivals
    ]
    step, last = 0, max(a.step + (a.cancel_after or 0) for a in arrivals)
    while step <= last or not engine.is_idle:
        for arrival, request in zip(arrivals, requests, strict=True):
            if arrival.step == step:
                engine.queue.put([request])
            if arrival.cancel_after is not None and arrival.step + arrival.cancel_after == step:
                request.cancel()
        engine.step()
        check_integrity(engine)
        step += 1
    return requests
