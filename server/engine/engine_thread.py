"""A thread that runs an engine until its worker stops."""

import threading
import time

from server.engine.engine import Engine
from server.engine.in_flight import InFlight

IDLE_WAIT = 0.5
"""Seconds after which an idle thread wakes up for its next heartbeat."""


class EngineThread:
    """`thread` does not keep the engine once it has ended."""

    def __init__(self, engine: Engine, in_flight: InFlight, name: str) -> None:
        self.engine, self._in_flight = engine, in_flight
        self.heartbeat = time.monotonic()
        """When its last round began, a time.monotonic() value."""
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def _run(self) -> None:
        engine, queue = self.engine, self.engine.queue
        while not self._in_flight.is_stopped:
            self.heartbeat = time.monotonic()
            if engine.is_idle:
                queue.signal()
                queue.wait(IDLE_WAIT)
                continue
            if engine.is_blocked:
                queue.wait_for_long_work(engine.num_engines, IDLE_WAIT)
            try:
                engine.step()
            except Exception as error:  # resolve all callers; the engine continues without lanes
                if not self._in_flight.is_stopped:  # else they are resolved already, which may have caused the error
                    engine.fail(error)
