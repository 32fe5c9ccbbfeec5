"""Documents and sentences as JSON in plain ASCII, which keeps every text (NUL, half a surrogate pair)."""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from server.stores.records import Document, Leg, Part, Sentence

FORMAT = 4
"""Rises when stored documents must be converted before they can be read; see old_format.py."""
DOCUMENT_FIELDS = frozenset(field.name for field in dataclasses.fields(Document))
SENTENCE_FIELDS = frozenset(field.name for field in dataclasses.fields(Sentence))
PART_FIELDS = frozenset(field.name for field in dataclasses.fields(Part))
LEG_FIELDS = frozenset(field.name for field in dataclasses.fields(Leg))


def encode(record: Document | Sentence) -> str:
    """One line of ASCII. Raises TypeError for an option that is no JSON value."""
    return json.dumps(vars(record), separators=(",", ":"), default=_plain)


def decode_document(text: str | bytes) -> Document:
    """The inverse of `encode`; fields that a newer RingMT added are left out."""
    values = _known(json.loads(text), DOCUMENT_FIELDS)
    values["legs"] = tuple(Leg(**_known(leg, LEG_FIELDS)) for leg in values.get("legs", ()))
    return Document(**values)


def decode_sentence(text: str | bytes) -> Sentence:
    """The inverse of `encode`; fields that a newer RingMT added are left out."""
    return _sentence(json.loads(text))


def _sentence(kept: dict[str, Any]) -> Sentence:
    values = _known(kept, SENTENCE_FIELDS)
    values["parts"] = tuple(_part(part) for part in values["parts"])
    values["context_used"] = tuple((index, weight) for index, weight in values.get("context_used", ()))
    values["flags"] = tuple(values.get("flags", ()))
    if values.get("origin") is not None:
        values["origin"] = _sentence(values["origin"])
    return Sentence(**values)


def _part(values: dict[str, Any]) -> Part:
    return Part(**{name: _optional_tuple(ids) for name, ids in _known(values, PART_FIELDS).items()})  # type: ignore[arg-type]


def _known(values: dict[str, Any], fields: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in fields}


def _optional_tuple(values: Sequence[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)


def _plain(value: object) -> object:
    """A record as a dictionary, a NumPy number as Python's."""
    if isinstance(value, Part | Leg | Sentence):
        return vars(value)
    if hasattr(value, "item"):
        plain: object = value.item()
        return plain
    raise TypeError(f"a document keeps JSON values only, not {type(value).__name__}")
