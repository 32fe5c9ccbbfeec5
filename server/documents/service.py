"""Documents as the door knows them: made, read, continued, corrected, explained, deleted."""

import asyncio
import dataclasses
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from server.backends.context import SentenceContext
from server.documents.drafts import with_drafts
from server.documents.explain import Explanation, explain
from server.documents.job import Unservable, translator_of
from server.documents.parts import cut_text, joined, listed_sentences, split_parts
from server.documents.protocol import affected
from server.documents.records import Document, Mode, Sentence
from server.documents.runner import JobRunner
from server.documents.states import StateReader
from server.documents.store import Conflict, ContextStore
from server.documents.translate import translate_sentences
from server.documents.writing import next_version, read_all
from server.settings import Settings
from server.text.pieces import EOS_ID
from server.translator import Translator

Result = TypeVar("Result")

LOOK_SECONDS = 0.25
"""How often somebody who waits looks whether another process finished the document."""
MAX_ATTEMPTS = 8
"""Times that a change is tried again because another one came first."""


class TooLong(ValueError):
    """More sentences than a document may have. `param` is the field of the request that has them."""

    def __init__(self, message: str, param: str = "sentences") -> None:
        super().__init__(message)
        self.param = param


class TooManyDocuments(RuntimeError):
    """No document can be kept beside those there are."""


class UnknownSentence(LookupError):
    """The document has no such sentence."""


class Refused(RuntimeError):
    """The document's mode, state or length does not allow it; the message says what would."""


@dataclass(frozen=True)
class NewDocument:
    """What a document is made of: `sources`, each a sentence, or one text that is cut. `options` are the search
    options as TranslationOptions names them, JSON values."""

    translator: Translator
    mode: Mode
    sources: Sequence[str] | str
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Correction:
    """What is to change of a sentence: its source, its translation (by a person, then), or both."""

    source: str | None
    translation: str | None
    retranslate: Literal["none", "affected"] = "none"


