"""Watches the engine of every model. One that hangs or has ended costs its own model: its sentences are answered with
an error, it is started anew a few times, and then not asked any more. Other models go on."""

import asyncio
import logging
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from server.engine import worker as engine_worker
from server.engine.request import ModelUnavailable
from server.engine.worker import EngineWorker
from server.runtime.dedicated_thread import in_dedicated_thread
from server.telemetry.metrics import Metrics
from server.translation.translator import Translator

logger = logging.getLogger("ringmt")

POLL_SECONDS = 0.5
"""How often the engines are looked at."""
BACK_OFF_SECONDS = (1.0, 5.0, 25.0)
"""Pauses before an engine is started anew; a model that needs more starts than these has failed."""
FORGIVEN_AFTER = 600.0
"""Seconds after which a start does not count any more, unless the threads that it left behind still hang."""


@dataclass
class _Record:
    """When a model's engines were given up, and their threads."""

    given_up: list[tuple[float, tuple[threading.Thread, ...]]] = field(default_factory=list)

    def count(self, now: float) -> int:
        """Those that still count."""
        self.given_up = [
            (when, threads)
            for when, threads in self.given_up
            if now - when < FORGIVEN_AFTER or any(thread.is_alive() for thread in threads)
        ]
        return len(self.given_up)


class Supervisor:
    """Use it from one event loop."""

    def __init__(self, translators: Mapping[str, Translator], metrics: Metrics, may_start: Callable[[], bool]) -> None:
        """`may_start`: whether engines are started anew; a server that drains starts none."""
        self._translators, self._metrics, self._may_start = translators, metrics, may_start
        self._records: weakref.WeakKeyDictionary[Translator, _Record] = weakref.WeakKeyDictionary()
        self._starts: set[asyncio.Task[None]] = set()
        self._excused_until = 0.0
        """No engine counts as hanging before: the whole process was held."""

    async def run(self) -> None:
        """Watch until cancelled."""
        looked = time.monotonic()
        try:
            while True:
                await asyncio.sleep(POLL_SECONDS)
                now, looked, before = time.monotonic(), time.monotonic(), looked
                if now - before > engine_worker.STUCK_AFTER / 3:
                    # Whoever stopped the process, or held its interpreter, stopped the engines, too.
                    self._excused_until = now + engine_worker.STUCK_AFTER
                for translator in list(self._translators.values()):
                    self._look_at(translator, now)
        finally:
            for start in self._starts:
                start.cancel()

    def _look_at(self, translator: Translator, now: float) -> None:
        if translator.state != "ready":
            return
        if translator.worker.has_exited:
            self._fail(translator, "a thread of its engine ended")
        elif now >= self._excused_until and translator.worker.is_stuck:
            self._fail(translator, f"its engine gave no sign of life for {engine_worker.STUCK_AFTER:g} seconds")

    def _fail(self, translator: Translator, reason: str) -> None:
        """Answer what the model has in flight, and start its engine anew."""
        logger.error("model '%s': %s", translator.name, reason)
        self._records.setdefault(translator, _Record()).given_up.append((time.monotonic(), translator.worker.threads))
        translator.fail("restarting", reason)
        if self._may_start():
            start = asyncio.create_task(self._start_anew(translator, reason))
            self._starts.add(start)
            start.add_done_callback(self._starts.discard)

    async def _start_anew(self, translator: Translator, reason: str) -> None:
        record = self._records[translator]
        while (count := record.count(time.monotonic())) <= len(BACK_OFF_SECONDS):
            await asyncio.sleep(BACK_OFF_SECONDS[max(0, count - 1)])
            if self._is_over(translator):
                return
            worker = translator.worker.replacement()
            try:
                await in_dedicated_thread(_open, worker)
            except Exception as error:
                logger.warning("the engine of model '%s' was started anew: %s", translator.name, _described(error))
                record.given_up.append((time.monotonic(), worker.threads))
            else:
                if not self._is_over(translator):
                    translator.recover(worker)
                    self._metrics.model_restarts_total.labels(translator.name).inc()
                    logger.warning("model '%s' is ready again: its engine was replaced", translator.name)
                    return
                await in_dedicated_thread(worker.stop)
            if self._is_over(translator):
                if translator.name in self._translators:
                    # The metrics show the worker that was created last.
                    self._translators[translator.name].worker.register_metrics()
                return
        translator.fail("failed", f"{reason}; its engine was started anew in vain")
        logger.error(
            "model '%s' has failed and is not asked any more: PUT /v1/models/%s loads it again",
            translator.name,
            translator.name,
        )

    def _is_over(self, translator: Translator) -> bool:
        """The model is not served any more, or the server drains."""
        return self._translators.get(translator.name) is not translator or not self._may_start()


def _open(worker: EngineWorker) -> None:
    """Start a worker and let it translate. Raises what went wrong; then it is left to itself."""
    worker.start()
    try:
        worker.warm_up()
    except BaseException as error:
        worker.abandon(ModelUnavailable(_described(error)))
        raise


def _described(error: BaseException) -> str:
    """An error without its own words, which may quote a text; ours say what is needed."""
    return str(error) if isinstance(error, ModelUnavailable) else f"it raised {type(error).__name__}"
