"""The interface of stores of translation memories, which are kept beside the documents, under the same URL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

MOST_WRITTEN: Final = 500
"""Entries that one `put` writes, so that other writers wait little."""


MOST_DELETED: Final = 32
"""Deleted entries that a generation names: a reader that missed no more need not read a memory again."""


class UnknownMemory(LookupError):
    """This owner has no translation memory with that id."""


class UnknownEntry(LookupError):
    """The translation memory has no entry with that id."""


class MemoryTaken(RuntimeError):
    """The owner has a translation memory with that id already."""


class MemoriesFull(RuntimeError):
    """A limit of translation memories is reached; the message says which one."""


class Kept(NamedTuple):
    """How much is kept: translation memories, entries in them, and bytes of both."""

    memories: int
    entries: int
    num_bytes: int


@dataclass(frozen=True)
class MemoryLimits:
    """What one owner may keep, and the bytes of all owners."""

    memories: int
    entries: int
    owner_bytes: int
    num_bytes: int

    def check(self, owner: Kept, num_bytes: int) -> None:
        """Raises MemoriesFull for what an owner, and all owners together, would have."""
        remedy = "delete translation memories, or entries"
        if owner.memories > self.memories:
            raise MemoriesFull(f"at most {self.memories} translation memories are kept for one key: delete some")
        if owner.entries > self.entries:
            raise MemoriesFull(
                f"the translation memories of one key have at most {self.entries} entries together, not "
                f"{owner.entries}: {remedy}"
            )
        if owner.num_bytes > self.owner_bytes:
            raise MemoriesFull(
                f"the translation memories of one key have at most {self.owner_bytes} bytes together, not "
                f"{owner.num_bytes}: {remedy}"
            )
        if num_bytes > self.num_bytes:
            raise MemoriesFull(f"all translation memories together have at most {self.num_bytes} bytes: {remedy}")


@dataclass(frozen=True)
class KeptMemory:
    """A translation memory without its entries. `generation` is another one after an entry was deleted, and for a
    memory that was created again: entries that were read before may be gone; `deleted_since` says which. `last` is the
    number of its last write, 0 before the first."""

    head: str
    generation: str
    last: int
    entries: int
    num_bytes: int


class KeptEntry(NamedTuple):
    """`number` is that of the write that kept `body`: it rises with every entry of a memory that is written, also with
    one that replaces another."""

    id: str
    number: int
    body: str


class Generations(NamedTuple):
    """The generations of a memory before and after an entry was deleted: what was read in the first, without the entry,
    is valid in the second."""

    before: str
    after: str


class TranslationMemoryStore(Protocol):
    """Keeps translation memories by their owner and id, each with a `head` and with entries by their ids, until they
    are deleted. All are texts in ASCII; their lengths are their bytes. Each write happens whole or not at all. Safe to
    call from several threads; SQLite and Redis also from several processes. Methods that take a memory's id raise
    UnknownMemory, but for `create`; all raise StoreError."""

    def create(self, owner: str, memory_id: str, head: str, limits: MemoryLimits) -> None:
        """Raises MemoryTaken, and MemoriesFull: however many create at once, no more than the limits come to be."""
        ...

    def find(self, owner: str, memory_id: str) -> KeptMemory: ...

    def of_owner(self, owner: str) -> Mapping[str, KeptMemory]:
        """Every memory of an owner by its id."""
        ...

    def delete(self, owner: str, memory_id: str) -> None: ...

    def put(self, owner: str, memory_id: str, bodies: Mapping[str, str], limits: MemoryLimits) -> int:
        """Keep up to MOST_WRITTEN entries by their ids, in their order, new ones and ones in place of others; returns
        how many are new. Raises MemoriesFull, as `create`."""
        ...

    def remove(self, owner: str, memory_id: str, entry_id: str) -> Generations:
        """Delete an entry. Raises UnknownEntry."""
        ...

    def entries(self, owner: str, memory_id: str, after: int, limit: int) -> list[KeptEntry]:
        """Up to `limit` entries by their last write, the first ones after the write of number `after`. The cost does
        not grow with the number of entries."""
        ...


def after_deletion(generation: str, entry_id: str) -> str:
    """The generation after an entry was deleted: that of the memory's creation, how many entries were deleted since,
    and the ids of the last of them, newest first."""
    created, number, ids = _parts(generation)
    return f"{created}:{number + 1}:{','.join([entry_id, *ids][:MOST_DELETED])}"


def deleted_since(known: str, generation: str) -> Sequence[str] | None:
    """The ids of the entries that were deleted between two generations of a memory; None where they are too many, or
    the memory was created again."""
    created, number, ids = _parts(generation)
    known_created, known_number, _ = _parts(known)
    missed = number - known_number
    return ids[:missed] if created == known_created and 0 <= missed <= len(ids) else None


def _parts(generation: str) -> tuple[str, int, list[str]]:
    created, _, deleted = generation.partition(":")
    number, _, ids = deleted.partition(":")
    return created, int(number or 0), ids.split(",") if ids else []


def check_number(bodies: Mapping[str, str]) -> None:
    """Raises ValueError for more entries than one call may write."""
    if len(bodies) > MOST_WRITTEN:
        raise ValueError(f"at most {MOST_WRITTEN} entries are written at once, not {len(bodies)}")