class DocumentService:
    """Everything about documents; use it from one event loop. Most methods raise UnknownDocument, StoreError, and what
    the engine raises."""

    def __init__(
        self,
        store: ContextStore,
        reader: StateReader,
        runner: JobRunner,
        translators: Mapping[str, Translator],
        settings: Settings,
    ) -> None:
        self.store, self.reader, self.runner = store, reader, runner
        self._translators, self._settings = translators, settings

    async def create(self, new: NewDocument) -> Document:
        """Keep a document and queue it. Raises TooLong, TooManyDocuments."""
        if not isinstance(new.sources, str):
            self._check_count(len(new.sources))
        sentences, end = await asyncio.to_thread(_cut, new)
        self._check_length(sentences)
        now = time.time()
        source_language, target_language = new.translator.languages
        document = Document(
            secrets.token_urlsafe(18),
            new.translator.name,
            new.translator.fingerprint,
            source_language,
            target_language,
            new.mode,
            "queued" if sentences else "done",
            len(sentences),
            end=end,
            options=dict(new.options),
            created=now,
            touched=now,
        )
        await asyncio.to_thread(self._keep, document, sentences)
        self.runner.wake()
        return document

    async def read(self, document_id: str) -> tuple[Document, list[Sentence]]:
        return await asyncio.to_thread(read_all, self.store, document_id)

    async def wait(self, document_id: str, deadline: float) -> tuple[Document, list[Sentence]]:
        """The document once it is done or failed, or as it is at `deadline` (a time.monotonic() value)."""
        while True:
            ended = asyncio.ensure_future(self.runner.ended(document_id, LOOK_SECONDS))
            try:
                document = await asyncio.to_thread(self.store.document, document_id)
                if document.state in ("done", "failed") or time.monotonic() >= deadline:
                    return await self.read(document_id)
                await ended
            finally:
                ended.cancel()

    async def delete(self, document_id: str) -> None:
        """What is being worked on of it stops at the next look at the store."""
        await asyncio.to_thread(self.store.delete, document_id)
        self.reader.cache.drop(document_id)

    async def append(
        self, document_id: str, sources: Sequence[str], first_index: int | None, deadline: float
    ) -> tuple[Document, list[Sentence]]:
        """Continue an online document: the new sentences, translated in the light of what came before each. Nothing is
        kept unless all are. Raises TooLong, Refused."""
        for _ in range(MAX_ATTEMPTS):
            document, before = await self.read(document_id)
            if document.mode != "online":
                raise Refused("an offline document takes no more sentences; POST a new one, or use mode 'online'")
            at = len(before)
            if first_index is not None and first_index != at:
                raise Refused(f"the document has {at} sentences: the next index is {at}, not {first_index}")
            self._check_count(at + len(sources))
            translator = self._translator_of(document)
            new = await asyncio.to_thread(listed_sentences, sources, translator, at)
            self._check_length([*before, *new])
            longest = document.options.get("max_length")
            sentences = await with_drafts(translator, [*before, *new], longest, deadline)
            states = await self.reader.of_document(translator, document_id, sentences[:-1])  # none sees the last
            translated = await translate_sentences(translator, document, sentences[at:], states, deadline)
            kept = await self._write(document_id, _same_sources(before), _appended(translated))
            if kept is not None:
                return kept, translated
        raise Refused("the document is being changed by others all the time; try again")

    async def correct(
        self, document_id: str, index: int, correction: Correction, deadline: float
    ) -> tuple[Document, Sentence]:
        """Change a sentence; a new source is translated at once, unless its translation came with it. The document is
        queued when others are to be translated again. Raises UnknownSentence, Refused."""
        for _ in range(MAX_ATTEMPTS):
            document, before = await self.read(document_id)
            if index >= len(before):
                raise UnknownSentence(f"the document has {len(before)} sentences, there is no sentence {index}")
            translator = self._translator_of(document)
            changed = await asyncio.to_thread(_corrected, before[index], correction, translator)
            if changed.is_pending:
                sentences = [*before[:index], changed, *before[index + 1 :]]
                self._check_length(sentences)
                seen = sentences if document.mode == "offline" else sentences[: index + 1]
                seen = await with_drafts(translator, seen, document.options.get("max_length"), deadline)
                states = await self.reader.of_document(translator, document_id, seen)
                [changed] = await translate_sentences(translator, document, [seen[index]], states, deadline)
            elif correction.source is not None:
                longest = document.options.get("max_length")
                [changed] = await with_drafts(translator, [changed], longest, deadline)
            stale = affected(document.mode, [index], before) if correction.retranslate == "affected" else []
            if correction.source is None:
                stale = []  # The context is made of sources, or of what depends on them alone.
            kept = await self._write(document_id, _same_sources(before), _correction(changed, stale))
            if kept is not None:
                self.runner.wake()
                return kept, changed
        raise Refused("the document is being changed by others all the time; try again")

    async def explain(self, document_id: str, index: int) -> tuple[list[Sentence], Explanation | None]:
        """All sentences, and where sentence `index` looks; None when it sees nothing. Raises UnknownSentence and
        Refused."""
        document, sentences = await self.read(document_id)
        if index >= len(sentences):
            raise UnknownSentence(f"the document has {len(sentences)} sentences, there is no sentence {index}")
        translator = self._translator_of(document)
        if translator.needs_drafts and sentences[index].target_ids is None:
            raise Refused(f"sentence {index} is not translated yet: with this model it is the translation that looks")
        seen = sentences if document.mode == "offline" else sentences[: index + 1]
        seen = await with_drafts(translator, seen, document.options.get("max_length"))
        states = await self.reader.of_document(translator, document_id, seen)
        if states is None:
            return sentences, None
        return sentences, await explain(translator, document, sentences[index], states, seen)

    async def context_of(self, translator: Translator, sources: Sequence[str]) -> SentenceContext | None:
        """What a sentence sees that sees these earlier texts; None for nothing, or by a model that knows no context.
        Raises TooLong."""
        plans = await asyncio.to_thread(lambda: [translator.plan(source) for source in sources])
        parts = [ids for plan in plans for ids in plan.source_ids]
        longest = self._settings.max_document_sentences
        if len(parts) > longest:
            raise TooLong(f"the context has {len(parts)} sentences, at most {longest} are taken", "context")
        states = await self.reader.of_parts(translator, parts)
        return states.seen_by("online", len(parts)) if states is not None else None

    def _check_length(self, sentences: Sequence[Sentence]) -> None:
        """Every part of a long sentence counts: what the model reads is what costs."""
        self._check_count(sum(max(1, len(split_parts(one.source_ids))) for one in sentences))

    def _check_count(self, count: int) -> None:
        longest = self._settings.max_document_sentences
        if count > longest:
            raise TooLong(f"the document would have {count} sentences, at most {longest} are taken")

    def _keep(self, document: Document, sentences: Sequence[Sentence]) -> None:
        if self.store.count() >= self._settings.max_documents:
            raise TooManyDocuments(
                f"{self._settings.max_documents} documents are kept already; delete some, or wait until they expire"
            )
        self.store.create(document, sentences)

    def _translator_of(self, document: Document) -> Translator:
        try:
            return translator_of(document, self._translators)
        except Unservable as error:
            raise Refused(str(error)) from None

    async def _write(
        self,
        document_id: str,
        still_holds: Callable[[Sequence[Sentence]], bool],
        change: Callable[[Sequence[Sentence]], Sequence[Sentence]],
    ) -> Document | None:
        """Write `change` of the document's sentences while what it was made of `still_holds`; None when it does not.
        A document with pending sentences that nobody works on is queued."""
        writing = asyncio.ensure_future(asyncio.to_thread(self._write_now, document_id, still_holds, change))
        return await asyncio.shield(writing)

    def _write_now(
        self,
        document_id: str,
        still_holds: Callable[[Sequence[Sentence]], bool],
        change: Callable[[Sequence[Sentence]], Sequence[Sentence]],
    ) -> Document | None:
        while True:
            document, sentences = read_all(self.store, document_id)
            if not still_holds(sentences):
                return None
            changed = change(sentences)
            by_index = {one.index: one for one in (*sentences, *changed)}
            rests = document.state in ("done", "failed")
            is_pending = any(one.is_pending for one in by_index.values())
            state = ("queued" if is_pending else "done") if rests else document.state
            new = next_version(document, num_sentences=len(by_index), state=state, error=None)
            try:
                self.store.update(new, document.version, changed)
                return new
            except (Conflict, ValueError):  # ValueError: the sentences were newer than the document.
                if self.store.document(document_id).version == document.version:
                    raise


