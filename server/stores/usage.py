"""The interface of stores of counted characters, which are kept beside the documents, under the same URL."""

from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

BATCH_SECONDS: Final = 7 * 86400
"""How long a store keeps the number of a writer's last batch."""


class Counter(NamedTuple):
    """Characters of an owner (the name of a key, "" without keys) in a `period`: a day 2026-11-26 or a month 2026-11 of
    UTC."""

    owner: str
    period: str


class UsageStore(Protocol):
    """Counts characters. Safe to call from several threads; SQLite and Redis also from several processes, which lose
    nothing of each other's. All methods raise StoreError."""

    def add(self, writer: str, batch: int, counts: Mapping[Counter, int]) -> None:
        """Add to counters, all or none; a counter does not fall below 0. A `batch` (rising numbers of one `writer`)
        that was added already is not added again, so that it can be sent again after a StoreError."""
        ...

    def version(self) -> str:
        """A text that is different after each `add`; cheap, because every server reads it every second."""
        ...

    def read(self, periods: tuple[str, ...]) -> dict[Counter, int]:
        """All counters of these periods that are not 0."""
        ...

    def forget(self, before_day: str, before_month: str) -> None:
        """Delete the counters of earlier days and months, and the last batches of writers that have ended."""
        ...
