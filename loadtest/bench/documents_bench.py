"""The cost of context in serving: documents through the document service, with context and without."""

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from statistics import mean, median

import numpy as np

from loadtest.bench.report import Row
from server.artifact.artifact import Artifact
from server.backends.context import SentenceContext, StoredDocument
from server.backends.load import load_backend
from server.backends.onnx.context import MAX_SINGLE_PAGE_WORDS, OnnxContext
from server.documents.job_runner import JobRunner
from server.documents.sentence_states import DocumentCache, StateReader
from server.documents.service import DocumentService, NewDocument
from server.settings import Settings
from server.stores.memory import MemoryStore
from server.stores.records import Mode
from server.telemetry.metrics import Metrics
from server.text.base.pieces import Pieces
from server.translation.translator import RequestedOptions, Translator

OPTIONS = RequestedOptions(beam_size=4, length_penalty=None, max_length=None)
APPENDED = 8
"""Sentences that are appended one by one to an online document in a round."""
SAMPLE = 24
"""Sentences of a document whose attention to the document is timed."""
TIMEOUT_SECONDS = 3600.0


@dataclasses.dataclass(frozen=True)
class Contender:
    """The document service with context or without, and the cache of its states."""

    translator: Translator
    service: DocumentService
    cache: DocumentCache

    async def offline(self, texts: Sequence[str]) -> float:
        """Processor milliseconds a sentence for a whole document."""
        started = time.process_time()
        document = await self._translate("offline", texts)
        spent = time.process_time() - started
        await self.service.delete(document)
        return 1e3 * spent / len(texts)

    async def online(self, texts: Sequence[str]) -> float:
        """The same for sentences appended one by one to a document that has all but the last APPENDED of `texts`."""
        document = await self._translate("online", texts[:-APPENDED])
        started = time.process_time()
        for text in texts[-APPENDED:]:
            await self.service.append(document, [text], None, time.monotonic() + TIMEOUT_SECONDS)
        spent = time.process_time() - started
        await self.service.delete(document)
        return 1e3 * spent / APPENDED

    async def store_bytes(self, texts: Sequence[str]) -> float:
        """Bytes in the state cache per sentence, the mean."""
        document = await self._translate("offline", texts)
        stored = self.cache.num_bytes / len(texts)
        await self.service.delete(document)
        return stored

    async def _translate(self, mode: Mode, texts: Sequence[str]) -> str:
        document, _ = await self.service.create(NewDocument(self.translator, mode, texts, OPTIONS))
        finished, _ = await self.service.wait(document.id, time.monotonic() + TIMEOUT_SECONDS)
        if finished.state != "done":
            raise RuntimeError(f"a document of {len(texts)} sentences is {finished.state}: {finished.error}")
        return document.id


@contextlib.asynccontextmanager
async def contender(artifact: Path, with_context: bool, max_sentences: int | None = None) -> AsyncIterator[Contender]:
    """The service of `ringmt serve` in this process and event loop, with its default settings but without a translation
    cache: every round sends the same documents. `max_sentences` of a document, None for the default."""
    changed = {"translation_cache_bytes": "0"}
    if max_sentences is not None:
        changed["max_document_sentences"] = str(max_sentences)
    settings, metrics = Settings.load({}, changed), Metrics()
    translator = Translator.load(artifact, settings.engine, metrics)
    if not with_context:
        translator.worker.context = None
    translators, store = {translator.name: translator}, MemoryStore()
    cache = DocumentCache(settings.context_cache_bytes)
    reader = StateReader(cache)
    runner = JobRunner(store, reader, translators, settings.document_lease, metrics)
    runner.start()
    try:
        yield Contender(translator, DocumentService(store, reader, runner, translators, settings), cache)
    finally:
        await runner.stop()
        translator.stop(settings.drain_timeout)


def document_rows(artifact: Path, texts: Sequence[str], sizes: Sequence[int], rounds: int) -> list[Row]:
    """With context (ours) and without (peer), a document of the first `texts` for each size. Raises ValueError
    for a model without context on the encoder's side, or too few texts."""
    context = Artifact.load(artifact).manifest.context
    if context is None or context.side != "encoder":
        raise ValueError(f"{artifact} has no context on the encoder's side: nothing to measure")
    if len(texts) < max(sizes) + APPENDED:
        raise ValueError(f"{max(sizes) + APPENDED} sentences are needed, there are {len(texts)}")
    rows = asyncio.run(_service_rows(artifact, texts, sizes, rounds))
    return rows + _attention_rows(artifact, texts, sizes, rounds)


