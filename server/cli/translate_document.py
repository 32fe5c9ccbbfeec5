"""`ringmt translate --document`: translates a file as one document. With a persistent store, an interrupted run is
continued."""

import asyncio
import hashlib
import json
import sys
import time
from pathlib import Path

from tqdm import tqdm

from server.documents.cutting import cut_text
from server.documents.job import translate_pending
from server.documents.leases import Lease
from server.documents.sentence_states import StateReader
from server.documents.state_cache import StateCache
from server.stores.interface import Conflict, ContextStore
from server.stores.open_store import open_store
from server.stores.records import Document, Mode
from server.translation.translator import RequestedOptions, Translator

BATCH = 32
"""Sentences between two writes, and between two updates of the progress bar."""
UNFINISHED = "`ringmt translate --document` has not finished it; run the same command again"


def translate_document(
    translator: Translator, path: Path, mode: Mode, requested: RequestedOptions, store_url: str, cache_bytes: int
) -> str:
    """The translation of a text file; text between its sentences, and bytes that are not UTF-8, stay. Raises OSError,
    StoreError, and the errors of translate_pending."""
    text = path.read_bytes().decode("utf-8", errors="surrogateescape")
    store = open_store(store_url)
    try:
        document = _stored(store, translator, text, mode, requested)
        with tqdm(unit=" sentences", total=document.num_sentences, disable=not sys.stderr.isatty()) as progress:

            def on_progress(done: int, total: int) -> None:
                progress.update(done - progress.n)

            reader = StateReader(StateCache(cache_bytes))
            lease = Lease(store, document.id, None, 0)
            asyncio.run(translate_pending(lease, {translator.name: translator}, reader, BATCH, on_progress))
        finished, sentences = store.read(document.id)
        return "".join(f"{sentence.gap}{sentence.translation}" for sentence in sentences) + finished.end
    finally:
        store.close()


def _stored(
    store: ContextStore, translator: Translator, text: str, mode: Mode, requested: RequestedOptions
) -> Document:
    """The document of this text, model and options: from an earlier run, or new. It is not queued, so that no server
    claims it."""
    identity = json.dumps([text, translator.name, translator.fingerprint, mode, requested])
    name = "file-" + hashlib.sha256(identity.encode()).hexdigest()[:32]
    sentences, end = cut_text(text, translator)
    now = time.time()
    source_language, target_language = translator.languages
    document = Document(
        name,
        translator.name,
        translator.fingerprint,
        source_language,
        target_language,
        mode,
        "failed",
        len(sentences),
        end=end,
        error=UNFINISHED,
        options=dict(requested),
        created=now,
        touched=now,
        num_places=sum(sentence.num_places for sentence in sentences),
    )
    try:
        store.create(document, sentences)
    except Conflict:
        return store.document(name)
    return document
