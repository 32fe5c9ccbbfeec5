"""How often a store is called: every call is a round trip to a file or to another machine."""

import asyncio
import contextlib
import dataclasses
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from server.documents import feeds, job_runner, service
from server.documents.correcting import Correction
from server.documents.job_runner import JobRunner
from server.documents.leases import next_version
from server.documents.sentence_states import DocumentCache, StateReader
from server.documents.service import DocumentService, NewDocument
from server.engine.queue_budget import Reservation
from server.stores.interface import ChangePlace, Changes
from server.stores.limits import NO_LIMITS, DocumentLimits
from server.stores.memory import MemoryStore
from server.stores.records import Document, Mode, Sentence
from server.telemetry.metrics import Metrics
from server.text.split.plan import TextPlan
from server.translation.translator import Translator
from tests.server.api.conftest import settings_for
from tests.server.api.documents import MANY

PATIENCE = 120.0
STORY = ["The girl walks home in the rain.", "She has a red umbrella.", "It is not hers."]


COUNTED = (
    "create", "document", "sentences", "read", "update", "delete", "claim", "renew", "count", "versions", "changes",
)  # fmt: skip


class Counting(MemoryStore):
    """Counts calls, and the sentences that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.num_read = self.num_changed = 0
        self.before_update: Callable[[Document], None] | None = None

    def __getattribute__(self, name: str) -> Any:
        if name in COUNTED:
            self.calls.append(name)
        return super().__getattribute__(name)

    def sentences(self, document_id: str, start: int = 0, end: int | None = None) -> list[Sentence]:
        result = super().sentences(document_id, start, end)
        self.num_read += len(result)
        return result

    def changes(self, document_id: str, after: ChangePlace, limit: int) -> Changes:
        result = super().changes(document_id, after, limit)
        self.num_changed += len(result.sentences)
        return result

    def update(
        self,
        document: Document,
        expected_version: int,
        sentences: Sequence[Sentence] = (),
        limits: DocumentLimits = NO_LIMITS,
    ) -> None:
        """Something else may happen between a writer's reading and its writing."""
        if self.before_update is not None:
            meanwhile, self.before_update = self.before_update, None
            meanwhile(document)
        super().update(document, expected_version, sentences, limits)


@pytest.fixture(scope="module")
def translators(document_artifacts: dict[str, Path]) -> Any:
    results = {}
    for artifact in document_artifacts.values():
        translator = Translator.load(artifact, settings_for(artifact).engine, Metrics())
        results[translator.name] = translator
    yield results
    for translator in results.values():
        translator.stop(0)


@contextlib.asynccontextmanager
async def serving(translators: dict[str, Translator]) -> AsyncIterator[tuple[DocumentService, Counting]]:
    store = Counting()
    settings = settings_for(Path())
    reader = StateReader(DocumentCache(settings.context_cache_bytes))
    runner = JobRunner(store, reader, translators, 100, Metrics())
    runner.start()
    try:
        yield DocumentService(store, reader, runner, translators, settings), store
    finally:
        await runner.stop()


