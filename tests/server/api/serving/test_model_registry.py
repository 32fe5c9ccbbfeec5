"""Models that come, are replaced and go in any order, under work that takes its time: as a dictionary would have it."""

import asyncio
import functools
import shutil
import tempfile
import threading
import time
import weakref
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from server.api.requests.errors import ApiError
from server.api.serving import retired_models
from server.api.serving.model_registry import ModelRegistry
from server.api.serving.retired_models import HELD_SECONDS
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from server.engine.worker import EngineWorker
from server.telemetry.metrics import Metrics
from server.translation.translator import Translator
from tests.server.api.conftest import PATIENCE, settings_for, until
from tests.server.api.pairs import copy_of

NAMES = ("one", "two", "three")
TEXT = "She sells bread and milk."


@dataclass(frozen=True)
class Began:
    """Work on a model, and what it is to become."""

    translator: Translator
    answer: "Future[SentenceResult]"
    expected: str


def ask(translator: Translator) -> "Future[SentenceResult]":
    [ids] = translator.plan(TEXT).source_ids
    request = SentenceRequest(ids, SearchOptions(beam_size=2, max_length=64))
    translator.worker.answer_all([request])
    return request.future


def best_of(translator: Translator, answer: "Future[SentenceResult]") -> str:
    """As the model writes it."""
    [text] = translator.target_pieces.decode([answer.result(PATIENCE).hypotheses[0].ids])
    return text


class Models(RuleBasedStateMachine):
    """`served` is the dictionary: name -> which of two weights."""

    artifacts: tuple[Path, Path]
    translations: tuple[str, str]

    def __init__(self) -> None:
        super().__init__()
        self.threads = set(threading.enumerate())  # of servers that other tests share
        self.folder = Path(tempfile.mkdtemp())
        self.served = {"one": 0}
        self.begun: list[Began] = []
        self.put("one", 0)
        self.loop = asyncio.new_event_loop()
        self.models = ModelRegistry(settings_for(self.folder), Metrics(), lambda: True)
        self.models.load_all()

    def put(self, name: str, weights: int) -> None:
        """In place of what is there."""
        if (self.folder / name).exists():
            (self.folder / name).rename(Path(tempfile.mkdtemp(dir=self.folder, prefix=".")) / name)
        copy_of(self.artifacts[weights], self.folder / name, name=name)

    @rule(name=st.sampled_from(NAMES), weights=st.sampled_from((0, 1)))
    def load(self, name: str, weights: int) -> None:
        self.put(name, weights)
        translator, is_new = self.loop.run_until_complete(self.models.load(name, None))
        assert (translator.name, is_new) == (name, name not in self.served)
        self.served[name] = weights

    @rule(name=st.sampled_from(NAMES))
    def fail(self, name: str) -> None:
        self.put(name, 0)
        (self.folder / name / "golden.json").unlink()
        with pytest.raises(ApiError, match="golden"):
            self.loop.run_until_complete(self.models.load(name, None))

    @rule(name=st.sampled_from(NAMES))
    def unload(self, name: str) -> None:
        if name in self.served and len(self.served) > 1:
            self.loop.run_until_complete(self.models.unload(name))
            del self.served[name]
            return
        with pytest.raises(ApiError) as refused:
            self.loop.run_until_complete(self.models.unload(name))
        assert refused.value.kind == ("conflict" if name in self.served else "not_found")

    @rule(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.served)))
        translator = self.models[name]
        translator.users.acquire()
        self.begun.append(Began(translator, ask(translator), self.translations[self.served[name]]))

    @precondition(lambda self: self.begun)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        """It goes on with its own model, and may ask it again."""
        begun = self.begun[data.draw(st.integers(0, len(self.begun) - 1))]
        for answer in (begun.answer, ask(begun.translator)):
            assert best_of(begun.translator, answer) == begun.expected
        self.begun.remove(begun)
        begun.translator.users.release()

    @invariant()
    def names_are_those_of_the_dictionary(self) -> None:
        assert set(self.models) == set(self.served)
        assert not any(translator.worker.has_exited for translator in self.models.values())

    @invariant()
    def routes_are_those_of_the_served_models(self) -> None:
        pairs = {translator.languages for translator in self.models.values()}
        for name, translator in self.models.items():
            assert self.models.routes.choose(name, *translator.languages).models == (translator,)
        assert {(a, b) for a, targets in self.models.routes.languages.items() for b in targets} == pairs

    def teardown(self) -> None:
        for begun in self.begun:
            begun.translator.users.release()
        deadline = time.monotonic() + PATIENCE
        self.models.retired.wait(lambda: max(0.0, deadline - time.monotonic()))
        for translator in self.models.values():
            translator.stop(timeout=0)
        self.loop.close()
        shutil.rmtree(self.folder)
        until(lambda: not self.threads_left(), "no thread of an engine is left")

    def threads_left(self) -> list[threading.Thread]:
        """`stop` waits for no step of an engine that is being made."""
        left = set(threading.enumerate()) - self.threads
        return [thread for thread in left if thread.name.startswith(("engine-", "retire-"))]


def test_any_order(pairs: dict[str, Path]) -> None:
    Models.artifacts = (pairs["en-de"], pairs["en-fr"])
    translations = []
    for artifact in Models.artifacts:
        translator = Translator.load(artifact, settings_for(artifact).engine, Metrics())
        translations.append(best_of(translator, ask(translator)))
        translator.stop(timeout=0)
    Models.translations = (translations[0], translations[1])
    assert translations[0] != translations[1]
    run_state_machine_as_test(
        Models,
        settings=settings(
            max_examples=6, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def test_routes_follow_the_states_of_models(pairs: dict[str, Path]) -> None:
    models = ModelRegistry(settings_for(pairs["en-de"]), Metrics(), lambda: True)
    models.load_all()
    model = models["en-de"]
    assert models.routes.languages == {"en": ["de"]}
    model.fail("failed", "of a test")
    assert models.routes.languages == {}
    assert models.routes.known_languages == {"en": ["de"]}
    replacement = model.worker.replacement()
    replacement.start()
    model.recover(replacement)
    assert models.routes.languages == {"en": ["de"]}
    model.stop(timeout=0)


def has_stopped(worker: EngineWorker) -> bool:
    return worker.has_exited


def test_memory_is_released_after_the_last_reference(pairs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    models = ModelRegistry(settings_for(pairs["en-de"]), Metrics(), lambda: True)
    models.load_all()
    held = models["en-de"]
    model, given_back = weakref.ref(held), threading.Event()
    monkeypatch.setattr(retired_models, "trim_heap", given_back.set)
    held.users.acquire()
    asyncio.run(models.load("en-de", None))
    held.users.release()
    until(functools.partial(has_stopped, held.worker), "the model that was replaced stops")
    assert not given_back.wait(HELD_SECONDS / 4)
    del held
    assert model() is None
    deadline = time.monotonic() + PATIENCE
    models.retired.wait(lambda: max(0.0, deadline - time.monotonic()))
    assert given_back.is_set()
    models["en-de"].stop(timeout=0)