def _cut(new: NewDocument) -> tuple[list[Sentence], str]:
    if isinstance(new.sources, str):
        return cut_text(new.sources, new.translator)
    return listed_sentences(new.sources, new.translator), ""


def _same_sources(before: Sequence[Sentence]) -> Callable[[Sequence[Sentence]], bool]:
    """Whether the sources are still the ones that a change was made of."""
    sources = [one.source for one in before]
    return lambda now: [one.source for one in now] == sources


def _corrected(sentence: Sentence, correction: Correction, translator: Translator) -> Sentence:
    """The sentence with its correction; pending when its translation does not fit any more."""
    changed = dataclasses.replace(sentence, version=sentence.version + 1)
    if correction.source is not None:
        changed = dataclasses.replace(
            changed,
            source=correction.source,
            source_ids=joined(translator.plan(correction.source).source_ids),
            translation=None,
            target_ids=None,
            draft_ids=None,
            score=None,
            finish_reason=None,
            is_edited=False,
            is_stale=False,
            context_used=(),
        )
    if correction.translation is not None:
        ids = joined(translator.pieces.encode([correction.translation]))
        changed = dataclasses.replace(
            changed,
            translation=correction.translation,
            target_ids=ids if ids != (EOS_ID,) else (),
            score=None,
            finish_reason=None,
            is_edited=True,
            is_stale=False,
            context_used=(),
        )
    return changed


def _appended(new: Sequence[Sentence]) -> Callable[[Sequence[Sentence]], Sequence[Sentence]]:
    return lambda _: new


def _correction(changed: Sentence, stale: Sequence[int]) -> Callable[[Sequence[Sentence]], list[Sentence]]:
    """The corrected sentence over what is kept now, and those that are to be translated again: not what a person
    wrote, and nothing that waits for its first translation."""

    def change(sentences: Sequence[Sentence]) -> list[Sentence]:
        above = dataclasses.replace(changed, version=max(changed.version, sentences[changed.index].version + 1))
        others = [
            dataclasses.replace(
                sentences[index],
                is_stale=sentences[index].translation is not None,
                version=sentences[index].version + 1,
            )
            for index in stale
            if not sentences[index].is_edited
        ]
        return [above, *others]

    return change
