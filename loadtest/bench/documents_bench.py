"""What context costs in serving: documents through the document service, with context and without."""

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
"""Sentences of a document whose looks are timed."""
PATIENCE = 3600.0


@dataclasses.dataclass(frozen=True)
class Contender:
    """The document service with context or without, and the cache of its states."""

    translator: Translator
    service: DocumentService
    cache: DocumentCache

    async def offline(self, texts: Sequence[str]) -> float:
        """Processor milliseconds a sentence for a whole document (both modes do the same work at this door)."""
        started = time.process_time()
        document = await self._translated("offline", texts)
        spent = time.process_time() - started
        await self.service.delete(document)
        return 1e3 * spent / len(texts)

    async def online(self, texts: Sequence[str]) -> float:
        """The same for sentences appended one by one to a document that has all but the last APPENDED of `texts`."""
        document = await self._translated("online", texts[:-APPENDED])
        started = time.process_time()
        for text in texts[-APPENDED:]:
            await self.service.append(document, [text], None, time.monotonic() + PATIENCE)
        spent = time.process_time() - started
        await self.service.delete(document)
        return 1e3 * spent / APPENDED

    async def store_bytes(self, texts: Sequence[str]) -> float:
        """Bytes kept of a sentence, the mean."""
        document = await self._translated("offline", texts)
        kept = self.cache.num_bytes / len(texts)
        await self.service.delete(document)
        return kept

    async def _translated(self, mode: Mode, texts: Sequence[str]) -> str:
        document, _ = await self.service.create(NewDocument(self.translator, mode, texts, OPTIONS))
        found, _ = await self.service.wait(document.id, time.monotonic() + PATIENCE)
        if found.state != "done":
            raise RuntimeError(f"a document of {len(texts)} sentences is {found.state}: {found.error}")
        return document.id


@contextlib.asynccontextmanager
async def contender(artifact: Path, with_context: bool) -> AsyncIterator[Contender]:
    """A service as `ringmt serve` has it, in this process and event loop, with all of its defaults but one: the same
    documents come again in every round, and are to be decoded."""
    settings, metrics = Settings.load({}, {"translation_cache_bytes": "0"}), Metrics()
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
    """With context (ours) beside without (peer), each size a document of the first so many `texts`. Raises ValueError
    for a model without context on the encoder's side, or too few texts."""
    context = Artifact.load(artifact).manifest.context
    if context is None or context.side != "encoder":
        raise ValueError(f"{artifact} has no context on the encoder's side: nothing to measure")
    if len(texts) < max(sizes) + APPENDED:
        raise ValueError(f"{max(sizes) + APPENDED} sentences are needed, there are {len(texts)}")
    rows = asyncio.run(_served(artifact, texts, sizes, rounds))
    return rows + _looks(artifact, texts, sizes, rounds)


async def _served(artifact: Path, texts: Sequence[str], sizes: Sequence[int], rounds: int) -> list[Row]:
    async with contender(artifact, True) as within, contender(artifact, False) as alone:
        for one in (within, alone):  # wakes threads and caches, and does not count
            await one.online(texts[: 2 * APPENDED])
        rows = []
        for size in sizes:
            ways = (
                ("offline", Contender.offline, texts[:size]),
                ("online, one appended", Contender.online, texts[: size + APPENDED]),
            )
            for name, spend, given in ways:
                spent: tuple[list[float], list[float]] = ([], [])
                for _ in range(rounds):
                    for one, own in zip((within, alone), spent, strict=True):
                        own.append(await spend(one, given))
                ours, peer = map(median, spent)
                rows.append(Row(f"{size} sentences, {name}", ours, peer, ours / peer, "ms of processor a sentence"))
        kept = await within.store_bytes(texts[: max(sizes)])
    rows.append(_store_row(artifact, texts[: max(sizes)], kept))
    return rows


def _store_row(artifact: Path, texts: Sequence[str], kept: float) -> Row:
    """What the cache holds of a sentence (ours) beside the formula (peer): fp16 vectors of d, one for every tensor of
    sentences, and one a word for every tensor of words."""
    manifest = Artifact.load(artifact).manifest
    assert manifest.context is not None
    of_words = sum(name.startswith("word") for name in manifest.store_tensors)
    of_sentences = len(manifest.store_tensors) - of_words
    words = mean(len(ids) - 1 for ids in Pieces(artifact / manifest.vocabulary_file).encode(list(texts)))
    formula = 2 * manifest.context.width * (of_words * words + of_sentences)
    return Row(f"kept of a sentence of {words:.1f} words", kept, formula, kept / formula, "bytes")


def _looks(artifact: Path, texts: Sequence[str], sizes: Sequence[int], rounds: int) -> list[Row]:
    """One look at the document: only words of used sentences read (ours) beside all words (peer); and how many are
    used, of the visible ones (ours / peer is |U|/J)."""
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
                found = [context.attend(*both) for both in zip(read, seen, strict=True)]
                own.append(1e3 * (time.process_time() - started) / len(found))
                attentions = [attended.attention for attended in found if attended.attention is not None]
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
