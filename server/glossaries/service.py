"""Glossaries that are kept: made once, named by their id in later requests, seen by their owner only."""

import asyncio
import contextlib
import dataclasses
import itertools
import json
import re
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

from server.glossaries.terms_cache import TermsCache, TermsKey
from server.runtime.offload import offload
from server.stores.glossaries import GlossaryChanged, GlossaryLimits, GlossaryStore, UnknownGlossary
from server.stores.threads import in_store_thread
from server.text.protect.terms import Terms

ENTRIES_A_LINE = 1000
TERMS_BYTES = 128 * 2**20
"""Memory for the indexed terms of glossaries."""
ENTRY_BYTES = 240
"""Memory of an indexed term beside its characters and those of its translation."""
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


class NoDictionary(LookupError):
    """A glossary has no dictionary of the two languages."""


@dataclass(frozen=True)
class Dictionary:
    """Terms of one language with their translations into another. Languages are lower case, without a region."""

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
        return next((other for other in self.dictionaries if other.languages == (source, target)), None)

    def named(self, name: str) -> "Glossary":
        return dataclasses.replace(self, name=name)

    def with_dictionary(self, new: Dictionary) -> "Glossary":
        """With `new` in place of the dictionary of its languages, or after the others."""
        by_languages = {other.languages: other for other in self.dictionaries} | {new.languages: new}
        return dataclasses.replace(self, dictionaries=tuple(by_languages.values()))

    def with_entries(self, new: Dictionary) -> "Glossary":
        """With the entries of `new` added; they replace entries of the same terms."""
        old = self.dictionary(*new.languages)
        merged = new if old is None else dataclasses.replace(new, entries={**old.entries, **new.entries})
        return self.with_dictionary(merged)

    def without_dictionary(self, gone: Dictionary) -> "Glossary":
        return dataclasses.replace(self, dictionaries=tuple(other for other in self.dictionaries if other != gone))


@dataclass(frozen=True)
class OwnedGlossary:
    """A glossary in a list. `pairs`: source and target language and number of entries of its dictionaries."""

    id: str
    owner: str
    name: str
    created: float
    pairs: tuple[tuple[str, str, int], ...]
    num_bytes: int

    @classmethod
    def of(cls, owner: str, glossary: Glossary, num_bytes: int) -> "OwnedGlossary":
        pairs = tuple(
            (dictionary.source, dictionary.target, len(dictionary.entries)) for dictionary in glossary.dictionaries
        )
        return cls(glossary.id, owner, glossary.name, glossary.created, pairs, num_bytes)


