"""Whoever listens to a document has all of it in the end, however slow it is, and however often it is interrupted."""

import asyncio
import contextlib
import dataclasses
import random
import time
from collections import Counter
from collections.abc import Collection, Coroutine
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.documents import feeds
from server.documents.feeds import LAST_POSITION, Feed, Feeds, Snapshot, Update
from server.documents.progress import ProgressBroker, Translated
from server.stores.interface import FIRST_CHANGE, ChangePlace, Changes, StoreError, UnknownDocument
from server.stores.memory import MemoryStore
from server.stores.records import Document, Sentence
from tests.server.documents.some import document, sentence

PATIENCE = 60.0


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs and pages that are soon full."""
    monkeypatch.setattr(feeds, "LOG_LENGTH", 4)
    monkeypatch.setattr(feeds, "PAGE", 3)
    monkeypatch.setattr(feeds, "POLL_SECONDS", 0.001)


class Work:
    """A document that changes: by this process, which says so, or by another one."""

    def __init__(self, generator: random.Random) -> None:
        self.generator, self.store, self.progress = generator, MemoryStore(), ProgressBroker()
        self.is_here = generator.random() < 0.5
        self.count = generator.randint(1, 9)
        self.store.create(
            document(num_sentences=self.count, num_pending=self.count), [sentence(index) for index in range(self.count)]
        )
        self.feeds = Feeds(self.store, self.progress, lambda name: self.is_here)

    async def run(self) -> None:
        """Write sentences, also some again, until all are translated."""
        generator = self.generator
        while True:
            for _ in range(generator.randrange(6)):
                await asyncio.sleep(0)
            now, sentences = self.store.read("first")
            chosen = generator.sample(sentences, generator.randint(0, min(4, self.count)))
            written = []
            for old in sorted(chosen, key=lambda old: old.index):
                is_stale = old.translation is not None and generator.random() < 0.3
                translation = old.translation if is_stale else f"{old.source} {now.version}"
                written.append(
                    dataclasses.replace(old, translation=translation, is_stale=is_stale, version=old.version + 1)
                )
                if self.is_here and not is_stale:
                    self.progress.publish("first", Translated(old.index, translation or ""))
            pending = sum(
                kept.is_pending for kept in {**dict(enumerate(sentences)), **{w.index: w for w in written}}.values()
            )
            changed = dataclasses.replace(
                now,
                version=now.version + generator.randint(1, 2),
                num_pending=pending,
                state="done" if not pending and generator.random() < 0.5 else "running",
            )
            self.store.update(changed, now.version, written)
            if self.is_here:
                self.progress.publish("first", None)
            if changed.state == "done":
                return


async def listen(work: Work, generator: random.Random) -> tuple[dict[int, str | None], list[ChangePlace]]:
    """What a listener knows in the end, and the places of its events. It stops to listen at random and continues."""
    known: dict[int, str | None] = {}
    places = [FIRST_CHANGE]
    while True:
        left = generator.randint(0, 7)
        deadline = time.monotonic() + PATIENCE
        async with contextlib.aclosing(work.feeds.updates("first", places[-1], deadline, PATIENCE)) as updates:
            async for update in updates:
                assert update is not None
                if update.place is not None:
                    places.append(update.place)
                if isinstance(update.content, Sentence):
                    known[update.content.index] = update.content.translation
                if update.is_last:
                    return known, places
                for _ in range(generator.choice((0, 0, 1, 40))):
                    await asyncio.sleep(0)
                left -= 1
                if left < 0:
                    break


def run(scenario: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(PATIENCE):
            await scenario

    asyncio.run(limited())


async def all_know_everything(seed: int) -> None:
    generator = random.Random(seed)
    work = Work(generator)
    listening = [listen(work, random.Random(seed + number)) for number in range(generator.randint(1, 4))]
    _, results = await asyncio.gather(work.run(), asyncio.gather(*listening))
    _, sentences = work.store.read("first")
    for known, places in results:
        assert known == {sentence.index: sentence.translation for sentence in sentences}
        assert places == sorted(set(places)), "an event came twice, or out of order"
    assert not work.feeds._feeds
    assert not work.progress.has_listeners("first")


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_whoever_comes_back_misses_nothing_and_hears_nothing_twice(seed: int) -> None:
    run(all_know_everything(seed))


async def a_slow_listener_knows_everything(seconds: float) -> None:
    """It reads one update, twelve sentences are stored by another process, and it reads on. `seconds` that it takes at
    most until each of them is seen, and until all of them are read."""
    store = MemoryStore()
    kept = document(num_sentences=12, num_pending=12)
    store.create(kept, [sentence(index) for index in range(12)])
    hub, known = Feeds(store, ProgressBroker(), lambda name: False), dict[int, str | None]()
    deadline = time.monotonic() + PATIENCE
    async with contextlib.aclosing(hub.updates("first", FIRST_CHANGE, deadline, PATIENCE)) as updates:
        await anext(updates)
        feed = hub._feeds["first"]
        for index in range(12):
            state = "done" if index == 11 else "running"
            kept = dataclasses.replace(kept, version=index + 2, num_pending=11 - index, state=state)  # type: ignore[arg-type]
            store.update(kept, index + 1, [dataclasses.replace(sentence(index), translation=f"{index}")])
            give_up = time.monotonic() + seconds
            while feed.place != ChangePlace(index + 2, LAST_POSITION) and time.monotonic() < give_up:
                await asyncio.sleep(0.001)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for update in updates:
                    if update is not None and isinstance(update.content, Sentence):
                        known[update.content.index] = update.content.translation
    assert known == {index: f"{index}" for index in range(12)}


async def who_comes_back_after_every_event_knows_everything(seconds: float) -> None:
    """Of twelve sentences that were stored together."""
    store = MemoryStore()
    done = [dataclasses.replace(sentence(index), translation=f"{index}") for index in range(12)]
    store.create(document(num_sentences=12, num_pending=0, state="done"), done)
    hub, known, place, is_last = Feeds(store, ProgressBroker(), lambda name: False), list[int](), FIRST_CHANGE, False
    while not is_last:
        async with contextlib.aclosing(hub.updates("first", place, time.monotonic() + seconds, seconds)) as updates:
            update = await anext(updates)
            assert update is not None
            assert update.place is not None
            place, is_last = update.place, update.is_last
            known += [update.content.index] if isinstance(update.content, Sentence) else []
    assert known == list(range(12))


def test_a_slow_listener_knows_everything() -> None:
    run(a_slow_listener_knows_everything(PATIENCE))


def test_who_comes_back_after_every_event_knows_everything() -> None:
    run(who_comes_back_after_every_event_knows_everything(PATIENCE))


def test_a_log_that_forgets_silently_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    since = Feed.since
    monkeypatch.setattr(Feed, "since", lambda feed, number: since(feed, max(number, feed.end - len(feed._log))))
    with pytest.raises(AssertionError):
        run(a_slow_listener_knows_everything(PATIENCE))


def test_a_poll_that_sees_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(feeds: Feeds) -> None:
        await asyncio.sleep(PATIENCE)

    monkeypatch.setattr(Feeds, "_poll", nothing)
    with pytest.raises(AssertionError):
        run(a_slow_listener_knows_everything(0.05))


def test_places_that_are_rounded_up_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = MemoryStore.changes

    def rounded(store: MemoryStore, name: str, after: ChangePlace, limit: int) -> Changes:
        position = LAST_POSITION if after.position >= 0 else after.position
        return changes(store, name, ChangePlace(after.version, position), limit)

    monkeypatch.setattr(MemoryStore, "changes", rounded)
    with pytest.raises(AssertionError):
        run(who_comes_back_after_every_event_knows_everything(PATIENCE))


class Counted(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.calls = Counter[str]()

    def __getattribute__(self, name: str) -> Any:
        if name in ("document", "read", "sentences", "versions", "changes"):
            self.calls[name] += 1
        return super().__getattribute__(name)


def test_many_listeners_cost_the_store_no_more_than_one() -> None:
    """Each of them reads once what is stored at first; then one reader reads for all."""

    async def scenario(num_listeners: int, num_changes: int) -> Counter[str]:
        store, progress = Counted(), ProgressBroker()
        kept = document(num_sentences=1, num_pending=1)
        store.create(kept, [sentence(0)])
        hub = Feeds(store, progress, lambda name: True)
        received, all_here = Counter[int](), asyncio.Event()
        deadline = time.monotonic() + PATIENCE

        async def listen_until_done() -> None:
            async for update in hub.updates("first", FIRST_CHANGE, deadline, PATIENCE):
                if update is not None and isinstance(update.content, Snapshot):
                    received[update.content.document.version] += 1
                    if received[1] == num_listeners:
                        all_here.set()

        async def change() -> None:
            await all_here.wait()
            now = kept
            for number in range(num_changes):
                state = "done" if number == num_changes - 1 else "running"
                now = dataclasses.replace(now, version=now.version + 1, state=state)  # type: ignore[arg-type]
                store.update(now, now.version - 1)
                progress.publish("first", None)
                while state != "done" and received[now.version] < num_listeners:
                    await asyncio.sleep(0.001)

        tasks = len(asyncio.all_tasks())
        await asyncio.gather(change(), *(listen_until_done() for _ in range(num_listeners)))
        assert set(received.values()) == {num_listeners}
        assert len(received) == num_changes + 1
        assert len(asyncio.all_tasks()) <= tasks + 2
        return store.calls

    calls = asyncio.run(scenario(300, 10))
    assert calls["document"] == 1
    assert calls["read"] == calls["sentences"] == calls["versions"] == 0
    assert calls["changes"] <= 300 + 2 * 10


def test_one_poll_for_all_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    versions = MemoryStore.versions

    def counted(store: MemoryStore, names: Collection[str]) -> dict[str, int]:
        asked.append(len(names))
        return versions(store, names)

    monkeypatch.setattr(MemoryStore, "versions", counted)

    async def scenario() -> None:
        store, names = MemoryStore(), [f"d{number}" for number in range(50)]
        for name in names:
            store.create(document(name), [])
        hub = Feeds(store, ProgressBroker(), lambda name: False)
        with contextlib.ExitStack() as stack:
            for name in names:
                stack.enter_context(hub.following(name))
            while len(asked) < 3:
                await asyncio.sleep(0.001)
        await asyncio.sleep(0)
        assert hub._poller is None

    run(scenario())
    assert max(asked) == 50


def test_a_log_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "LOG_CHARS", 100)
    feed = Feed("first")
    for number in range(9):
        feed.append(Update(None, Translated(number, "a" * 30)))
        assert len(feed._log) <= 3
    assert [update.content.index for update in feed.since(6) or ()] == [6, 7, 8]  # type: ignore[union-attr]
    assert feed.since(5) is None
    assert feed.since(9) == []
    feed.append(Update(None, Translated(9, "a" * 1000)))
    assert len(feed._log) == 1, "a long one is kept alone"


@pytest.mark.parametrize("is_here", [True, False])
@pytest.mark.parametrize("failure", [StoreError("gone"), UnknownDocument("gone")])
def test_what_the_store_raises_ends_all_listeners_and_later_ones_try_again(
    failure: Exception, is_here: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        store, progress = MemoryStore(), ProgressBroker()
        store.create(document(num_sentences=1), [sentence(0)])
        hub = Feeds(store, progress, lambda name: is_here)

        def updates() -> Any:
            return hub.updates("first", FIRST_CHANGE, time.monotonic() + PATIENCE, PATIENCE)

        listeners = [updates() for _ in range(3)]
        for listener in listeners:
            await anext(listener)
        waiting = [asyncio.ensure_future(anext(listener)) for listener in listeners]
        await asyncio.sleep(0)
        with monkeypatch.context() as patch:

            def fail(*given: object) -> Any:
                raise failure

            patch.setattr(MemoryStore, "changes", fail)
            patch.setattr(MemoryStore, "versions", fail)
            progress.publish("first", None)
            for task in waiting:
                with pytest.raises(type(failure)):
                    await task
        assert not hub._feeds
        async with contextlib.aclosing(updates()) as later:
            assert isinstance((await anext(later)).content, Snapshot)

    run(scenario())


def test_a_place_that_the_document_has_not_reached_is_none() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        done: Document = document(num_sentences=2, num_pending=0, state="done")
        store.create(done, [dataclasses.replace(sentence(index), translation="Ja.") for index in range(2)])
        hub = Feeds(store, ProgressBroker(), lambda name: False)
        places = [
            update.place
            async for update in hub.updates("first", ChangePlace(7, 0), time.monotonic() + PATIENCE, PATIENCE)
            if update is not None
        ]
        assert places == [ChangePlace(1, 0), ChangePlace(1, 1), ChangePlace(1, LAST_POSITION)]

    run(scenario())
