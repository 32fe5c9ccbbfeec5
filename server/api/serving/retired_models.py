"""Models that were replaced or unloaded, until their last users have ended."""

import threading
import weakref
from collections.abc import Callable

from server.runtime.trim_heap import collect, trim_heap
from server.translation.translator import Translator

POLL_SECONDS = 0.1
"""Seconds between two checks of a model, which waits for its last user, whether the server stops."""
HELD_SECONDS = 1.0
"""Seconds to wait for the last reference to a model, which the frame of its last user may still have."""


class RetiredModels:
    """Each has a thread that stops it after its last user and gives its memory back."""

    def __init__(self) -> None:
        self._threads: set[threading.Thread] = set()
        self._must_stop = threading.Event()

    def add(self, models: list[Translator]) -> None:
        """Stop the one model in the list after its last user. Its thread takes it out of the list, so that no other
        reference delays the release of its memory."""
        thread = threading.Thread(target=self._stop, args=(models,), name=f"retire-{models[0].name}", daemon=True)
        self._threads = {other for other in self._threads if other.is_alive()} | {thread}
        thread.start()

    def _stop(self, models: list[Translator]) -> None:
        translator = models.pop()
        while not translator.users.wait_until_zero(POLL_SECONDS) and not self._must_stop.is_set():
            pass
        translator.stop(timeout=0)
        is_held = threading.Lock()  # no Event: a garbage collection may free the model while this thread has its lock
        is_held.acquire()
        weakref.finalize(translator, is_held.release).atexit = False
        del translator
        collect()
        if is_held.locked():
            is_held.acquire(timeout=HELD_SECONDS)
            collect()
        trim_heap()

    def wait(self, seconds_left: Callable[[], float]) -> None:
        """Wait until all of them have stopped. When `seconds_left` returns 0, they stop without waiting for their
        users."""
        while any(thread.is_alive() for thread in self._threads):
            if not seconds_left():
                self._must_stop.set()
            for thread in self._threads:
                thread.join(POLL_SECONDS)
