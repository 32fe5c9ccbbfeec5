"""Documents and sentences for tests of what is kept."""

import dataclasses

from server.stores.interface import ContextStore
from server.stores.records import Document, Part, Sentence

FIRST = Document("first", "tiny", "f00d", "en", "de", "offline", "queued", created=1.0, touched=10.0)
SERVED = (FIRST.model,)


def document(name: str = "first", **changes: object) -> Document:
    changed: Document = dataclasses.replace(FIRST, id=name, **changes)  # type: ignore[arg-type]
    return changed


def sentence(index: int, source: str = "Yes.", **changes: object) -> Sentence:
    changed: Sentence = dataclasses.replace(Sentence(index, source, (Part((7, 2)),)), **changes)  # type: ignore[arg-type]
    return changed


def keep(store: ContextStore, name: str = "first", num_sentences: int = 0, **changes: object) -> Document:
    """Create a document and return it."""
    kept = document(name, num_sentences=num_sentences, **changes)
    store.create(kept, [sentence(index) for index in range(num_sentences)])
    return kept
