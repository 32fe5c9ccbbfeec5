"""The workers of a queue that sleep until there is something to do."""

import threading


class IdleWorkers:
    """Every method is called while holding the queue's lock."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock
        self._sleeping: list[threading.Condition] = []
        """One condition for each. The last one is woken first: its CPU caches are warmest."""
        self._count = 0

    def __len__(self) -> int:
        """Those that do not run yet, of which some may have been woken."""
        return self._count

    def wait(self, timeout: float) -> bool:
        """Block until `wake` chooses this worker or `timeout` seconds have passed, with the lock released meanwhile.
        Returns whether it was chosen."""
        woken = threading.Condition(self._lock)
        self._sleeping.append(woken)
        self._count += 1
        was_chosen = woken.wait(timeout)
        self._count -= 1
        if woken in self._sleeping:
            self._sleeping.remove(woken)
        return was_chosen

    def wake(self, count: int) -> None:
        """Wake up to `count` workers."""
        for _ in range(min(count, len(self._sleeping))):
            self._sleeping.pop().notify()

    def wake_all(self) -> None:
        self.wake(len(self._sleeping))
