"""Glossaries that are kept: made once, named by their id in later requests, seen by their owner only."""

import contextlib
import dataclasses
import itertools
import json
import re
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from server.stores.glossaries import GlossaryChanged, GlossaryLimits, GlossaryStore, UnknownGlossary
from server.stores.threads import in_store_thread

ENTRIES_A_LINE = 1000
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


@dataclass(frozen=True)
class Dictionary:
    """How terms of one language are said in another. Languages are lower case, without a region."""

    source: str
    target: str
    entries: Mapping[str, str]

    @property
    def languages(self) -> tuple[str, str]:
        return self.source, self.target


@dataclass(frozen=True)
class Glossary:
    """`dictionaries` are of different pairs of languages. `created`: seconds since 1970."""

    id: str
    name: str
    created: float
    dictionaries: tuple[Dictionary, ...]

    def dictionary(self, source: str, target: str) -> Dictionary | None:
        return next((one for one in self.dictionaries if one.languages == (source, target)), None)

    def named(self, name: str) -> "Glossary":
        return dataclasses.replace(self, name=name)

    def with_dictionary(self, new: Dictionary) -> "Glossary":
        """With this one in place of that of its languages, or after the others."""
        by_languages = {one.languages: one for one in self.dictionaries} | {new.languages: new}
        return dataclasses.replace(self, dictionaries=tuple(by_languages.values()))

    def with_entries(self, new: Dictionary) -> "Glossary":
        """With more entries, which take the place of those of the same terms."""
        old = self.dictionary(*new.languages)
        merged = new if old is None else dataclasses.replace(new, entries={**old.entries, **new.entries})
        return self.with_dictionary(merged)

    def without_dictionary(self, gone: Dictionary) -> "Glossary":
        return dataclasses.replace(self, dictionaries=tuple(one for one in self.dictionaries if one != gone))


@dataclass(frozen=True)
class OwnedGlossary:
    """What a list tells of a glossary. `pairs`: source and target language and number of entries of its
    dictionaries."""

    id: str
    owner: str
    name: str
    created: float
    pairs: tuple[tuple[str, str, int], ...]
    num_bytes: int

    @classmethod
    def of(cls, owner: str, glossary: Glossary, num_bytes: int) -> "OwnedGlossary":
        pairs = tuple((one.source, one.target, len(one.entries)) for one in glossary.dictionaries)
        return cls(glossary.id, owner, glossary.name, glossary.created, pairs, num_bytes)


class GlossaryService:
    """The glossaries of a store. `owner` is whose they are: nobody else sees them. All methods raise StoreError, those
    that take an id UnknownGlossary, those that write GlossariesFull."""

    def __init__(self, store: GlossaryStore, limits: GlossaryLimits) -> None:
        self._store, self._limits = store, limits

    async def create(self, owner: str, name: str, dictionaries: Iterable[Dictionary]) -> Glossary:
        new = Glossary(str(uuid.uuid4()), name, time.time(), tuple(dictionaries))
        await in_store_thread(lambda: self._store.put(owner, new.id, _encoded(new), self._limits))
        return new

    async def find(self, owner: str, glossary_id: str) -> Glossary:
        return await in_store_thread(lambda: _decoded(self._body(owner, glossary_id)))

    async def of_owner(self, owner: str) -> list[Glossary]:
        """The oldest first."""
        found = await in_store_thread(lambda: [_decoded(body) for body in self._store.of_owner(owner).values()])
        return sorted(found, key=lambda one: (one.created, one.id))

    async def change(self, owner: str, glossary_id: str, changed: Callable[[Glossary], Glossary]) -> Glossary:
        """The glossary after a change, which is made again when somebody else changed it meanwhile. Raises what
        `changed` raises."""

        def change() -> Glossary:
            while True:
                body = self._body(owner, glossary_id)
                new = changed(_decoded(body))
                try:
                    self._store.put(owner, glossary_id, _encoded(new), self._limits, instead_of=body)
                except GlossaryChanged:
                    continue
                return new

        return await in_store_thread(change)

    async def delete(self, owner: str, glossary_id: str) -> None:
        await in_store_thread(lambda: self._store.delete(owner, _checked(glossary_id)))

    async def owner_of(self, glossary_id: str) -> str:
        return await in_store_thread(lambda: self._store.owner_of(_checked(glossary_id)))

    async def page(self, owner: str | None, limit: int, after: str) -> list[OwnedGlossary]:
        """Up to `limit` glossaries of an owner (None: of all), by id: the first ones after the id `after`. They are
        read one at a time, and their entries only counted."""

        def page() -> list[OwnedGlossary]:
            if owner is None:
                places = self._store.page(limit, after)
            else:
                places = [(one, owner) for one in sorted(self._store.of_owner(owner)) if one > after][:limit]
            found = []
            for glossary_id, whose in places:
                with contextlib.suppress(UnknownGlossary):  # deleted meanwhile
                    body = self._store.get(whose, glossary_id)
                    found.append(OwnedGlossary.of(whose, _decoded(body), len(body)))
            return found

        return await in_store_thread(page)

    def _body(self, owner: str, glossary_id: str) -> str:
        return self._store.get(owner, _checked(glossary_id))


def _checked(glossary_id: str) -> str:
    """The id. Raises UnknownGlossary for one that no glossary has."""
    if not _ID.fullmatch(glossary_id):
        raise UnknownGlossary
    return glossary_id


def _encoded(glossary: Glossary) -> str:
    """Lines of JSON in ASCII: first the glossary, its dictionaries with no entries; then the entries, some on each line
    with the number of their dictionary. (Python holds the interpreter while it reads or writes one piece of JSON: one
    of 16 MB would keep everybody else waiting.)"""
    bare = [dataclasses.replace(dictionary, entries={}) for dictionary in glossary.dictionaries]
    lines = [_json(dataclasses.asdict(dataclasses.replace(glossary, dictionaries=tuple(bare))))]
    for number, dictionary in enumerate(glossary.dictionaries):
        entries = iter(dictionary.entries.items())
        while some := dict(itertools.islice(entries, ENTRIES_A_LINE)):
            lines.append(_json([number, some]))
    return "\n".join(lines)


def _decoded(body: str) -> Glossary:
    """A glossary from lines as `_encoded` writes them, or from one line with the entries in their dictionaries, as
    versions up to 0.1 wrote it."""
    first, *lines = body.split("\n")
    values = json.loads(first)
    entries: list[dict[str, str]] = [dict(one["entries"]) for one in values["dictionaries"]]
    for line in lines:
        number, some = json.loads(line)
        entries[number].update(some)
    dictionaries = tuple(
        Dictionary(**{**one, "entries": own}) for one, own in zip(values["dictionaries"], entries, strict=True)
    )
    return Glossary(**{**values, "dictionaries": dictionaries})


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
