"""Tells those who listen how this process's work on a document proceeds. Use it from one event loop."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Translated:
    """A sentence was translated; it is about to be written."""

    index: int
    translation: str


Inbox = asyncio.Queue[Translated | None]
"""None says that something was written, or that the work ended."""


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

    def wants(self, document_id: str) -> bool:
        """Whether somebody listens; from any thread."""
        return document_id in self._inboxes

    def tell(self, document_id: str, news: Translated | None) -> None:
        for inbox in self._inboxes.get(document_id, ()):
            inbox.put_nowait(news)

    def teller(self, document_id: str) -> Callable[[int, Callable[[], str]], None]:
        """A function that any thread may call with a sentence's index and a function that makes its translation. If
        somebody listens, the translation is made and told in this event loop."""
        loop = asyncio.get_running_loop()

        def tell(index: int, translation: Callable[[], str]) -> None:
            if self.wants(document_id):
                with contextlib.suppress(RuntimeError):  # The event loop was closed: nobody listens any more.
                    loop.call_soon_threadsafe(lambda: self.tell(document_id, Translated(index, translation())))

        return tell
