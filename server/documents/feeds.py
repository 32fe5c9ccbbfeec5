"""Updates of documents for listeners: one reader for each document, however many listen to it, and one poll of the
store for all documents of this process.

A listener has no queue. It reads the feed's log from the number of its next update on; if the log does not reach back
so far, it reads the store, which has all but the translations that are not stored yet. Use it from one event loop.
"""

import asyncio
import contextlib
import contextvars
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from server.documents.progress import ProgressBroker, Translated
from server.documents.two_stage import as_shown, num_pending
from server.stores.interface import FIRST_CHANGE, ChangePlace, ContextStore
from server.stores.records import Document, Sentence
from server.stores.threads import in_store_thread
from server.telemetry.labels import RESTING_STATES

POLL_SECONDS = 0.25
"""How often the store is polled for documents that other processes change."""
PAGE: Final = 256
"""Sentences that are read in one call."""
LOG_LENGTH: Final = 512
LOG_CHARS: Final = 2**18
"""The most that a log keeps: updates, and characters of their sentences."""
LAST_POSITION: Final = 2**31 - 1
"""The position of a document's state: after all sentences that its version wrote."""


@dataclass(frozen=True)
class Snapshot:
    """A document at one moment, and the number of its sentences that wait to be translated."""

    document: Document
    num_pending: int


@dataclass(frozen=True)
class Update:
    """Something happened: this process translated a sentence, a sentence was stored, or the document changed. `place`:
    a reader that has all updates up to it may continue there; None for what is not stored yet. `written`: forms of the
    update that its listeners share, also while they are made."""

    place: ChangePlace | None
    content: Translated | Sentence | Snapshot
    written: "dict[bool, bytes | asyncio.Future[bytes]]" = field(default_factory=dict)

    @property
    def is_last(self) -> bool:
        """Whether the document is done or has failed."""
        return isinstance(self.content, Snapshot) and self.content.document.state in RESTING_STATES

    @property
    def num_chars(self) -> int:
        match self.content:
            case Sentence(source=source, translation=translation):
                return len(source) + len(translation or "")
            case Translated(translation=translation):
                return len(translation)
        return 0


def place_of(document: Document) -> ChangePlace:
    """The place of a reader that has everything of this version."""
    return ChangePlace(document.version, LAST_POSITION)


@dataclass(frozen=True)
class _Read:
    """Updates from the store; `place` is where the next ones begin, `are_all` whether there were no more."""

    updates: list[Update]
    place: ChangePlace
    are_all: bool


def _read(store: ContextStore, document_id: str, after: ChangePlace) -> _Read:
    """The next updates after a place. A place that the document has not reached is one of another document, or the
    store lost the document's end: then all updates. Blocks."""
    changes = store.changes(document_id, after, PAGE)
    document = changes.document
    if after.version > document.version:
        return _read(store, document_id, FIRST_CHANGE)
    shown = as_shown(document, [sentence for _, sentence in changes.sentences])
    updates = [
        Update(place, sentence)
        for (place, _), sentence in zip(changes.sentences, shown, strict=True)
        if not sentence.is_pending
    ]
    if not changes.are_all:
        return _Read(updates, changes.sentences[-1][0], False)
    if place_of(document) > after:
        updates.append(Update(place_of(document), _snapshot(store, document)))
    return _Read(updates, place_of(document), True)


def _snapshot(store: ContextStore, document: Document) -> Snapshot:
    pending = num_pending(document)
    if pending is None:  # RingMT 0.4 or older stored it
        pending = sum(sentence.is_pending for sentence in store.sentences(document.id))
    return Snapshot(document, pending)


class Feed:
    """The updates of one document from the time at which somebody listened to it."""

    def __init__(self, document_id: str) -> None:
        self.document_id = document_id
        self.place: ChangePlace | None = None
        """Everything up to it was read; None until the reader has begun."""
        self.failure: Exception | None = None
        """Why no more updates come."""
        self.num_listeners = 0
        self.to_read = asyncio.Event()
        """Something may have been stored."""
        self._log: deque[Update] = deque()
        self._log_chars = 0
        self.end = 0
        """The number of updates until now; the number of the next one."""
        self.closing = contextlib.ExitStack()
        """What ends with it."""
        self._happened = asyncio.Event()

    def append(self, update: Update) -> None:
        self._log.append(update)
        self._log_chars += update.num_chars
        self.end += 1
        while len(self._log) > LOG_LENGTH or (self._log_chars > LOG_CHARS and len(self._log) > 1):
            self._log_chars -= self._log.popleft().num_chars
        self.notify()

    def notify(self) -> None:
        """Wake all listeners."""
        happened, self._happened = self._happened, asyncio.Event()
        happened.set()

    def since(self, number: int) -> list[Update] | None:
        """The updates from this number on; None when the log has lost some."""
        missing = self.end - number
        if missing > len(self._log):
            return None
        return [self._log[index] for index in range(-missing, 0)] if missing else []

    async def wait(self, timeout: float) -> None:
        """Until something happens, `timeout` seconds at most. Raises the reader's failure."""
        if self.failure is not None:
            raise self.failure
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._happened.wait()
        if self.failure is not None:
            raise self.failure


