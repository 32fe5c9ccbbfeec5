"""Who still works with something that is to be put away when nobody does."""

import threading
from types import TracebackType


class Users:
    """A count of those at work; thread-safe. `with` counts one in and out."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    def enter(self) -> None:
        with self._changed:
            self._count += 1

    def leave(self) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def __enter__(self) -> None:
        self.enter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def wait_until_none(self, timeout: float) -> bool:
        """False when there is still one after `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._count, timeout)
