"""The served models, by name. They are loaded, replaced and unloaded while requests go on."""

import asyncio
import logging
import threading
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

from server.api.requests.errors import ApiError
from server.artifact.discovery import find_artifacts, find_models
from server.artifact.manifest import ArtifactError, read_manifest
from server.runtime.dedicated_thread import in_dedicated_thread
from server.runtime.trim_heap import collect, trim_heap
from server.settings import Settings, nearest
from server.telemetry.metrics import Metrics
from server.translation.translator import Translator

logger = logging.getLogger("ringmt")

LOAD_AT_ONCE = 2
"""Models that are loaded at the same time: on two cores, two take as long as one. More would only take memory."""
POLL_SECONDS = 0.1
"""How often a model that waits for its last users checks whether the server stops."""
HELD_SECONDS = 1.0
"""How long the last of its memory is awaited after its last user, whose last lines may hold it still."""

Result = TypeVar("Result")


class ModelRegistry(Mapping[str, Translator]):
    """Name -> translator, for new requests. A request that counts among a translator's `users` works with it to its
    end, even if the name gets another model meanwhile: a model stops, and frees its memory, after its last user.

    Changes are made one after the other, in one event loop; reading is safe from any thread.
    """

    def __init__(self, settings: Settings, metrics: Metrics, is_ready: Callable[[], bool]) -> None:
        """`is_ready` tells the metrics whether the server takes requests."""
        self._settings, self._metrics, self._is_ready = settings, metrics, is_ready
        self._by_name: Mapping[str, Translator] = {}
        """Never changed, only replaced as a whole, because other threads iterate over it."""
        self._turn = asyncio.Lock()
        self._changes: set[asyncio.Task[object]] = set()
        self._leaving: set[threading.Thread] = set()
        self._must_stop = threading.Event()

    def __getitem__(self, name: str) -> Translator:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def load_all(self, seconds_left: Callable[[], float | None] = lambda: None) -> None:
        """Load every model of the settings, LOAD_AT_ONCE at a time, before the first request. The first that cannot be
        loaded ends this; those that were loaded stop with the server. So does a server that stops: `seconds_left` is
        what it has left, None while it does not stop; models that take longer are left behind, and stop by themselves.
        Raises ArtifactError, VocabularyError."""
        pool = ThreadPoolExecutor(LOAD_AT_ONCE, "load")
        loads = [pool.submit(self._load, folder) for folder in find_models(self._settings.models).values()]
        while wait(loads, POLL_SECONDS, FIRST_EXCEPTION).not_done and not any(map(_has_failed, loads)):
            if seconds_left() is not None:
                break
        pool.shutdown(wait=False, cancel_futures=True)
        done = [one for one in loads if not one.cancelled()]
        while wait(done, POLL_SECONDS).not_done:
            if seconds_left() == 0:
                for one in done:
                    one.add_done_callback(_stop_loaded)
                return
        for one in done:
            if one.exception() is None:
                self._put(one.result())
        for one in done:
            one.result()

    async def load(self, name: str, place: str | None) -> tuple[Translator, bool]:
        """Load the artifact `name` from below the folders of the settings, and let it replace the model of that name.
        Returns it, and whether there was none. `place`: its folder, relative to those, where several artifacts have the
        name. Loading goes on if the caller is cancelled. Raises ApiError, and changes nothing: 404 for what is not
        there, 422 for what cannot be served."""
        return await self._in_turn(self._replace(name, place))

    async def unload(self, name: str) -> None:
        """Unload a model. Raises ApiError: 404, and 409 for the only one."""
        await self._in_turn(self._take_away(name))

    async def finish(self) -> None:
        """Wait until no change is under way; call it in the event loop of the changes."""
        await asyncio.gather(*self._changes, return_exceptions=True)

    def stop_leaving(self, seconds_left: Callable[[], float]) -> None:
        """Wait until all models that were replaced or unloaded have stopped. When `seconds_left` is 0, they stop
        without waiting for their users."""
        while any(thread.is_alive() for thread in self._leaving):
            if not seconds_left():
                self._must_stop.set()
            for thread in self._leaving:
                thread.join(POLL_SECONDS)

    async def _in_turn(self, change: Awaitable[Result]) -> Result:
        """Make a change after those before it. It is finished even if the caller is cancelled."""

        async def run() -> Result:
            async with self._turn:
                return await change

        task = asyncio.ensure_future(run())
        self._changes.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._changes.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log it when the caller is gone

    async def _replace(self, name: str, place: str | None) -> tuple[Translator, bool]:
        try:
            folder = await asyncio.to_thread(self._find, name, place)
            translator = await in_dedicated_thread(self._load, folder)
        except (ValueError, OSError) as error:  # what cannot be used: the message says it all
            logger.warning("model '%s' was not loaded: %s", name, error)
            raise ApiError("invalid_value", str(error), "name") from error
        is_new = translator.name not in self._by_name
        replaced = [] if is_new else [self._by_name[translator.name]]
        self._put(translator)
        if replaced:
            self._let_go(replaced)
        logger.info("model '%s' was loaded from %s", translator.name, translator.artifact.folder)
        return translator, is_new

    async def _take_away(self, name: str) -> None:
        if name not in self._by_name:
            raise ApiError("not_found", f"no model '{name}' is served: {nearest(name, self._by_name)}")
        if len(self._by_name) == 1:
            raise ApiError("conflict", f"'{name}' is the only model that is served; load another one first")
        unloaded = [self._by_name[name]]
        self._by_name = {one: it for one, it in self._by_name.items() if one != name}
        self._metrics.end_model(name)
        self._let_go(unloaded)
        logger.info("model '%s' is not served any more", name)

    def _find(self, name: str, place: str | None) -> Path:
        """The folder of an artifact. Names from a request are compared with what is there; no path is made of them.
        Raises ApiError, ArtifactError."""
        there = [
            (folder, folder.relative_to(root).as_posix())
            for root in self._settings.models
            for folder in find_artifacts([root])
        ]
        if place is not None:
            places = [shown for _, shown in there]
            if place not in places:
                raise ApiError(
                    "not_found", f"no artifact is at '{place}' in the models folder: {nearest(place, places)}"
                )
            there = [(folder, shown) for folder, shown in there if shown == place]
        names = {folder: _name_of(folder) for folder, _ in there}
        # One whose manifest cannot be read is meant if its folder has the name: loading it says what is wrong.
        found = [folder for folder, own in names.items() if own == name]
        found = found or [folder for folder, own in names.items() if own is None and (place or folder.name == name)]
        if not found:
            known = nearest(name, [own for own in names.values() if own is not None])
            raise ApiError("not_found", f"no artifact in the models folder is named '{name}': {known}")
        if len(found) > 1:
            listed = ", ".join(shown for folder, shown in there if folder in found)
            raise ArtifactError(f"several artifacts are named '{name}', at {listed}: say which with 'folder'")
        return found[0]

    def _load(self, folder: Path) -> Translator:
        """Raises ArtifactError, VocabularyError."""
        try:
            return Translator.load(folder, self._settings.engine, self._metrics)
        except BaseException:
            for translator in self._by_name.values():  # the metrics may show the worker that could not be loaded
                translator.worker.register_metrics()
            raise

    def _put(self, translator: Translator) -> None:
        self._by_name = {**self._by_name, translator.name: translator}
        name = translator.name
        self._metrics.ready.labels(name).set_function(lambda: float(self._is_ready() and self._is_well(name)))
        self._metrics.model_healthy.labels(name).set_function(lambda: float(self._is_well(name)))

    def _is_well(self, name: str) -> bool:
        return name in self._by_name and self._by_name[name].state == "ready"

    def _let_go(self, leaving: list[Translator]) -> None:
        """Put away the model in the list, in a thread of its own. It is taken out of the list, so that nobody here
        holds it when its memory is given back."""
        thread = threading.Thread(
            target=self._put_away, args=(leaving,), name=f"put-away-{leaving[0].name}", daemon=True
        )
        self._leaving = {one for one in self._leaving if one.is_alive()} | {thread}
        thread.start()

    def _put_away(self, leaving: list[Translator]) -> None:
        translator = leaving.pop()
        while not translator.users.wait_until_zero(POLL_SECONDS) and not self._must_stop.is_set():
            pass
        translator.stop(timeout=0)
        gone = threading.Event()
        weakref.finalize(translator, gone.set).atexit = False
        del translator
        collect()
        gone.wait(HELD_SECONDS)
        trim_heap()


def _has_failed(load: "Future[Translator]") -> bool:
    return load.done() and not load.cancelled() and load.exception() is not None


def _stop_loaded(load: "Future[Translator]") -> None:
    """Stop a model that nobody waited for."""
    if not load.cancelled() and load.exception() is None:
        load.result().stop(timeout=0)


def _name_of(folder: Path) -> str | None:
    """None where the manifest cannot be read."""
    try:
        return read_manifest(folder).name
    except ArtifactError:
        return None
