"""Models that are loaded for their first request, and leave memory for others when nobody uses them."""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import partial

from server.engine.request import ModelUnavailable
from server.runtime.dedicated_thread import in_dedicated_thread
from server.runtime.ref_count import RefCount
from server.runtime.trim_heap import collect, trim_heap
from server.translation.loaded_model import LoadedModel
from server.translation.served_model import ServedModel

logger = logging.getLogger("ringmt")

LOAD_AT_ONCE = 2
"""Models that are loaded at the same time: on two cores, two take as long as one. More would only take memory."""
POLL_SECONDS = 0.05
"""Seconds between two checks whether a loaded model has lost its last user."""
ENGINE_BYTES = 24 * 2**20
"""Bytes that a model of any size takes beside its files: graphs, buffers of its engines, vocabulary."""


class ModelsOnDemand:
    """Use it from one event loop."""

    def __init__(self, models: Callable[[], Iterable[ServedModel]], max_bytes: int | None) -> None:
        """`models`: all that are served. `max_bytes`: of all models in memory; None for any number."""
        self._models, self._max_bytes = models, max_bytes
        self._loads: dict[ServedModel, asyncio.Task[None]] = {}
        self._places = asyncio.Semaphore(LOAD_AT_ONCE)
        self._reserved: dict[ServedModel, int] = {}
        """Bytes of the models that are being loaded."""
        self._memory = asyncio.Lock()
        self._waiting: Counter[RefCount] = Counter()
        """How many users of a model wait for room and keep nothing in memory."""
        self._is_stopping = False

    async def load(self, models: Sequence[ServedModel]) -> None:
        """Wait until the models, each of which counts the caller among its users, are loaded (see `load_together`).
        Loading continues if the caller is cancelled.

        While the caller waits for room it keeps none of its models in memory: two requests that each had one model
        would wait for each other's. Raises ModelUnavailable: a model that cannot be loaded has failed then."""
        if any(map(self._is_missing, models)):
            self._check_fit(models)
            await self._begin_loads(models)
        for load in [self._loads[model] for model in models if model in self._loads]:
            await asyncio.shield(load)

    def _check_fit(self, models: Sequence[ServedModel]) -> None:
        """Raise ModelUnavailable for several models that are never in memory together; one alone always is."""
        total = sum(map(model_bytes, models))
        if self._max_bytes is not None and len(models) > 1 and total > self._max_bytes:
            names = " and ".join(f"'{model.name}'" for model in models)
            raise ModelUnavailable(
                f"the models {names} take {total} bytes together, max_model_memory is {self._max_bytes}: the server "
                "needs a larger one to translate with both"
            )

    async def _begin_loads(self, models: Sequence[ServedModel]) -> None:
        """Begin to load those of the models that nobody loads, when there is room for all of them."""
        users = [model.users for model in models]
        self._waiting.update(users)
        try:
            async with self._free_memory_for(models):
                for model in filter(self._is_missing, models):
                    self._reserved[model] = model_bytes(model)
                    load = self._loads[model] = asyncio.create_task(self._load(model))
                    load.add_done_callback(partial(self._on_end, model))
        finally:
            self._waiting.subtract(users)
            self._waiting = +self._waiting  # without those that nobody waits for, such as of models that were replaced

    def _is_missing(self, model: ServedModel) -> bool:
        return model.state == "unloaded" and model not in self._loads

    async def load_all(self) -> None:
        """Load models in their order as long as they fit without unloading others."""
        for translator in list(self._models()):
            if self._is_stopping:
                return
            if translator.state == "unloaded" and self._fit([translator]):
                try:
                    with translator.users:
                        await self.load([translator])
                except ModelUnavailable:
                    continue  # the model has failed, and the log says why

    async def stop(self) -> None:
        """Wait for loads in progress; none that waits for memory goes on, and none of `load_all` begins."""
        self._is_stopping = True
        await asyncio.gather(*self._loads.values(), return_exceptions=True)

    async def open(self, translator: ServedModel) -> None:
        """Load an unloaded model that is not served yet when there is room for it. Raises what
        ServedModel.load_unloaded raises, and ModelUnavailable when the server stops."""
        async with self._free_memory_for([translator]):
            self._reserved[translator] = model_bytes(translator)
        await self._open(translator)

    async def _load(self, translator: ServedModel) -> None:
        try:
            await self._open(translator)
        except (ValueError, OSError) as error:
            logger.error("model '%s' was not loaded: %s", translator.name, error)
            self._fail(translator, str(error))
            raise translator.unavailable() from error
        except Exception:
            logger.exception("model '%s' was not loaded", translator.name)
            self._fail(translator, "loading it failed")
            raise translator.unavailable() from None
        logger.info("model '%s' was loaded for a request", translator.name)

    async def _open(self, translator: ServedModel) -> None:
        """Load a model whose bytes are reserved."""
        try:
            async with self._places:
                loaded = await in_dedicated_thread(translator.load_unloaded)
        finally:
            self._reserved.pop(translator, None)
        translator.open(loaded)

    def _fail(self, translator: ServedModel, reason: str) -> None:
        translator.metrics.end_model(translator.name)  # they may read an engine that was not started
        translator.fail("failed", reason)

    def _on_end(self, translator: ServedModel, load: "asyncio.Task[None]") -> None:
        del self._loads[translator]
        if not load.cancelled():
            load.exception()  # retrieved, so that asyncio does not log it when all callers are gone

    @contextlib.asynccontextmanager
    async def _free_memory_for(self, models: Sequence[ServedModel]) -> AsyncIterator[None]:
        """A block in which there is room for the models, in the order of the callers, so that the turn of large models
        comes. Until then models that no request uses are unloaded, the least recently used first. A
        model that is larger than the limit is loaded when no other is."""
        async with self._memory:
            while not self._fit(models) and self._others(models):
                if self._is_stopping:
                    names = " and ".join(f"'{model.name}'" for model in models)
                    raise ModelUnavailable(f"{names} cannot be loaded: the server stops")
                idle = [other for other in self._others(models) if self._is_idle(other)]
                if idle:
                    await self._unload(min(idle, key=lambda other: other.last_used))
                else:
                    await asyncio.sleep(POLL_SECONDS)
            yield

    def _fit(self, models: Sequence[ServedModel]) -> bool:
        if self._max_bytes is None:
            return True
        used = sum(model_bytes(other) for other in self._models() if other.is_loaded)
        missing = sum(model_bytes(model) for model in models if not model.is_loaded and model not in self._reserved)
        return used + sum(self._reserved.values()) + missing <= self._max_bytes

    def _others(self, models: Sequence[ServedModel]) -> list[ServedModel]:
        """All other models that take memory."""
        loaded = [other for other in self._models() if other.is_loaded]
        return [other for other in (*loaded, *self._reserved) if other not in models]

    def _is_idle(self, model: ServedModel) -> bool:
        return model.state == "ready" and model.users.count == self._waiting[model.users]

    async def _unload(self, translator: ServedModel) -> None:
        logger.info("model '%s' leaves memory for another one", translator.name)
        translator.metrics.end_model(translator.name)  # `close` then shows that it is not loaded
        closed = [translator.close()]
        await in_dedicated_thread(_stop, closed)


def _stop(closed: list[LoadedModel]) -> None:
    """Stop the one model in the list, which is taken out of it, so that no reference delays the release of its
    memory."""
    closed.pop().worker.stop()
    collect()
    trim_heap()


def model_bytes(translator: ServedModel) -> int:
    """About the memory of the model when it is loaded: the files of its artifact at its precision, and ENGINE_BYTES.
    A file that is missing is an error when the model is loaded."""
    artifact = translator.artifact
    others = {*artifact.manifest.precisions} - {translator.settings.precision}
    names = [name for name in artifact.manifest.files if not others & {*name.split(".")}]
    files = [artifact.path(name) for name in names]
    return ENGINE_BYTES + sum(file.stat().st_size for file in files if file.is_file())
