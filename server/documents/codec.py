"""Documents and sentences as JSON in plain ASCII: whatever a text holds (NUL, half a surrogate pair) survives."""

import dataclasses
import json
from typing import Any

from server.documents.records import Document, Sentence

DOCUMENT_FIELDS = frozenset(field.name for field in dataclasses.fields(Document))
SENTENCE_FIELDS = frozenset(field.name for field in dataclasses.fields(Sentence))


def encode(record: Document | Sentence) -> str:
    """One line of ASCII. Raises TypeError for an option that is no JSON value."""
    return json.dumps(vars(record), separators=(",", ":"), default=_plain)


def decode_document(text: str | bytes) -> Document:
    """The inverse of `encode`; fields that a newer RingMT added are left out."""
    return Document(**{name: value for name, value in json.loads(text).items() if name in DOCUMENT_FIELDS})


def decode_sentence(text: str | bytes) -> Sentence:
    """The inverse of `encode`; fields that a newer RingMT added are left out."""
    values: dict[str, Any] = {name: value for name, value in json.loads(text).items() if name in SENTENCE_FIELDS}
    values["source_ids"] = tuple(values["source_ids"])
    for name in ("target_ids", "draft_ids"):
        if values.get(name) is not None:
            values[name] = tuple(values[name])
    values["context_used"] = tuple((index, weight) for index, weight in values.get("context_used", ()))
    return Sentence(**values)


def _plain(value: object) -> object:
    """A NumPy number as Python's."""
    if hasattr(value, "item"):
        plain: object = value.item()
        return plain
    raise TypeError(f"a document keeps JSON values only, not {type(value).__name__}")
