"""Checks of what a store is called with, and its errors, shared by all stores so that they refuse the same."""

import re
from collections.abc import Sequence

from server.stores.interface import Conflict, UnknownDocument
from server.stores.records import Document, Sentence
from server.telemetry.labels import DOCUMENT_STATES

LONGEST_LEASE_SECONDS = 3600.0
"""The longest lease that counts, unless this server's own leases are longer than half of it (see latest_end)."""
ID_PATTERN = re.compile(r"[0-9A-Za-z_-]{1,128}")
SHOWN_ID_LENGTH = 64


def check_new(document: Document, sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences of a new document by index. Raises ValueError for an id of other characters than letters, digits,
    '_' and '-', and for sentences that cannot be stored."""
    if not ID_PATTERN.fullmatch(document.id):
        raise ValueError(
            f"document id {shown(document.id)} must be 1 to 128 ASCII letters, digits, '_' and '-': choose another id"
        )
    ordered = _ordered(document, sentences)
    check_fit(document, 0, ordered)
    return ordered


def check_update(document: Document, expected_version: int, sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences of an update by index. Raises UnknownDocument for an impossible id and ValueError for a version
    that does not rise, an unknown state, and an index that is negative or given twice."""
    check_id(document.id)
    if document.version <= expected_version:
        raise ValueError(
            f"document {shown(document.id)}: version {document.version} must be above the expected {expected_version}"
        )
    return _ordered(document, sentences)


def check_fit(document: Document, kept: int, ordered: Sequence[Sentence]) -> None:
    """Raises ValueError when a document that has `kept` sentences would have a gap, or when `num_sentences` is not
    what it will have."""
    appended = [sentence.index for sentence in ordered if sentence.index >= kept]
    if appended != list(range(kept, kept + len(appended))):
        raise gap(document, kept, ordered)
    check_count(document, kept + len(appended))


def check_count(document: Document, count: int) -> None:
    """Raises ValueError when `num_sentences` is not `count`."""
    if document.num_sentences != count:
        raise ValueError(
            f"document {shown(document.id)}: num_sentences is {document.num_sentences} but it has {count} sentences"
        )


def check_id(document_id: str) -> str:
    """The id. Raises UnknownDocument for an id that no document can have, before the store is called."""
    if not ID_PATTERN.fullmatch(document_id):
        raise unknown(document_id)
    return document_id


def check_range(start: int, end: int | None) -> None:
    """Raises ValueError for a negative index: indices do not count from the end here."""
    if start < 0 or (end is not None and end < 0):
        raise ValueError(f"sentences {start} to {end}: indices begin at 0")


def check_page(limit: int) -> None:
    """Raises ValueError for a page of no documents."""
    if limit < 1:
        raise ValueError(f"a page has 1 document or more, not {limit}")


def check_changes(limit: int) -> None:
    """Raises ValueError for a list of no changes."""
    if limit < 1:
        raise ValueError(f"a list of changes has 1 sentence or more, not {limit}")


def check_lease(lease_seconds: float) -> None:
    """Raises ValueError for a lease that is negative or not finite; a lease of 0 seconds expires at once."""
    if not 0 <= lease_seconds < float("inf"):
        raise ValueError(f"a lease lasts 0 seconds or more, not {lease_seconds}")


def latest_end(now: float, lease_seconds: float) -> float:
    """The latest time at which a lease can end. A lease that ends later was given before the clock was set back: it
    counts as expired."""
    return now + max(LONGEST_LEASE_SECONDS, 2 * lease_seconds)


def unknown(document_id: str) -> UnknownDocument:
    return UnknownDocument(f"no document {shown(document_id)}: it never existed, was deleted, or has expired")


def gap(document: Document, kept: int, ordered: Sequence[Sentence]) -> ValueError:
    appended = [sentence.index for sentence in ordered if sentence.index >= kept]
    return ValueError(f"document {shown(document.id)}: sentences {appended} leave a gap after the {kept} that it has")


def taken(document_id: str) -> Conflict:
    return Conflict(f"document {shown(document_id)} exists already: choose another id")


def changed(document_id: str, expected: int, stored: int) -> Conflict:
    return Conflict(
        f"document {shown(document_id)} is at version {stored}, not {expected}: read it again and repeat the change"
    )


def shown(document_id: str) -> str:
    """An id as messages show it: escaped, at most 64 characters."""
    return ascii(document_id if len(document_id) <= SHOWN_ID_LENGTH else document_id[:SHOWN_ID_LENGTH] + "...")


def _ordered(document: Document, sentences: Sequence[Sentence]) -> list[Sentence]:
    if document.state not in DOCUMENT_STATES:
        raise ValueError(f"document {shown(document.id)}: state must be one of {', '.join(DOCUMENT_STATES)}")
    ordered = sorted(sentences, key=lambda sentence: sentence.index)
    indices = [sentence.index for sentence in ordered]
    if len(set(indices)) != len(indices) or (indices and indices[0] < 0):
        raise ValueError(f"document {shown(document.id)}: a sentence index is negative or given twice in {indices}")
    return ordered
