"""Documents as the store in memory keeps them: encoded, with the versions that wrote their sentences."""

import dataclasses
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from server.stores.codec import decode_document
from server.stores.interface import ChangePlace
from server.stores.limits import charge_of
from server.stores.records import Document
from server.telemetry.labels import OPEN_STATES, DocumentState


@dataclass
class MemoryRecord:
    """`document` and `sentences` are encoded, so that no caller can change them, and their lengths are their sizes.
    `leased_until` is in the clock's seconds, 0 without a lease."""

    document: str
    owner: str
    model: str
    state: DocumentState
    version: int
    created: float
    touched: float
    sentences: list[str]
    size: int
    changed: "array[int]"
    """The ChangePlace of every sentence as one number (see number_of), ascending."""
    written_by: "array[int]"
    """For each sentence, the version of its ChangePlace."""
    worker: str | None = None
    leased_until: float = 0.0

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES

    @property
    def charge(self) -> int:
        return charge_of(self.size, self.state)

    def write(self, indices: Sequence[int]) -> None:
        """Sentences of these indices, ascending, were written by the present version."""
        for index in indices:
            if index < len(self.written_by):
                del self.changed[bisect_left(self.changed, number_of(ChangePlace(self.written_by[index], index)))]
                self.written_by[index] = self.version
            else:
                self.written_by.append(self.version)
        self.changed.extend(number_of(ChangePlace(self.version, index)) for index in indices)

    def decoded(self) -> Document:
        document = decode_document(self.document)
        return dataclasses.replace(document, owner=self.owner, state=self.state, version=self.version)


INDICES = 2**32
"""More than any sentence's index."""


def new_record(document: Document, owner: str, body: str, bodies: list[str], size: int) -> MemoryRecord:
    state, version, created, touched = document.state, document.version, document.created, document.touched
    return MemoryRecord(
        body, owner, document.model, state, version, created, touched, bodies, size, array("q"), array("q")
    )


def number_of(place: ChangePlace) -> int:
    return place.version * INDICES + place.position