class Feeds:
    """The feeds of this process by document id."""

    def __init__(self, store: ContextStore, progress: ProgressBroker, works_on: Callable[[str], bool]) -> None:
        """`progress` publishes what this process does. `works_on`: whether it works on a document, which is then not
        polled."""
        self._store, self._progress, self._works_on = store, progress, works_on
        self._feeds: dict[str, Feed] = {}
        self._poller: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def following(self, document_id: str) -> Iterator[Feed]:
        """The document's feed, with one more listener."""
        feed = self._feeds.get(document_id)
        if feed is None:
            feed = self._feeds[document_id] = Feed(document_id)
            self._start(feed)
        feed.num_listeners += 1
        try:
            yield feed
        finally:
            feed.num_listeners -= 1
            if not feed.num_listeners:
                self._end(feed, None)

    async def updates(
        self, document_id: str, after: ChangePlace, deadline: float, quiet_seconds: float
    ) -> AsyncGenerator[Update | None, None]:
        """The updates of a document after a place, up to the one that is the last or until `deadline` (a
        time.monotonic() value); None when nothing happened for `quiet_seconds`. Raises UnknownDocument, StoreError."""
        with self.following(document_id) as feed:
            while feed.place is None and (seconds_left := deadline - time.monotonic()) > 0:
                await feed.wait(seconds_left)
            number: int | None = None
            quiet_since = time.monotonic()
            while time.monotonic() < deadline:
                logged = None if number is None else feed.since(number)
                if logged is None:  # at first, and when it was too slow
                    number = feed.end
                    read = await in_store_thread(_read, self._store, document_id, after)
                    after, number = read.place, number if read.are_all else None
                    news = read.updates
                else:
                    number = feed.end
                    news = [update for update in logged if update.place is None or update.place > after]
                for update in news:
                    quiet_since = time.monotonic()
                    yield update
                    if update.is_last:
                        return
                if logged:
                    after = max([after, *(update.place for update in news if update.place is not None)])
                elif logged is not None:
                    until = min(deadline, quiet_since + quiet_seconds)
                    await feed.wait(max(0.0, until - time.monotonic()))
                    if feed.end == number and time.monotonic() - quiet_since >= quiet_seconds:
                        quiet_since = time.monotonic()
                        yield None

    def _start(self, feed: Feed) -> None:
        """Both tasks serve all listeners: they have nothing of the context of the request that came first."""
        on_progress = partial(self._on_progress, feed)
        feed.closing.enter_context(self._progress.listening(feed.document_id, on_progress))
        reader = asyncio.create_task(self._follow(feed), context=contextvars.Context())
        feed.closing.callback(reader.cancel)
        if self._poller is None:
            self._poller = asyncio.create_task(self._poll(), context=contextvars.Context())

    def _end(self, feed: Feed, failure: Exception | None) -> None:
        """End the feed: it has no listeners, or the store failed. Later listeners get another feed."""
        if self._feeds.get(feed.document_id) is feed:
            del self._feeds[feed.document_id]
        feed.failure = failure
        feed.notify()
        feed.closing.close()
        if not self._feeds and self._poller is not None:
            self._poller.cancel()
            self._poller = None

    def _on_progress(self, feed: Feed, translated: Translated | None) -> None:
        if translated is None:
            feed.to_read.set()
        else:
            feed.append(Update(None, translated))

    async def _follow(self, feed: Feed) -> None:
        """Append what was stored, whenever something may have been."""
        try:
            feed.place = place_of(await in_store_thread(self._store.document, feed.document_id))
            feed.notify()
            while True:
                await feed.to_read.wait()
                feed.to_read.clear()
                are_all = False
                while not are_all:
                    read = await in_store_thread(_read, self._store, feed.document_id, feed.place)
                    feed.place, are_all = read.place, read.are_all
                    for update in read.updates:
                        feed.append(update)
        except Exception as error:  # its listeners raise it
            self._end(feed, error)

    async def _poll(self) -> None:
        """See whether other processes changed documents: one call of the store for all."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            polled = {name: feed for name, feed in self._feeds.items() if not self._works_on(name)}
            if not polled:
                continue
            try:
                versions = await in_store_thread(self._store.versions, list(polled))
            except Exception as error:
                for feed in polled.values():
                    self._end(feed, error)
                continue
            for name, feed in polled.items():
                if feed.place is not None and versions.get(name) != feed.place.version:
                    feed.to_read.set()
