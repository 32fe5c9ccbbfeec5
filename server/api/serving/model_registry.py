"""The served models, by name. They are loaded, replaced and unloaded while requests go on."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

from server.api.requests.errors import ApiError
from server.api.serving.artifact_lookup import find_artifact
from server.api.serving.models_on_demand import LOAD_AT_ONCE, ModelsOnDemand
from server.api.serving.retired_models import RetiredModels
from server.api.serving.routing import RoutingTable
from server.artifact.discovery import find_models
from server.engine.worker import EngineWorker
from server.runtime.nearest_name import nearest
from server.settings import Settings
from server.telemetry.metrics import Metrics
from server.translation.served_model import ServedModel
from server.translation.translator import Translator

logger = logging.getLogger("ringmt")

LOADED_AT_START = 8
"""Models of a server that loads all of them at its start by default; of more, each is loaded for its first request."""
POLL_SECONDS = 0.1
"""Seconds between two checks of models that are being loaded, whether the server stops."""

Result = TypeVar("Result")


class ModelRegistry(Mapping[str, Translator]):
    """Name -> translator, for new requests. A request that counts among a translator's `users` keeps it to its end,
    even if the name gets another model: a replaced model stops, and frees its memory, after its last user.

    Changes are made one after the other, in one event loop; reading is safe from any thread.
    """

    def __init__(self, settings: Settings, metrics: Metrics, is_ready: Callable[[], bool]) -> None:
        """`is_ready`: whether the server takes requests, for the metrics."""
        self._settings, self._metrics, self._is_ready = settings, metrics, is_ready
        self._by_name: Mapping[str, Translator] = {}
        """Never changed, only replaced as a whole, because other threads iterate over it."""
        self.routes = RoutingTable({}, self._allows_pivot)
        """Replaced whenever a model is loaded, unloaded, fails or recovers."""
        self.on_demand = ModelsOnDemand(self.values, settings.max_model_memory or None)
        self.start_with: Collection[Path] | None = None
        """Folders of the artifacts that `load_all` loads; None: all that the settings name."""
        self._change_lock = asyncio.Lock()
        self._changes: set[asyncio.Task[object]] = set()
        self.retired = RetiredModels()

    def __getitem__(self, name: str) -> Translator:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def load_all(self, seconds_left: Callable[[], float | None] = lambda: None) -> None:
        """Read the manifests of the models, where models are loaded on demand. Else load every model of the settings,
        LOAD_AT_ONCE at a time, before the first request. Loading ends with the first model that cannot be loaded, and
        when the server stops: then `seconds_left` returns how long to wait for
        models that are being loaded (None as long as the server does not stop); those that take longer are stopped when
        they are loaded. Raises ArtifactError, VocabularyError."""
        folders = find_models(self._settings.models).values() if self.start_with is None else self.start_with
        if self._loads_on_demand(len(folders)):
            self._add_all(Translator.unloaded(folder, self._settings.engine, self._metrics) for folder in folders)
            return
        pool = ThreadPoolExecutor(LOAD_AT_ONCE, "load")
        loads = [pool.submit(self._load, folder) for folder in folders]
        while wait(loads, POLL_SECONDS, FIRST_EXCEPTION).not_done and not any(map(_has_failed, loads)):
            if seconds_left() is not None:
                break
        pool.shutdown(wait=False, cancel_futures=True)
        done = [load for load in loads if not load.cancelled()]
        while wait(done, POLL_SECONDS).not_done:
            if seconds_left() == 0:
                for load in done:
                    load.add_done_callback(_stop_loaded)
                return
        self._add_all(load.result() for load in done if load.exception() is None)
        for load in done:
            load.result()

    def start(self) -> None:
        """Load models in the background, if the settings say so, in the running event loop."""
        if self._settings.load_models == "background":
            self._changes.add(task := asyncio.create_task(self.on_demand.load_all()))
            task.add_done_callback(self._on_change_end)

    async def load(self, name: str, place: str | None) -> tuple[Translator, bool]:
        """Load the artifact `name` from below the folders of the settings, in place of the model of that name. Returns
        the model, and whether the name is new. `place`: the artifact's folder, relative to those of the settings, where
        several artifacts have the name. Loading continues if the caller is cancelled. Raises ApiError, with nothing
        changed: 404 for an unknown artifact, 422 for one that cannot be served."""
        return await self._serialize(self._replace(name, place))

    async def load_folder(self, name: str, folder: Path) -> None:
        """Load the artifact in a folder, in place of the model of its name. Raises ApiError."""
        await self._serialize(self._put(name, folder))

    async def prepare(self, name: str, place: str | None) -> Translator:
        """As `load`, without serving the model: `serve` or `discard` follows. Raises ApiError."""
        return await self._serialize(self._prepared(self._folder_of(name, place), name))

    async def prepare_folder(self, name: str, folder: Path) -> Translator:
        """As `load_folder`, without serving the model. Raises ApiError."""
        return await self._serialize(self._prepared(_result(folder), name))

    async def serve(self, prepared: Translator) -> bool:
        """Serve a prepared model, in place of the one of its name; returns whether the name is new."""
        return await self._serialize(self._serve(prepared))

    async def discard(self, prepared: Translator) -> None:
        """Stop a prepared model that is not served."""
        if prepared.name not in self._by_name:
            self._metrics.end_model(prepared.name)
        for worker in self.workers:
            worker.register_metrics()
        self.retired.add([prepared])

    async def unload(self, name: str, may_be_last: bool = False) -> None:
        """Unload a model. Raises ApiError: 404, and 409 for the only one, unless it `may_be_last`."""
        await self._serialize(self._remove(name, may_be_last))

    async def finish(self) -> None:
        """Wait for changes in progress; call it in their event loop."""
        await self.on_demand.stop()
        await asyncio.gather(*self._changes, return_exceptions=True)

    async def _serialize(self, change: Awaitable[Result]) -> Result:
        """Make a change after the changes before it. It is completed even if the caller is cancelled."""

        async def run() -> Result:
            async with self._change_lock:
                return await change

        task = asyncio.ensure_future(run())
        self._changes.add(task)
        task.add_done_callback(self._on_change_end)
        return await asyncio.shield(task)

    def _on_change_end(self, task: asyncio.Task[object]) -> None:
        self._changes.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log it when the caller is gone

    async def _replace(self, name: str, place: str | None) -> tuple[Translator, bool]:
        prepared = await self._prepared(self._folder_of(name, place), name)
        return prepared, await self._serve(prepared)

    async def _put(self, name: str, folder: Path) -> None:
        await self._serve(await self._prepared(_result(folder), name))

    async def _folder_of(self, name: str, place: str | None) -> Path:
        return await asyncio.to_thread(find_artifact, self._settings.models, name, place)

    async def _prepared(self, folder: Awaitable[Path], name: str) -> Translator:
        """A model that is loaded and not served yet."""
        try:
            translator = await asyncio.to_thread(
                Translator.unloaded, await folder, self._settings.engine, self._metrics
            )
            with self._restored_metrics():
                await self.on_demand.open(translator)
        except (ValueError, OSError) as error:
            raise _refused(name, error) from error
        return translator

    async def _serve(self, translator: Translator) -> bool:
        is_new = translator.name not in self._by_name
        replaced = [] if is_new else [self._by_name[translator.name]]
        self._add(translator)
        if replaced:
            self.retired.add(replaced)
        logger.info("model '%s' was loaded from %s", translator.name, translator.artifact.folder)
        return is_new

    async def _remove(self, name: str, may_be_last: bool) -> None:
        if name not in self._by_name:
            raise ApiError("not_found", f"no model '{name}' is served: {nearest(name, self._by_name)}")
        if len(self._by_name) == 1 and not may_be_last:
            raise ApiError("conflict", f"'{name}' is the only model that is served; load another one first")
        unloaded = [self._by_name[name]]
        self._by_name = {served: model for served, model in self._by_name.items() if served != name}
        self._update_routes()
        self._metrics.end_model(name)
        self.retired.add(unloaded)
        logger.info("model '%s' is not served any more", name)

    def _load(self, folder: Path) -> Translator:
        """Raises ArtifactError, VocabularyError."""
        with self._restored_metrics():
            return Translator.load(folder, self._settings.engine, self._metrics)

    @contextlib.contextmanager
    def _restored_metrics(self) -> Iterator[None]:
        """When a model cannot be loaded, the metrics may show its worker instead of one that is served."""
        try:
            yield
        except BaseException:
            for worker in self.workers:
                worker.register_metrics()
            raise

    def _loads_on_demand(self, num_models: int) -> bool:
        match self._settings.load_models:
            case "start":
                return False
            case "auto":
                return num_models > LOADED_AT_START or self._settings.max_model_memory > 0
        return True

    @property
    def workers(self) -> list[EngineWorker]:
        """The workers of all models that are loaded."""
        return [translator.worker for translator in self._by_name.values() if translator.is_loaded]

    def _add(self, translator: Translator) -> None:
        self._add_all([translator])

    def _add_all(self, translators: Iterable[Translator]) -> None:
        new = {translator.name: translator for translator in translators}
        self._by_name = {**self._by_name, **new}
        for translator in new.values():
            # Methods without the model, so that its last user's reference is the last one.
            translator.loader, translator.on_state_change = self.on_demand.load, self._on_state_change
            self._show(translator.name)
        self._update_routes()

    def _on_state_change(self, translator: ServedModel) -> None:
        if self._by_name.get(translator.name) is translator:
            self._show(translator.name)  # an unloaded model has lost its metrics
        self._update_routes()

    def _show(self, name: str) -> None:
        """Show the state of a model in the metrics."""
        metrics = self._metrics
        metrics.ready.labels(name).set_function(lambda: float(self._is_ready() and self._is_model_available(name)))
        metrics.model_healthy.labels(name).set_function(lambda: float(self._is_model_available(name)))
        metrics.model_loaded.labels(name).set_function(lambda: float(name in self and self[name].is_loaded))

    def _update_routes(self) -> None:
        self.routes = RoutingTable(self._by_name, self._allows_pivot)

    @property
    def _allows_pivot(self) -> bool:
        return self._settings.pivot != "off"

    def _is_model_available(self, name: str) -> bool:
        return name in self._by_name and self._by_name[name].is_available


async def _result(folder: Path) -> Path:
    return folder


def _refused(name: str, error: Exception) -> ApiError:
    logger.warning("model '%s' was not loaded: %s", name, error)
    return ApiError("invalid_value", str(error), "name")


def _has_failed(load: "Future[Translator]") -> bool:
    return load.done() and not load.cancelled() and load.exception() is not None


def _stop_loaded(load: "Future[Translator]") -> None:
    """Stop a model that was loaded too late."""
    if not load.cancelled() and load.exception() is None:
        load.result().stop(timeout=0)