class GlossaryService:
    """The glossaries of a store, each visible to its `owner` only. All methods raise StoreError, methods with an id
    UnknownGlossary, methods that write GlossariesFull. Use it from one event loop."""

    def __init__(self, store: GlossaryStore, limits: GlossaryLimits) -> None:
        self._store, self._limits = store, limits
        self._terms = TermsCache(TERMS_BYTES)
        self._indexing: WeakValueDictionary[TermsKey, asyncio.Lock] = WeakValueDictionary()
        """Held while the terms of a key are found or indexed."""

    async def create(self, owner: str, name: str, dictionaries: Iterable[Dictionary]) -> Glossary:
        new = Glossary(str(uuid.uuid4()), name, time.time(), tuple(dictionaries))
        await in_store_thread(lambda: self._store.put(owner, new.id, _encoded(new), self._limits))
        return new

    async def find(self, owner: str, glossary_id: str) -> Glossary:
        return await in_store_thread(lambda: _decoded(self._body(owner, glossary_id)))

    async def terms(self, owner: str, glossary_ids: Sequence[str], source: str, target: str) -> Terms:
        """The terms of the glossaries' dictionaries from `source` to `target`; the first glossary that has a term
        decides. Glossaries are read, decoded and indexed again only when one of them has changed. Raises
        NoDictionary."""
        versions = await in_store_thread(
            lambda: tuple(self._store.version(owner, _checked(glossary_id)) for glossary_id in glossary_ids)
        )
        key = (owner, tuple(glossary_ids), source, target)
        lock = self._indexing.setdefault(key, asyncio.Lock())
        async with lock:  # requests that come at the same time wait for the one that indexes
            terms = self._terms.get(key, versions)
            if terms is None:
                entries = await in_store_thread(self._entries, owner, glossary_ids, source, target)
                terms = await offload(Terms, entries)
                self._terms.put(key, versions, terms, sum(map(_entry_bytes, entries.items())))
        return terms

    def _entries(self, owner: str, glossary_ids: Sequence[str], source: str, target: str) -> dict[str, str]:
        """The entries of `terms`. Raises NoDictionary."""
        entries: dict[str, str] = {}
        for glossary_id in glossary_ids:
            dictionary = _decoded(self._body(owner, glossary_id)).dictionary(source, target)
            if dictionary is None:
                raise NoDictionary
            entries = {**dictionary.entries, **entries}
        return entries

    async def of_owner(self, owner: str) -> list[Glossary]:
        """The oldest first."""
        glossaries = await in_store_thread(lambda: [_decoded(body) for body in self._store.of_owner(owner).values()])
        return sorted(glossaries, key=lambda glossary: (glossary.created, glossary.id))

    async def change(self, owner: str, glossary_id: str, changed: Callable[[Glossary], Glossary]) -> Glossary:
        """The glossary after a change, which is made again if another request changed the glossary meanwhile. Raises
        what `changed` raises."""

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
        """Up to `limit` glossaries of an owner (None: of all owners), in the order of ids, after the id `after`. They
        are read one at a time."""

        def page() -> list[OwnedGlossary]:
            if owner is None:
                ids = self._store.page(limit, after)
            else:
                ids = [
                    (glossary_id, owner) for glossary_id in sorted(self._store.of_owner(owner)) if glossary_id > after
                ][:limit]
            listed = []
            for glossary_id, of_owner in ids:
                with contextlib.suppress(UnknownGlossary):  # deleted meanwhile
                    body = self._store.get(of_owner, glossary_id)
                    listed.append(OwnedGlossary.of(of_owner, _decoded(body), len(body)))
            return listed

        return await in_store_thread(page)

    def _body(self, owner: str, glossary_id: str) -> str:
        return self._store.get(owner, _checked(glossary_id))


def _entry_bytes(entry: tuple[str, str]) -> int:
    return ENTRY_BYTES + sum(map(len, entry))


def _checked(glossary_id: str) -> str:
    """The id. Raises UnknownGlossary for one that no glossary has."""
    if not _ID.fullmatch(glossary_id):
        raise UnknownGlossary
    return glossary_id


def _encoded(glossary: Glossary) -> str:
    """Lines of JSON in ASCII: first the glossary, its dictionaries without entries; then the entries, up to
    ENTRIES_A_LINE on a line with the number of their dictionary. (Python holds the interpreter lock while it reads or
    writes one JSON value: a value of 16 MB would block all other threads.)"""
    bare = [dataclasses.replace(dictionary, entries={}) for dictionary in glossary.dictionaries]
    lines = [_json(dataclasses.asdict(dataclasses.replace(glossary, dictionaries=tuple(bare))))]
    for number, dictionary in enumerate(glossary.dictionaries):
        entries = iter(dictionary.entries.items())
        while part := dict(itertools.islice(entries, ENTRIES_A_LINE)):
            lines.append(_json([number, part]))
    return "\n".join(lines)


def _decoded(body: str) -> Glossary:
    """A glossary from lines as `_encoded` writes them, or from one line with the entries in their dictionaries, as
    versions up to 0.1 wrote it."""
    first, *lines = body.split("\n")
    values = json.loads(first)
    entries: list[dict[str, str]] = [dict(dictionary["entries"]) for dictionary in values["dictionaries"]]
    for line in lines:
        number, part = json.loads(line)
        entries[number].update(part)
    dictionaries = tuple(
        Dictionary(**{**dictionary, "entries": of_dictionary})
        for dictionary, of_dictionary in zip(values["dictionaries"], entries, strict=True)
    )
    return Glossary(**{**values, "dictionaries": dictionaries})


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
