"""Counts the users of something that is to be stopped after the last of them."""

import threading
from types import TracebackType


class RefCount:
    """A count of users; thread-safe. A `with` block counts as one."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    def acquire(self) -> None:
        with self._changed:
            self._count += 1

    def release(self) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def wait_until_zero(self, timeout: float) -> bool:
        """Wait until there is none; False when there still is one after `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._count, timeout)
