"""`ringmt translate --document`: translates a file as one document. With a persistent store, an interrupted run goes on
where it was."""

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
    translator: Translator, path: Path, mode: Mode, asked: RequestedOptions, store_url: str, cache_bytes: int
) -> str:
    """The translation of a text file; what is between its sentences stays. Bytes that are not UTF-8 stay as they are.
    Raises OSError, StoreError, and what translate_pending raises."""
    text = path.read_bytes().decode("utf-8", errors="surrogateescape")
    store = open_store(store_url)
    try:
        document = _kept(store, translator, text, mode, asked)
        with tqdm(unit=" sentences", total=document.num_sentences, disable=not sys.stderr.isatty()) as progress:

            def told(done: int, total: int) -> None:
                progress.update(done - progress.n)

            reader = StateReader(StateCache(cache_bytes))
            lease = Lease(store, document.id, None, 0)
            asyncio.run(translate_pending(lease, {translator.name: translator}, reader, BATCH, told))
        finished, sentences = store.read(document.id)
        return "".join(f"{one.gap}{one.translation}" for one in sentences) + finished.end
    finally:
        store.close()


def _kept(store: ContextStore, translator: Translator, text: str, mode: Mode, asked: RequestedOptions) -> Document:
    """The document of this text, model and options: that of an earlier run, or a new one. It is in no queue, so no
    server takes it over."""
    identity = json.dumps([text, translator.name, translator.fingerprint, mode, asked])
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
        options=dict(asked),
        created=now,
        touched=now,
        num_places=sum(one.num_places for one in sentences),
    )
    try:
        store.create(document, sentences)
    except Conflict:
        return store.document(name)
    return document