async def _service_rows(artifact: Path, texts: Sequence[str], sizes: Sequence[int], rounds: int) -> list[Row]:
    async with contender(artifact, True) as with_context, contender(artifact, False) as without:
        for service in (with_context, without):  # a warm-up that does not count
            await service.online(texts[: 2 * APPENDED])
        rows = []
        for size in sizes:
            measurements = (
                ("offline", Contender.offline, texts[:size]),
                ("online, one appended", Contender.online, texts[: size + APPENDED]),
            )
            for name, measure, given in measurements:
                spent: tuple[list[float], list[float]] = ([], [])
                for _ in range(rounds):
                    for service, times in zip((with_context, without), spent, strict=True):
                        times.append(await measure(service, given))
                ours, peer = map(median, spent)
                rows.append(Row(f"{size} sentences, {name}", ours, peer, ours / peer, "ms of processor a sentence"))
        stored = await with_context.store_bytes(texts[: max(sizes)])
    rows.append(_store_row(artifact, texts[: max(sizes)], stored))
    return rows


def _store_row(artifact: Path, texts: Sequence[str], stored: float) -> Row:
    """Bytes of a sentence in the cache (ours) beside the formula (peer): fp16 vectors of d, one for every tensor of
    sentences, and one a word for every tensor of words."""
    manifest = Artifact.load(artifact).manifest
    assert manifest.context is not None
    of_words = sum(name.startswith("word") for name in manifest.store_tensors)
    of_sentences = len(manifest.store_tensors) - of_words
    words = mean(len(ids) - 1 for ids in Pieces(artifact / manifest.vocabulary_file).encode(list(texts)))
    formula = 2 * manifest.context.width * (of_words * words + of_sentences)
    return Row(f"kept of a sentence of {words:.1f} words", stored, formula, stored / formula, "bytes")


def _attention_rows(artifact: Path, texts: Sequence[str], sizes: Sequence[int], rounds: int) -> list[Row]:
    """The attention of one sentence to its document: over the words of used sentences (ours) beside all words (peer);
    and the number of used sentences (ours) of visible sentences (peer): the ratio is |U|/J."""
    loaded = Artifact.load(artifact)
    context = load_backend(loaded, "onnx", "int8", "auto").context
    assert isinstance(context, OnnxContext)
    encoded = Pieces(artifact / loaded.manifest.vocabulary_file).encode(list(texts[: max(sizes)]))
    states = [context.compute_states(ids) for ids in encoded]
    rows = []
    for size in sizes:
        stored = StoredDocument.of(states[:size], [len(ids) - 1 for ids in encoded[:size]])
        chosen = range(0, size, max(1, size // SAMPLE))
        seen = [SentenceContext(stored, np.abs(np.arange(size) - index)) for index in chosen]
        read = context.encode_sources([encoded[index] for index in chosen])
        spent: dict[str, list[float]] = {"used words": [], "all words": []}
        if stored.num_word_positions <= MAX_SINGLE_PAGE_WORDS:
            spent["one page"] = []
        used: list[int] = []
        for _ in range(rounds):
            for way, own in spent.items():
                context.max_single_page_words = MAX_SINGLE_PAGE_WORDS if way == "one page" else 0
                context.min_pruned_sentences = 0 if way == "used words" else size + 1
                started = time.process_time()
                results = [context.attend(*both) for both in zip(read, seen, strict=True)]
                own.append(1e3 * (time.process_time() - started) / len(results))
                attentions = [attended.attention for attended in results if attended.attention is not None]
                used = [int((attention.weights > 0).any(axis=0).sum()) for attention in attentions]
        if context.pruned is not None:
            ours, peer = median(spent["used words"]), median(spent["all words"])
            rows.append(Row(f"{size} sentences, a look: used words or all", ours, peer, ours / peer, "ms of processor"))
        if "one page" in spent:
            ours, peer = median(spent["one page"]), median(spent["all words"])
            rows.append(
                Row(f"{size} sentences, a look: in one page or several", ours, peer, ours / peer, "ms of processor")
            )
        share = mean(used) / (size - 1)
        rows.append(Row(f"{size} sentences, used by a sentence", mean(used), size - 1, share, "sentences"))
    return rows
