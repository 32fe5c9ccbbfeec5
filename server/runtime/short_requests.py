"""Short requests in progress, for which long work in threads waits."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

is_short: ContextVar[bool] = ContextVar("is_short", default=False)
"""Whether work is for a short request."""


class ShortRequests:
    """Counts the short requests in progress. Thread-safe."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()
        self._none = threading.Event()
        self._none.set()

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Around the work for a short request."""
        with self._lock:
            self._count += 1
            self._none.clear()
        token = is_short.set(True)
        try:
            yield
        finally:
            is_short.reset(token)
            with self._lock:
                self._count -= 1
                if not self._count:
                    self._none.set()

    def wait_for_none(self, seconds: float) -> bool:
        """Wait until no short request is in progress; False if some are after so many seconds."""
        return self._none.wait(seconds)


short_requests = ShortRequests()
"""Of this process."""
