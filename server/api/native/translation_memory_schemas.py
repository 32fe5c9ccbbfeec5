"""The JSON of `/v1/translation_memories`."""

from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from server.api.requests.fields import check_text
from server.translation.assembly import Match
from server.translation_memory.entries import MOST_CHARS, Entry, Origin
from server.translation_memory.service import Added, TranslationMemory

MOST_ADDED = 1000
"""Entries of one request; files may have more."""
Text = Annotated[str, BeforeValidator(check_text), Field(max_length=MOST_CHARS)]


class NewMemory(BaseModel):
    """`POST /v1/translation_memories`"""

    model_config = ConfigDict(strict=True, extra="forbid")

    name: Annotated[str, BeforeValidator(check_text), Field(min_length=1, max_length=200)]
    source: str = Field(description="Language of the sources, without a region.", examples=["en"])
    target: str = Field(description="Language of the translations.", examples=["de"])


class NewEntry(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    source: Text = Field(examples=["Good morning."])
    target: Text = Field(examples=["Guten Morgen."])


class NewEntries(BaseModel):
    """`POST /v1/translation_memories/ID/entries`"""

    model_config = ConfigDict(strict=True, extra="forbid")

    entries: list[NewEntry] = Field(min_length=1, max_length=MOST_ADDED)


class MemoryAnswer(BaseModel):
    """A translation memory without its entries."""

    id: str
    name: str
    source: str
    target: str
    created: float = Field(description="Seconds since 1970.")
    entries: int = Field(description="How many.")
    size: int = Field(description="Bytes that count for max_translation_memory_bytes.")

    @classmethod
    def of(cls, memory: TranslationMemory) -> Self:
        return cls(
            id=memory.id,
            name=memory.name,
            source=memory.source,
            target=memory.target,
            created=memory.created,
            entries=memory.entries,
            size=memory.num_bytes,
        )


class MemoryList(BaseModel):
    """The oldest first."""

    translation_memories: list[MemoryAnswer]


class AddedEntries(BaseModel):
    new: int = Field(description="Entries that were added.")
    replaced: int = Field(description="Entries that had the same source, whose translation is the new one now.")

    @classmethod
    def of(cls, added: Added) -> Self:
        return cls(new=added.new, replaced=added.replaced)


class ImportedEntries(AddedEntries):
    repeated: int = Field(description="Pairs of the file with the source of a later one, which were left out.")
    refused: dict[str, int] = Field(description="How many pairs were not kept, by the reason.")


class EntryAnswer(BaseModel):
    id: str
    source: str
    target: str
    origin: Origin = Field(description="How it came here.")
    created: float = Field(description="When it was written last, in seconds since 1970.")

    @classmethod
    def of(cls, entry: Entry) -> Self:
        pair = entry.pair
        return cls(id=entry.id, source=pair.source, target=pair.target, origin=entry.origin, created=entry.created)


class EntryList(BaseModel):
    """A page of entries, by their last write."""

    entries: list[EntryAnswer]
    next: int | None = Field(description="`after` of the next page; null on the last.")

    @classmethod
    def of(cls, entries: list[Entry], limit: int) -> Self:
        shown = entries[:limit]
        return cls(
            entries=[EntryAnswer.of(entry) for entry in shown], next=shown[-1].number if len(entries) > limit else None
        )


class MemoryMatch(BaseModel):
    """An entry of a translation memory for the text, or for a sentence in it."""

    source: str
    target: str
    likeness: int = Field(description="Of its source, in percent. 100: equal; its translation is used.")
    place: tuple[int, int] = Field(
        description="Where what it is for begins and ends in the request's text, in characters from 0 on, the end not "
        "included.",
        examples=[[0, 13]],
    )

    @classmethod
    def of(cls, match: Match) -> Self:
        pair = match.entry.pair
        return cls(source=pair.source, target=pair.target, likeness=match.entry.likeness, place=match.place)
