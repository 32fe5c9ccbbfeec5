"""The models of a server with several processes: all serve the same ones.

A file has the models that are to be served. A process that changes them writes it, and all processes follow it: when
another process announces a change, and when they start."""

import asyncio
import contextlib
import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from server.api.serving.model_registry import ModelRegistry
from server.runtime.processes.peers import Peers
from server.runtime.processes.shared_rows import FileLock
from server.translation.translator import Translator

logger = logging.getLogger("ringmt")

SUBJECT, _FILE = "models", "models.json"
POLL_SECONDS = 0.05
"""Seconds between two attempts to be the only process that changes models."""
FOLLOW_SECONDS = 600.0
"""Seconds that other processes have to load a model; then the change is answered, and they follow later."""

Result = TypeVar("Result")


class _Listed(NamedTuple):
    """A model that is to be served: the number of the change that made it so, and its folder."""

    change: int
    folder: Path


class SharedModels:
    """Changes the models of all processes. Use it from one event loop."""

    def __init__(self, models: ModelRegistry, peers: Peers) -> None:
        self._models, self._peers = models, peers
        self._file = peers.folder / _FILE
        self._lock, self._file_lock = asyncio.Lock(), FileLock(peers.folder / "models.lock")
        self._served: dict[str, int] = {}
        """Name -> the change after which this process serves the model as it is; 0 for those of the settings."""
        self._changes: set[asyncio.Task[Any]] = set()
        peers.answers(SUBJECT, self._on_change)

    def begin(self) -> None:
        """Let the registry start with the models of the file."""
        listed = self._read()
        self._models.start_with = [model.folder for model in listed.values()]
        self._served = {name: model.change for name, model in listed.items()}

    async def load(self, name: str, place: str | None) -> tuple[Translator, bool]:
        """Load a model in all processes; see ModelRegistry.load."""

        async def change() -> tuple[Translator, bool]:
            async with self._only_process():
                loaded, is_new = await self._models.load(name, place)
                self._write(loaded.name)
            await self._announce()
            return loaded, is_new

        return await self._completed(change())

    async def unload(self, name: str) -> None:
        """Unload a model in all processes; see ModelRegistry.unload."""

        async def change() -> None:
            async with self._only_process():
                await self._models.unload(name)
                self._write(name)
            await self._announce()

        await self._completed(change())

    async def follow(self) -> None:
        """Serve what the file has. Raises ApiError if a model cannot be loaded."""
        async with self._lock:
            await self._follow()

    async def _follow(self) -> None:
        listed = self._read()
        for name, model in listed.items():
            if self._served.get(name, 0) != model.change:
                await self._models.load_folder(name, model.folder)
                self._served[name] = model.change
        for name in set(self._models) - set(listed):
            await self._models.unload(name, may_be_last=True)

    async def _completed(self, change: Awaitable[Result]) -> Result:
        """The result of a change, which is completed even if the caller is cancelled."""
        task = asyncio.ensure_future(change)
        self._changes.add(task)
        task.add_done_callback(self._on_change_end)
        return await asyncio.shield(task)

    def _on_change_end(self, task: "asyncio.Task[Any]") -> None:
        self._changes.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log it when the caller is gone

    @contextlib.asynccontextmanager
    async def _only_process(self) -> AsyncIterator[None]:
        """No other process changes models, and this one has all changes before."""
        async with self._lock:
            while not self._file_lock.try_acquire():
                await asyncio.sleep(POLL_SECONDS)
            try:
                await self._follow()
                yield
            finally:
                self._file_lock.release()

    async def _announce(self) -> None:
        """Wait until all other processes serve what the file has; one that is being started reads it itself."""
        await self._peers.ask_all(SUBJECT, seconds=FOLLOW_SECONDS)

    async def _on_change(self, question: bytes) -> bytes:
        await self.follow()
        return b""

    def _read(self) -> dict[str, _Listed]:
        listed: dict[str, Any] = json.loads(self._file.read_text(encoding="utf-8"))
        return {name: _Listed(change, Path(folder)) for name, (change, folder) in listed.items()}

    def _write(self, changed: str) -> None:
        """The models of this process are those of all from now on."""
        change = 1 + max(self._served.values(), default=0)
        self._served[changed] = change
        _write(
            self._file,
            {
                name: _Listed(change if name == changed else self._served.get(name, 0), model.artifact.folder)
                for name, model in self._models.items()
            },
        )


def list_models(folder: Path, artifacts: Mapping[str, Path]) -> None:
    """Before the first process starts: the models that all begin with, by name. What is put into the folders of models
    later is served when it is loaded, and not when a process is replaced."""
    _write(folder / _FILE, {name: _Listed(0, artifact) for name, artifact in artifacts.items()})


def _write(file: Path, listed: Mapping[str, _Listed]) -> None:
    """Other processes read all of it, before or after."""
    temporary = file.with_suffix(".new")
    content = {name: (model.change, str(model.folder.resolve())) for name, model in listed.items()}
    temporary.write_text(json.dumps(content), encoding="utf-8")
    os.replace(temporary, file)
