"""Counts the users of an object that is stopped after its last user."""

import threading


class RefCount:
    """A thread-safe reference count. A `with` block counts as one reference."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    @property
    def count(self) -> int:
        return self._count

    def acquire(self) -> None:
        with self._changed:
            self._count += 1

    def release(self) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()

    def wait_until_zero(self, timeout: float) -> bool:
        """Wait until the count is zero; returns False if it is not after `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._count, timeout)
