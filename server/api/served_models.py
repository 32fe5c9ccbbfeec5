"""The models in service, by name. They are loaded, replaced and taken away while requests go on."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

from server.api.errors import ApiError
from server.artifact import ArtifactError, find_artifacts, find_models, read_manifest
from server.metrics import Metrics
from server.settings import Settings, nearest
from server.translator import Translator

logger = logging.getLogger("ringmt")

LOAD_AT_ONCE = 2
"""Models that are loaded side by side: on two cores two are ready as soon as one, and each takes memory of its own."""
LOOK_SECONDS = 0.1
"""How often a model that waits for its last users looks whether the server stops."""

Result = TypeVar("Result")


class ServedModels(Mapping[str, Translator]):
    """What new requests find. Who took a translator from here, and counts as one of its `users`, works with it to the
    end, whatever becomes of its name meanwhile: a model stops, and its memory is given back, after the last of them.

    Changes are made one after the other, in one event loop; looking is safe from any thread.
    """

    def __init__(self, settings: Settings, metrics: Metrics, is_ready: Callable[[], bool]) -> None:
        """`is_ready` tells the metrics whether the server takes requests."""
        self._settings, self._metrics, self._is_ready = settings, metrics, is_ready
        self._by_name: Mapping[str, Translator] = {}
        """Replaced as a whole: others go through it meanwhile."""
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

    def load_all(self) -> None:
        """Load every model of the settings, before the first request: some at a time, since a load is mostly work
        outside of Python. The first that cannot be loaded ends it, and the others stop with the server. Raises
        ArtifactError, VocabularyError."""
        with ThreadPoolExecutor(LOAD_AT_ONCE, "load") as pool:
            loads = [pool.submit(self._load, folder) for folder in find_models(self._settings.models).values()]
            wait(loads, return_when=FIRST_EXCEPTION)
            pool.shutdown(cancel_futures=True)
        done = [one for one in loads if not one.cancelled()]
        for one in done:
            if one.exception() is None:
                self._put(one.result())
        for one in done:
            one.result()

    async def load(self, name: str, place: str | None) -> tuple[Translator, bool]:
        """Load the artifact of that name from below the folders of the settings, and then let it take the place of the
        model of its name; whether there was none. `place` is its folder, as seen from there, where several have the
        name. It is loaded even if nobody waits for it any more. Raises ApiError, and nothing changes: 404 for what is
        not there, 422 for what cannot be served."""
        return await self._in_turn(self._replace(name, place))

    async def unload(self, name: str) -> None:
        """Take a model away. Raises ApiError: 404, and 409 for the last one."""
        await self._in_turn(self._take_away(name))

    async def finish(self) -> None:
        """Return when no change is under way; in their event loop."""
        await asyncio.gather(*self._changes, return_exceptions=True)

    def stop_leaving(self, seconds_left: Callable[[], float]) -> None:
        """Return when all models that were replaced or taken away have stopped; without waiting for their users when
        there is no time left."""
        while any(thread.is_alive() for thread in self._leaving):
            if not seconds_left():
                self._must_stop.set()
            for thread in self._leaving:
                thread.join(LOOK_SECONDS)

    async def _in_turn(self, change: Awaitable[Result]) -> Result:
        """A change that was begun is finished, also when its request is given up."""

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
            task.exception()  # seen, also where nobody waits for it any more

    async def _replace(self, name: str, place: str | None) -> tuple[Translator, bool]:
        try:
            folder = await asyncio.to_thread(self._find, name, place)
            translator = await asyncio.to_thread(self._load, folder)
        except (ValueError, OSError) as error:  # what cannot be used: the message says it all
            logger.warning("model '%s' was not loaded: %s", name, error)
            raise ApiError("invalid_value", str(error), "name") from error
        old = self._by_name.get(translator.name)
        self._put(translator)
        if old is not None:
            self._let_go(old)
        logger.info("model '%s' was loaded from %s", translator.name, translator.artifact.folder)
        return translator, old is None

    async def _take_away(self, name: str) -> None:
        if name not in self._by_name:
            raise ApiError("not_found", f"no model '{name}' is served: {nearest(name, self._by_name)}")
        if len(self._by_name) == 1:
            raise ApiError("conflict", f"'{name}' is the only model that is served; load another one first")
        self._by_name, old = {one: it for one, it in self._by_name.items() if one != name}, self._by_name[name]
        self._metrics.end_model(name)
        self._let_go(old)
        logger.info("model '%s' is not served any more", name)

    def _find(self, name: str, place: str | None) -> Path:
        """No path is made of what was asked for: it is compared with what there is. Raises ApiError, ArtifactError."""
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
            for translator in self._by_name.values():  # the metrics may look at what did not come to be
                translator.worker.show()
            raise

    def _put(self, translator: Translator) -> None:
        self._by_name = {**self._by_name, translator.name: translator}
        self._metrics.ready.labels(translator.name).set_function(lambda: float(self._is_ready()))

    def _let_go(self, translator: Translator) -> None:
        thread = threading.Thread(
            target=self._put_away, args=(translator,), name=f"put-away-{translator.name}", daemon=True
        )
        self._leaving = {one for one in self._leaving if one.is_alive()} | {thread}
        thread.start()

    def _put_away(self, translator: Translator) -> None:
        while not translator.users.wait_until_none(LOOK_SECONDS) and not self._must_stop.is_set():
            pass
        translator.stop(timeout=0)


def _name_of(folder: Path) -> str | None:
    """None where the manifest cannot be read."""
    try:
        return read_manifest(folder).name
    except ArtifactError:
        return None
