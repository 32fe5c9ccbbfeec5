"""Publishes the progress of this process's work on documents to the requests that stream it. Use it from one event
loop. Progress of other processes is found in the store."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Translated:
    """A sentence was translated; it is about to be saved."""

    index: int
    translation: str


Inbox = asyncio.Queue[Translated | None]
"""None means that something was saved, or that the work ended."""


class ProgressBroker:
    """Inboxes by document id; a document may have several."""

    def __init__(self) -> None:
        self._inboxes: dict[str, list[Inbox]] = {}

    @contextlib.contextmanager
    def listening(self, document_id: str) -> Iterator[Inbox]:
        inbox: Inbox = asyncio.Queue()
        inboxes = self._inboxes.setdefault(document_id, [])
        inboxes.append(inbox)
        try:
            yield inbox
        finally:
            inboxes.remove(inbox)
            if not inboxes:
                del self._inboxes[document_id]

    def has_listeners(self, document_id: str) -> bool:
        """May be called from any thread."""
        return document_id in self._inboxes

    def publish(self, document_id: str, event: Translated | None) -> None:
        for inbox in self._inboxes.get(document_id, ()):
            inbox.put_nowait(event)

    def publisher(self, document_id: str) -> Callable[[int, Callable[[], str]], None]:
        """A function that any thread may call with a sentence's index and a function that makes its translation. If
        the document has an inbox, the translation is made and published in this event loop."""
        loop = asyncio.get_running_loop()

        def publish(index: int, translation: Callable[[], str]) -> None:
            if self.has_listeners(document_id):
                with contextlib.suppress(RuntimeError):  # the event loop was closed: there are no listeners any more
                    loop.call_soon_threadsafe(lambda: self.publish(document_id, Translated(index, translation())))

        return publish
