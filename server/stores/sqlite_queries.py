"""Statements of a SQLite store inside a transaction; which connection and which transaction is `sqlite`'s business.
Every statement searches an index: its cost does not grow with the number of stored documents."""

import dataclasses
import sqlite3
from collections.abc import Collection, Sequence

from server.stores import validation
from server.stores.codec import decode_document, decode_sentence, encode
from server.stores.fair_order import Candidate
from server.stores.interface import ChangePlace, Cursor
from server.stores.limits import Bound, DocumentLimits, StoreFull, Usage, charge_of
from server.stores.records import Document, Sentence
from server.telemetry.labels import DocumentState


def columns(document: Document, size: int, body: str) -> tuple[int, str, str, float, float, int, int, int, str, str]:
    """Version, state, model, created, touched, number of sentences, size, charge, body, id: in the order of INSERT and
    UPDATE."""
    version, state, model, num_sentences = document.version, document.state, document.model, document.num_sentences
    charge = charge_of(size, state)
    return version, state, model, document.created, document.touched, num_sentences, size, charge, body, document.id


def document(connection: sqlite3.Connection, document_id: str) -> Document:
    """Raises UnknownDocument."""
    row = connection.execute(
        "SELECT body, state, version, owner FROM documents WHERE id = ?", (document_id,)
    ).fetchone()
    if row is None:
        raise validation.unknown(document_id)
    return decoded(row)


def decoded(row: tuple[str, DocumentState, int, str]) -> Document:
    """A document from its body, state, version and owner: claims and changes of owners write these columns only."""
    body, state, version, owner = row
    return dataclasses.replace(decode_document(body), state=state, version=version, owner=owner)


def bodies(connection: sqlite3.Connection, document_id: str, start: int, end: int) -> list[str]:
    rows = connection.execute(
        "SELECT body FROM sentences WHERE document_id = ? AND position >= ? AND position < ? ORDER BY position",
        (document_id, start, end),
    )
    return [body for (body,) in rows]


def find(connection: sqlite3.Connection, document_id: str) -> tuple[int, int]:
    """Version and number of sentences. Raises UnknownDocument."""
    row = connection.execute("SELECT version, num_sentences FROM documents WHERE id = ?", (document_id,)).fetchone()
    if row is None:
        raise validation.unknown(document_id)
    return int(row[0]), int(row[1])


def usage(connection: sqlite3.Connection, owner: str | None = None) -> Usage:
    """What is stored for an owner, None: for all."""
    if owner is None:
        return Usage(*connection.execute("SELECT documents, open, charge FROM totals").fetchone())
    row = connection.execute(
        "SELECT coalesce(sum(documents), 0), coalesce(sum(open), 0), coalesce(sum(charge), 0) FROM usage "
        "WHERE owner = ?",
        (owner,),
    ).fetchone()
    return Usage(*row)


def full(connection: sqlite3.Connection, limits: DocumentLimits, bound: Bound, owner: str) -> StoreFull:
    is_of_owner = bound.startswith("owner")
    [oldest] = connection.execute(
        "SELECT min(touched) FROM documents WHERE state NOT IN ('queued', 'running')"
        + (" AND owner = ?" if is_of_owner else ""),
        (owner,) if is_of_owner else (),
    ).fetchone()
    return limits.full(bound, oldest)


def candidates(connection: sqlite3.Connection, models: Collection[str], now: float, latest: float) -> list[Candidate]:
    """The oldest claimable document of every owner: queued, or running without a lease that ends after `now` and by
    `latest`. Each is read from an index: the cost grows with owners and models, not with documents that wait. The
    planner would take the index of states, and read all documents that wait for other models."""
    claimable: list[tuple[float, str, str, int]] = []
    columns = "SELECT created, id, owner, num_sentences FROM documents INDEXED BY"
    for model in set(models):
        owners = connection.execute("SELECT owner FROM usage WHERE queued > 0 AND model = ?", (model,)).fetchall()
        for (owner,) in owners:
            claimable += connection.execute(
                f"{columns} queued_documents WHERE state = 'queued' AND model = ? AND owner = ? "
                "ORDER BY created, id LIMIT 1",
                (model, owner),
            ).fetchall()
        for comparison, limit in (("<=", now), (">", latest)):
            claimable += connection.execute(
                f"{columns} running_documents WHERE state = 'running' AND model = ? AND leased_until {comparison} ?",
                (model, limit),
            ).fetchall()
    oldest: dict[str, Candidate] = {}
    for created, document_id, owner, num_sentences in sorted(claimable):
        oldest.setdefault(owner, Candidate(owner, created, document_id, num_sentences))
    return list(oldest.values())


def rows(document_id: str, sentences: Sequence[Sentence]) -> list[tuple[str, int, str]]:
    return [(document_id, sentence.index, encode(sentence)) for sentence in sentences]


def size(body: str, rows: Sequence[tuple[str, int, str]]) -> int:
    return len(body) + sum(len(encoded) for _, _, encoded in rows)


def write(connection: sqlite3.Connection, rows: Sequence[tuple[str, int, str]], version: int) -> None:
    """Write sentences as the document's `version`."""
    connection.executemany(
        "INSERT INTO sentences (document_id, position, body, changed) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (document_id, position) DO UPDATE SET body = excluded.body, changed = excluded.changed",
        [(*row, version) for row in rows],
    )


def page(
    connection: sqlite3.Connection, owner: str | None, limit: int, after: Cursor | None, state: DocumentState | None
) -> list[Document]:
    """See ContextStore.page."""
    wanted, values = ["TRUE"], list[object]()
    for column, value in (("owner", owner), ("state", state)):
        if value is not None:
            wanted.append(f"{column} = ?")
            values.append(value)
    if after is not None:
        wanted.append("(created, id) < (?, ?)")
        values += [after.created, after.document_id]
    rows = connection.execute(
        f"SELECT body, state, version, owner FROM documents WHERE {' AND '.join(wanted)} "
        "ORDER BY created DESC, id DESC LIMIT ?",
        (*values, limit),
    )
    return [decoded(row) for row in rows]


def changes(
    connection: sqlite3.Connection, document_id: str, after: ChangePlace, limit: int
) -> list[tuple[ChangePlace, Sentence]]:
    """Up to `limit` sentences that were written after a place."""
    rows = connection.execute(
        "SELECT changed, position, body FROM sentences WHERE document_id = ? AND (changed, position) > (?, ?) "
        "ORDER BY changed, position LIMIT ?",
        (document_id, *after, limit),
    )
    return [(ChangePlace(changed, position), decode_sentence(body)) for changed, position, body in rows]
