"""Publishes the progress of this process's work on documents to `feeds`. Use it from one event loop. Progress of other
processes is found in the store."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Translated:
    """A sentence was translated; it is about to be saved."""

    index: int
    translation: str


Listener = Callable[[Translated | None], None]
"""None means that something was saved, or that the work ended."""


class ProgressBroker:
    """Listeners by document id; a document may have several."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[Listener]] = {}

    @contextlib.contextmanager
    def listening(self, document_id: str, listener: Listener) -> Iterator[None]:
        listeners = self._listeners.setdefault(document_id, [])
        listeners.append(listener)
        try:
            yield
        finally:
            listeners.remove(listener)
            if not listeners:
                del self._listeners[document_id]

    def has_listeners(self, document_id: str) -> bool:
        """May be called from any thread."""
        return document_id in self._listeners

    def publish(self, document_id: str, event: Translated | None) -> None:
        for listener in tuple(self._listeners.get(document_id, ())):
            listener(event)

    def publisher(self, document_id: str) -> Callable[[int, Callable[[], str]], None]:
        """A function that any thread may call with a sentence's index and a function that makes its translation. If
        the document has a listener, the translation is made and published in this event loop."""
        loop = asyncio.get_running_loop()

        def publish(index: int, translation: Callable[[], str]) -> None:
            if self.has_listeners(document_id):
                with contextlib.suppress(RuntimeError):  # the event loop was closed: there are no listeners any more
                    loop.call_soon_threadsafe(lambda: self.publish(document_id, Translated(index, translation())))

        return publish
