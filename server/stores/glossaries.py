"""The interface of stores of glossaries, which are kept beside the documents, under the same URL."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


class UnknownGlossary(LookupError):
    """This owner has no glossary with that id."""


class GlossaryChanged(RuntimeError):
    """The glossary is not what it was when it was read; read it again."""


class GlossariesFull(RuntimeError):
    """The owner keeps as much as an owner may; the message says how much that is."""


@dataclass(frozen=True)
class GlossaryLimits:
    """What one owner may keep: so many glossaries, and so many bytes of all of them together."""

    number: int
    num_bytes: int

    def check(self, number: int, num_bytes: int) -> None:
        """Raises GlossariesFull for what an owner would have."""
        if number > self.number:
            raise GlossariesFull(f"at most {self.number} glossaries are kept for one key: delete some")
        if num_bytes > self.num_bytes:
            raise GlossariesFull(
                f"the glossaries of one key have at most {self.num_bytes} bytes together, not {num_bytes}: delete "
                "some, or leave entries out"
            )


class GlossaryStore(Protocol):
    """Keeps glossaries, each a text in ASCII, by their owner and id (ASCII as well), until they are deleted. Each write
    happens whole or not at all. Safe to call from several threads; SQLite and Redis also from several processes. All
    methods raise StoreError."""

    def put(
        self, owner: str, glossary_id: str, body: str, limits: GlossaryLimits, instead_of: str | None = None
    ) -> None:
        """Keep a new glossary, or one in place of what is `instead_of`. Raises GlossaryChanged when something else is
        kept there, UnknownGlossary when nothing is that should be replaced, and GlossariesFull: however many put at
        once, no more than the limits come to be."""
        ...

    def get(self, owner: str, glossary_id: str) -> str:
        """Raises UnknownGlossary."""
        ...

    def version(self, owner: str, glossary_id: str) -> str:
        """Equal for two calls between which the glossary was not written, different when it was changed. The glossary
        is not sent. Raises UnknownGlossary."""
        ...

    def of_owner(self, owner: str) -> Mapping[str, str]:
        """Every glossary of an owner by its id."""
        ...

    def delete(self, owner: str, glossary_id: str) -> None:
        """Raises UnknownGlossary."""
        ...

    def page(self, limit: int, after: str = "") -> list[tuple[str, str]]:
        """Id and owner of up to `limit` glossaries of all owners, by id: the first ones after the id `after`."""
        ...

    def owner_of(self, glossary_id: str) -> str:
        """Whose the glossary is. Raises UnknownGlossary."""
        ...


def check_kept(kept: str | None, instead_of: str | None) -> None:
    """Raises GlossaryChanged or UnknownGlossary when what is kept is not what a write expects."""
    if kept is None and instead_of is not None:
        raise UnknownGlossary
    if kept != instead_of:
        raise GlossaryChanged
