"""A thread that runs an engine until its worker stops."""

import threading
import time

from server.backends.busy_threads import DECODING
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
        self._may_move = engine.backend.device.runs_on_caller  # else a step's threads are confined with it
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def _run(self) -> None:
        engine, queue = self.engine, self.engine.queue
        try:
            while not self._in_flight.is_stopped:
                self.heartbeat = time.monotonic()
                if engine.is_idle:
                    DECODING.leave()
                    queue.signal()
                    if not queue.wait(IDLE_WAIT):
                        DECODING.rest()
                    continue
                if engine.is_blocked:
                    DECODING.leave()
                    queue.wait_for_long_work(engine.num_engines, IDLE_WAIT)
                self._step()
        finally:
            DECODING.leave()
            DECODING.rest()

    def _step(self) -> None:
        DECODING.enter(self._may_move)
        try:
            self.engine.step()
        except Exception as error:  # resolve all callers; the engine continues without lanes
            if not self._in_flight.is_stopped:  # else they are resolved already, which may have caused the error
                self.engine.fail(error)