@pytest.fixture(autouse=True)
def _no_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine it would ask again and again."""
    monkeypatch.setattr(job_runner, "POLL_SECONDS", PATIENCE)
    monkeypatch.setattr(service, "POLL_SECONDS", PATIENCE)


def until() -> float:
    return time.monotonic() + PATIENCE


async def translated(
    documents: DocumentService, translator: Translator, sources: Sequence[str], mode: Mode = "offline"
) -> tuple[Document, list[Sentence]]:
    document, _ = await documents.create(
        NewDocument(translator, mode, sources, {"beam_size": 1, "length_penalty": None, "max_length": 4})
    )
    result = await documents.wait(document.id, until())
    assert result[0].state == "done"
    return result


@pytest.mark.parametrize("model", ["documents", "bilingual"])
def test_a_document_of_three_sentences(translators: dict[str, Translator], model: str) -> None:
    async def scenario() -> None:
        async with serving(translators) as (documents, store):
            while "claim" not in store.calls:  # before the document comes, it finds nothing
                await asyncio.sleep(0.001)
            store.calls.clear()
            await translated(documents, translators[model], STORY)
            assert len(store.calls) <= 8, store.calls
            assert Counter(store.calls)["read"] == 2

    asyncio.run(scenario())


@pytest.mark.parametrize(("model", "longest"), [("documents", 500), ("bilingual", 50)])
def test_an_append_to_a_long_document_reads_no_more_than_to_a_short_one(
    translators: dict[str, Translator], model: str, longest: int
) -> None:
    async def scenario() -> None:
        async with serving(translators) as (documents, store):
            for count in (5, longest):
                sources = (MANY * 2)[:count]
                document, _ = await translated(documents, translators[model], sources, "online")
                for calls, num_read in ((["document", "sentences", "update"], count), (["document", "update"], 0)):
                    store.calls.clear()
                    store.num_read = 0
                    await documents.append(document.id, STORY[:2], None, until())
                    assert [name for name in store.calls if name != "claim"] == calls
                    assert store.num_read == num_read

    asyncio.run(scenario())


class Count:
    """How many sentences the engine was given."""

    def __init__(self, translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sentences = 0
        submit = translator.worker.in_flight.submit

        def counted(requests: Collection[Any], reservation: Reservation | None) -> None:
            self.sentences += len(requests)
            submit(list(requests), reservation)

        monkeypatch.setattr(translator.worker.in_flight, "submit", counted)


@pytest.mark.parametrize("sources", [["Yes."], ["Yes.", "No. Never."]])
def test_every_text_is_cut_once(
    translators: dict[str, Translator], sources: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[str] = []
    translator = translators["documents"]
    plan = type(translator.planner).plan_text

    def counted(planner: Any, text: str, *args: Any, **options: Any) -> TextPlan:
        planned.append(text)
        return plan(planner, text, *args, **options)

    monkeypatch.setattr(type(translator.planner), "plan_text", counted)

    async def scenario() -> None:
        async with serving(translators) as (documents, _):
            await translated(documents, translator, sources)

    asyncio.run(scenario())
    assert planned == sources


def test_a_correction_that_loses_a_race_is_translated_once_and_says_what_is_kept(
    translators: dict[str, Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with serving(translators) as (documents, store):
            document, _ = await translated(documents, translators["documents"], STORY)
            engine = Count(translators["documents"], monkeypatch)

            def another(_: Document) -> None:
                now, sentences = store.read(document.id)
                theirs = dataclasses.replace(sentences[1], source="Theirs.", version=2)
                store.update(next_version(now), now.version, [theirs])

            store.before_update = another
            correction = Correction("She sells bread.", None)
            kept, sentence = await documents.correct(document.id, 1, correction, until())
            assert engine.sentences == 1
            stored, sentences = store.read(document.id)
            assert sentence == sentences[1]
            assert kept == stored
            assert (sentence.version, sentence.source, kept.version) == (3, "She sells bread.", document.version + 2)

    asyncio.run(scenario())


def test_a_correction_that_is_overtaken_by_one_that_affects_it_is_translated_again(
    translators: dict[str, Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the end it is as if the other had come first."""

    async def scenario() -> None:
        async with serving(translators) as (documents, _):
            document, _ = await translated(documents, translators["documents"], STORY)
            translate = documents._workspace.reader.of_document
            overtaken = asyncio.Event()

            async def slowly(*given: Any) -> Any:
                result = await translate(*given)
                if not overtaken.is_set():
                    overtaken.set()
                    await documents.correct(document.id, 0, Correction("She has a dog.", None, "affected"), until())
                return result

            monkeypatch.setattr(documents._workspace.reader, "of_document", slowly)
            _, sentence = await documents.correct(document.id, 1, Correction("It is red.", None), until())
            assert sentence.is_pending
            now, result = await documents.wait(document.id, until())
            assert now.state == "done"
            _, fresh = await translated(documents, translators["documents"], ["She has a dog.", "It is red.", STORY[2]])
            assert (result[1].translation, result[1].context_used) == (fresh[1].translation, fresh[1].context_used)

    asyncio.run(scenario())


class Busy(JobRunner):
    """A runner that begins nothing; `works_on` is what the test sets."""

    works = False

    def works_on(self, document_id: str) -> bool:
        return self.works


@pytest.mark.parametrize("works_here", [False, True])
def test_who_listens_to_a_queued_document_reads_only_what_changed(
    translators: dict[str, Translator], works_here: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often the store is polled: only versions are read, and only a change is published."""
    monkeypatch.setattr(feeds, "POLL_SECONDS", 0.001)
    monkeypatch.setattr(service, "POLL_SECONDS", 0.001)
    monkeypatch.setattr(service, "QUIET_SECONDS", 0.02)

    async def scenario() -> None:
        store = Counting()
        reader = StateReader(DocumentCache(0))
        runner = Busy(store, reader, translators, 100, Metrics())
        runner.works = works_here
        documents = DocumentService(store, reader, runner, translators, settings_for(Path()))
        document, _ = await documents.create(
            NewDocument(
                translators["documents"], "offline", STORY, {"beam_size": 1, "length_penalty": None, "max_length": 4}
            )
        )
        store.calls.clear()
        received: list[Any] = []
        async with contextlib.aclosing(documents.events(document.id, until())) as events:
            async for event in events:
                received.append(event)
                if received.count(None) == 5:
                    break
        assert len(received) == 6, "the document, and signs of life"
        counts = Counter(store.calls)
        assert (counts["read"], counts["sentences"], counts["document"], counts["changes"]) == (0, 0, 1, 1)
        assert counts["versions"] == 0 if works_here else counts["versions"] > 5

        async with contextlib.aclosing(documents.events(document.id, until())) as events:
            received = [await anext(events)]
            kept = store.document(document.id)
            done = dataclasses.replace(store.sentences(document.id)[1], translation="Ja.")
            store.update(next_version(kept, num_pending=2), kept.version, [done])
            store.calls.clear()
            store.num_changed = 0
            runner.progress.publish(document.id, None)
            received += [event async for event in take(events, 2)]
        contents = [event.content for event in received]
        assert [type(content).__name__ for content in contents] == ["Snapshot", "Sentence", "Snapshot"]
        assert (contents[1].index, contents[2].num_pending) == (1, 2)
        counts = Counter(store.calls)
        assert (counts["read"], counts["sentences"], store.num_changed) == (0, 0, 1)

        store.calls.clear()
        waited, _ = await documents.wait(document.id, time.monotonic() + 0.1)
        assert waited.state == "queued"
        assert Counter(store.calls)["read"] == 1, "at the deadline"

    asyncio.run(scenario())


async def take(events: AsyncIterator[Any], count: int) -> AsyncIterator[Any]:
    """The next events, without signs of life."""
    while count:
        event = await anext(events)
        if event is not None:
            count -= 1
            yield event
