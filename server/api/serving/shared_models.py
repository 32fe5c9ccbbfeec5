"""The models of a server with several processes: all serve the same ones.

A file has the models that are to be served. A process that changes them writes it, and all processes follow it: when
another process announces a change, and when they start. A model is served when every process has loaded it, or by
none."""

import asyncio
import contextlib
import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from server.api.requests.errors import ApiError
from server.api.serving.model_registry import ModelRegistry
from server.runtime.processes.peers import Link, PeerGone, Peers
from server.runtime.processes.shared_rows import FileLock
from server.translation.translator import Translator

logger = logging.getLogger("ringmt")

CHANGED, LOADING, _FILE = "models", "load model", "models.json"
POLL_SECONDS = 0.05
"""Seconds between two attempts to be the only process that changes models."""
FOLLOW_SECONDS = 600.0
"""Seconds that other processes have to load a model; then it is not served. Of other changes the answer comes then, and
they follow later."""
_SERVE = b"serve"

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
        self._changing, self._file_lock = asyncio.Lock(), FileLock(peers.folder / "models.lock")
        self._following = asyncio.Lock()
        """Held for moments or while this process loads models, but never while it waits for others."""
        self._served: dict[str, int] = {}
        """Name -> the change after which this process serves the model as it is; 0 for those of the settings."""
        self._changes: set[asyncio.Task[Any]] = set()
        self.failure: str | None = None
        """Why this process cannot serve what the others do: another process must take its place."""
        peers.on_request(CHANGED, self._on_change)
        peers.handlers[LOADING] = self._on_loading

    def begin(self) -> None:
        """Let the registry start with the models of the file."""
        listed = self._read()
        self._models.start_with = [model.folder for model in listed.values()]
        self._served = {name: model.change for name, model in listed.items()}

    async def load(self, name: str, place: str | None) -> tuple[Translator, bool]:
        """Load a model in all processes, or in none; see ModelRegistry.load."""

        async def change() -> tuple[Translator, bool]:
            async with self._only_process():
                prepared = await self._models.prepare(name, place)
                try:
                    return prepared, await self._served_by_all(prepared)
                finally:
                    if self._models.get(prepared.name) is not prepared:
                        await self._models.discard(prepared)

        return await self._completed(change())

    async def _served_by_all(self, prepared: Translator) -> bool:
        """Serve a model in all processes; returns whether its name is new. Raises ApiError if another process cannot
        load it."""
        request = json.dumps([prepared.name, str(prepared.artifact.folder.resolve()), prepared.fingerprint]).encode()
        async with contextlib.AsyncExitStack() as stack:
            links = dict[int, Link]()
            for slot in self._peers.others:
                with contextlib.suppress(PeerGone):  # it loads what the file has when it starts
                    links[slot] = await stack.enter_async_context(self._peers.link(slot, LOADING))
            reasons = await asyncio.gather(*(_answer(link, request) for link in links.values()))
            for slot, reason in zip(links, reasons, strict=True):
                if reason:
                    message = f"process {slot} of the server cannot load it, so no process serves it: {reason}"
                    logger.warning("model '%s' was not loaded: %s", prepared.name, message)
                    raise ApiError("invalid_value", message, "name")
            async with self._following:
                is_new = await self._models.serve(prepared)
                self._write(prepared.name)
            await asyncio.gather(*(_answer(link, _SERVE) for link in links.values()))
        await self._announce()  # to processes that have started meanwhile
        return is_new

    async def _on_loading(self, link: Link) -> None:
        """Load a model for another process, and serve it as soon as that one does; if it does not, or ends, not."""
        request = await link.read()
        if request is None:
            return
        name, folder, fingerprint = json.loads(request)
        try:
            prepared = await self._models.prepare_folder(name, Path(folder))
        except ApiError as error:
            await link.write(error.message.encode())
            return
        except Exception as error:
            logger.exception("model '%s' was not loaded", name)
            await link.write(f"loading failed: {error}".encode())
            return
        is_served = False
        try:
            if (prepared.name, prepared.fingerprint) != (name, fingerprint):
                await link.write(b"the artifact was changed meanwhile")
            else:
                await link.write(b"")
                if await link.read() == _SERVE:
                    async with self._following:
                        listed = self._read()
                        if listed[name].change != self._served.get(name, 0):
                            await self._models.serve(prepared)
                            is_served, self._served[name] = True, listed[name].change
                    await link.write(b"")
        finally:
            if not is_served:
                await self._models.discard(prepared)

    async def unload(self, name: str) -> None:
        """Unload a model in all processes; see ModelRegistry.unload."""

        async def change() -> None:
            async with self._only_process(), self._following:
                await self._models.unload(name)
                self._write(name)
            await self._announce()

        await self._completed(change())

    async def follow(self) -> None:
        """Serve what the file has. Raises ApiError if a model cannot be loaded."""
        async with self._following:
            listed = self._read()
            for name, model in listed.items():
                if self._served.get(name, 0) != model.change:
                    await self._put(name, model)
            for name in set(self._models) - set(listed):
                await self._models.unload(name, may_be_last=True)

    async def _put(self, name: str, model: _Listed) -> None:
        try:
            await self._models.load_folder(name, model.folder)
        except Exception as error:
            reason = error.message if isinstance(error, ApiError) else str(error)
            self.failure = f"model '{name}', which other processes serve, cannot be loaded: {reason}"
            raise
        self._served[name] = model.change

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
        async with self._changing:
            while not self._file_lock.try_acquire():
                await asyncio.sleep(POLL_SECONDS)
            try:
                await self.follow()
                yield
            finally:
                self._file_lock.release()

    async def _announce(self) -> None:
        """Wait until all other processes serve what the file has; one that is being started reads it itself."""
        await self._peers.request_all(CHANGED, seconds=FOLLOW_SECONDS)

    async def _on_change(self, request: bytes) -> bytes:
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


async def _answer(link: Link, request: bytes) -> str:
    """What another process answers; why it gave no answer."""
    try:
        async with asyncio.timeout(FOLLOW_SECONDS):
            await link.write(request)
            answer = await link.read()
    except PeerGone as error:
        return f"it ended: {error}"
    except TimeoutError:
        return f"it took longer than {FOLLOW_SECONDS:g} seconds"
    return "it ended meanwhile" if answer is None else answer.decode()


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
