"""A thread that does the same work again and again."""

import threading
from collections.abc import Callable


class PeriodicThread:
    """Calls `work` at once and then every `interval` seconds until it is stopped; with `works_at_end` once more then.
    `work` raises nothing."""

    def __init__(self, name: str, interval: float, work: Callable[[], None], works_at_end: bool = False) -> None:
        self._interval, self._work, self._works_at_end = interval, work, works_at_end
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """End the thread, after the work that is under way; False if that takes more than `timeout` seconds."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._work()
            self._stopping.wait(self._interval)
        if self._works_at_end:
            self._work()
