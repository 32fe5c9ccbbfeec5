"""Watches the engine of every model. When an engine hangs or has ended, its model alone fails: sentences in flight are
answered with an error, the engine is restarted a few times, and then the model gets no more requests."""

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
"""Seconds between two checks of the engines."""
BACK_OFF_SECONDS = (1.0, 5.0, 25.0)
"""Seconds before each restart of an engine; a model that needs more restarts has failed."""
FORGIVEN_AFTER = 600.0
"""Seconds after which a restart no longer counts, unless threads of the abandoned engine still hang."""


@dataclass
class _Record:
    """The times at which a model's engines were abandoned, with their threads."""

    abandoned: list[tuple[float, tuple[threading.Thread, ...]]] = field(default_factory=list)

    def count(self, now: float) -> int:
        """How many still count."""
        self.abandoned = [
            (when, threads)
            for when, threads in self.abandoned
            if now - when < FORGIVEN_AFTER or any(thread.is_alive() for thread in threads)
        ]
        return len(self.abandoned)


class Supervisor:
    """Use it from one event loop."""

    def __init__(
        self, translators: Mapping[str, Translator], metrics: Metrics, may_restart: Callable[[], bool]
    ) -> None:
        """`may_restart`: whether engines are restarted; a server that drains restarts none."""
        self._translators, self._metrics, self._may_restart = translators, metrics, may_restart
        self._records: weakref.WeakKeyDictionary[Translator, _Record] = weakref.WeakKeyDictionary()
        self._starts: set[asyncio.Task[None]] = set()
        self._ignore_hangs_until = 0.0
        """Until then no engine counts as hanging, because the whole process was stopped."""

    async def run(self) -> None:
        """Watch until cancelled."""
        last_check = time.monotonic()
        try:
            while True:
                await asyncio.sleep(POLL_SECONDS)
                now, last_check, before = time.monotonic(), time.monotonic(), last_check
                if now - before > engine_worker.STUCK_AFTER / 3:
                    # The process was stopped, or its interpreter blocked, and the engines with it.
                    self._ignore_hangs_until = now + engine_worker.STUCK_AFTER
                for translator in list(self._translators.values()):
                    self._check(translator, now)
        finally:
            for start in self._starts:
                start.cancel()

    def _check(self, translator: Translator, now: float) -> None:
        if translator.state != "ready":
            return
        if translator.worker.has_failed:
            self._fail(translator, "a thread of its engine ended")
        elif now >= self._ignore_hangs_until and translator.worker.is_stuck:
            self._fail(translator, f"its engine gave no sign of life for {engine_worker.STUCK_AFTER:g} seconds")

    def _fail(self, translator: Translator, reason: str) -> None:
        """Answer the model's sentences in flight with an error, and restart its engine."""
        logger.error("model '%s': %s", translator.name, reason)
        self._records.setdefault(translator, _Record()).abandoned.append((time.monotonic(), translator.worker.threads))
        translator.fail("restarting", reason)
        if self._may_restart():
            start = asyncio.create_task(self._restart(translator, reason))
            self._starts.add(start)
            start.add_done_callback(self._starts.discard)

    async def _restart(self, translator: Translator, reason: str) -> None:
        record = self._records[translator]
        while (count := record.count(time.monotonic())) <= len(BACK_OFF_SECONDS):
            await asyncio.sleep(BACK_OFF_SECONDS[max(0, count - 1)])
            if self._is_over(translator):
                return
            worker = translator.worker.replacement()
            try:
                await in_dedicated_thread(_open, worker)
            except Exception as error:
                logger.warning("a restart of the engine of model '%s' failed: %s", translator.name, _description(error))
                record.abandoned.append((time.monotonic(), worker.threads))
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
        translator.fail("failed", f"{reason}; restarts of its engine failed")
        logger.error(
            "model '%s' has failed and gets no more requests: PUT /v1/models/%s loads it again",
            translator.name,
            translator.name,
        )

    def _is_over(self, translator: Translator) -> bool:
        """Whether the model is no longer served, or the server drains."""
        return self._translators.get(translator.name) is not translator or not self._may_restart()


def _open(worker: EngineWorker) -> None:
    """Start a worker and let it translate a first sentence. If that raises, the worker is abandoned."""
    worker.start()
    try:
        worker.warm_up()
    except BaseException as error:
        worker.abandon(ModelUnavailable(_description(error)))
        raise


def _description(error: BaseException) -> str:
    """A description of an error without its message, which may quote a text, unless the message is ours."""
    return str(error) if isinstance(error, ModelUnavailable) else f"it raised {type(error).__name__}"
