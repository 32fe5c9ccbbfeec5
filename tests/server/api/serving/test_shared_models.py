"""Two processes that change their models together, here in one event loop: a model is served by both or by none."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from server.api.requests.errors import ApiError
from server.api.serving import shared_models
from server.api.serving.model_registry import ModelRegistry
from server.api.serving.shared_models import SharedModels, list_models
from server.artifact.discovery import find_models
from server.runtime.processes.peers import Peers
from server.telemetry.metrics import Metrics
from server.translation.served_model import ServedModel
from tests.server.api.conftest import PATIENCE, settings_for, until
from tests.server.api.pairs import copy_of


@dataclass(frozen=True)
class Process:
    registry: ModelRegistry
    models: SharedModels
    peers: Peers

    @property
    def served(self) -> dict[str, str]:
        """What `/v1/models` lists: names, and which weights they have."""
        return {name: translator.fingerprint for name, translator in self.registry.items()}

    def refuses(self, why: Exception) -> Callable[[], None]:
        """Let loads fail from now on; returns what ends that."""
        opened = self.registry.on_demand.open

        async def fail(translator: ServedModel) -> None:
            raise why

        self.registry.on_demand.open = fail  # type: ignore[method-assign]

        def restore() -> None:
            self.registry.on_demand.open = opened  # type: ignore[method-assign]

        return restore


@contextlib.asynccontextmanager
async def started(models: Path, folder: Path, slot: int) -> AsyncIterator[Process]:
    peers = Peers(folder, slot, 2)
    registry = ModelRegistry(settings_for(models), Metrics(), lambda: True)
    shared = SharedModels(registry, peers)
    shared.begin()
    registry.load_all()
    await peers.open()
    await shared.follow()
    try:
        yield Process(registry, shared, peers)
    finally:
        peers.close()
        for worker in registry.workers:
            worker.stop()
        await asyncio.to_thread(registry.retired.wait, lambda: 0.0)


Test = Callable[[Process, Process, Path], Coroutine[Any, Any, None]]


def of_both(pairs: dict[str, Path], tmp_path: Path, test: Test) -> None:
    """Run a test with two processes, and the folder of their models."""
    models, shared = tmp_path / "models", tmp_path / "shared"
    copy_of(pairs["en-de"], models / "en-de")
    shared.mkdir()
    list_models(shared, find_models([models]))

    async def run() -> None:
        async with asyncio.timeout(PATIENCE), started(models, shared, 0) as a, started(models, shared, 1) as b:
            await test(a, b, models)

    asyncio.run(run())


def num_engines() -> int:
    return sum(thread.name.startswith("engine-") for thread in threading.enumerate())


@pytest.mark.parametrize("why", [OSError("Cannot allocate memory"), RuntimeError("can't start new thread")])
@pytest.mark.parametrize("is_new", [True, False])
def test_what_one_process_cannot_load_is_served_by_none(
    pairs: dict[str, Path], tmp_path: Path, why: Exception, is_new: bool
) -> None:
    async def test(a: Process, b: Process, models: Path) -> None:
        name = "de-en"
        copy_of(pairs["de-en"], models / name)
        if not is_new:
            await a.models.load(name, None)
            copy_of(pairs["en-fr"], models / "other" / name, name=name)
        before, engines = a.served, num_engines()
        allow = b.refuses(why)
        with pytest.raises(ApiError, match=f"process 1 of the server cannot load it, so no process serves it: .*{why}"):
            await a.models.load(name, None if is_new else "other/de-en")
        assert a.served == b.served == before
        assert {*a.registry.on_demand._models()} == {*a.registry.values()}
        await asyncio.to_thread(until, lambda: num_engines() == engines, "the engine of A has ended")
        allow()
        _, was_new = await b.models.load(name, None if is_new else "other/de-en")
        assert was_new == is_new
        assert a.served == b.served != before
        assert a.models.failure is b.models.failure is None

    of_both(pairs, tmp_path, test)


def test_an_artifact_that_changes_while_it_is_loaded_is_not_served(
    pairs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(a: Process, b: Process, models: Path) -> None:
        copy_of(pairs["de-en"], models / "de-en")
        prepare = b.registry.prepare_folder

        async def changed(name: str, folder: Path) -> object:
            folder.rename(folder.with_name(".old"))
            copy_of(pairs["en-fr"], folder, name=name)
            return await prepare(name, folder)

        monkeypatch.setattr(b.registry, "prepare_folder", changed)
        with pytest.raises(ApiError, match="the artifact was changed meanwhile"):
            await a.models.load("de-en", None)
        assert a.served.keys() == b.served.keys() == {"en-de"}

    of_both(pairs, tmp_path, test)


@pytest.mark.parametrize("has_answered", [False, True])
def test_a_process_that_ends_while_a_model_is_loaded(
    pairs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_answered: bool
) -> None:
    """Before the change is made, and by the process that makes it or by the other."""

    async def test(a: Process, b: Process, models: Path) -> None:
        copy_of(pairs["de-en"], models / "de-en")
        ending = a if has_answered else b
        answered = shared_models._answer

        async def ends(link: Any, request: bytes) -> str:
            reason = await answered(link, request)
            link.close()  # as the kernel does when A ends
            raise ConnectionError(reason)

        if has_answered:
            monkeypatch.setattr(shared_models, "_answer", ends)
        else:

            async def ended(name: str, folder: Path) -> object:
                ending.peers.close()
                await asyncio.Event().wait()
                return None

            monkeypatch.setattr(b.registry, "prepare_folder", ended)
        with pytest.raises(ConnectionError if has_answered else ApiError, match="^$" if has_answered else "it ended"):
            await a.models.load("de-en", None)
        assert a.served.keys() == b.served.keys() == {"en-de"}
        if has_answered:
            await asyncio.to_thread(until, lambda: not b.registry._changes, "B has discarded the model")
            monkeypatch.undo()
            await b.models.load("de-en", None)
            assert a.served.keys() == b.served.keys() == {"en-de", "de-en"}

    of_both(pairs, tmp_path, test)


def test_changes_of_both_at_once_are_made_one_after_the_other(pairs: dict[str, Path], tmp_path: Path) -> None:
    async def test(a: Process, b: Process, models: Path) -> None:
        for name in ("de-en", "en-fr"):
            copy_of(pairs[name], models / name)
        await asyncio.gather(*(each.models.load(name, None) for each in (a, b) for name in ("de-en", "en-fr", "en-de")))
        assert a.served == b.served
        assert a.served.keys() == {"en-de", "de-en", "en-fr"}
        await asyncio.gather(a.models.unload("de-en"), b.models.unload("en-fr"), b.models.load("en-de", None))
        assert a.served.keys() == b.served.keys() == {"en-de"}

    of_both(pairs, tmp_path, test)


def test_a_process_that_starts_meanwhile_and_cannot_follow_must_be_replaced(
    pairs: dict[str, Path], tmp_path: Path
) -> None:
    async def test(a: Process, b: Process, models: Path) -> None:
        copy_of(pairs["de-en"], models / "de-en")
        handler = b.peers.handlers.pop(shared_models.LOADING)  # B takes no connections yet
        b.refuses(OSError("Cannot allocate memory"))
        cast(dict[str, Any], b.peers.handlers)[shared_models.LOADING] = accepted
        await a.models.load("de-en", None)
        b.peers.handlers[shared_models.LOADING] = handler
        assert a.served.keys() == {"en-de", "de-en"}
        assert b.models.failure == (
            "model 'de-en', which other processes serve, cannot be loaded: Cannot allocate memory"
        )

    of_both(pairs, tmp_path, test)


async def accepted(link: Any) -> None:
    """Serve nothing."""
    for _ in range(2):
        await link.read()
        await link.write(b"")
