"""Glossaries in this process: gone when it ends, seen by no other."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import NamedTuple

from server.stores.glossaries import GlossaryLimits, UnknownGlossary, check_kept


class _Kept(NamedTuple):
    body: str
    version: int


class MemoryGlossaries:
    """A GlossaryStore in dictionaries. `locked` is the lock of the store that they belong to."""

    def __init__(self, locked: Callable[[], AbstractContextManager[None]]) -> None:
        self._locked = locked
        self._kept: defaultdict[str, dict[str, _Kept]] = defaultdict(dict)
        self._versions = itertools.count()

    def put(
        self, owner: str, glossary_id: str, body: str, limits: GlossaryLimits, instead_of: str | None = None
    ) -> None:
        with self._locked():
            kept = self._kept[owner]
            check_kept(kept[glossary_id].body if glossary_id in kept else None, instead_of)
            then = {**kept, glossary_id: _Kept(body, next(self._versions))}
            limits.check(len(then), sum(len(glossary.body) for glossary in then.values()))
            self._kept[owner] = then

    def get(self, owner: str, glossary_id: str) -> str:
        return self._find(owner, glossary_id).body

    def version(self, owner: str, glossary_id: str) -> str:
        return str(self._find(owner, glossary_id).version)

    def of_owner(self, owner: str) -> Mapping[str, str]:
        with self._locked():
            return {glossary_id: glossary.body for glossary_id, glossary in self._kept[owner].items()}

    def delete(self, owner: str, glossary_id: str) -> None:
        with self._locked():
            if self._kept[owner].pop(glossary_id, None) is None:
                raise UnknownGlossary

    def page(self, limit: int, after: str = "") -> list[tuple[str, str]]:
        with self._locked():
            results = ((name, owner) for owner, kept in self._kept.items() for name in kept if name > after)
            return sorted(results)[:limit]

    def owner_of(self, glossary_id: str) -> str:
        with self._locked():
            owners = [owner for owner, kept in self._kept.items() if glossary_id in kept]
        if not owners:
            raise UnknownGlossary
        return min(owners)

    def rename_owner(self, former: str, owner: str) -> None:
        """The caller holds the lock."""
        self._kept[owner] = self._kept.pop(former, {}) | self._kept[owner]

    def _find(self, owner: str, glossary_id: str) -> _Kept:
        with self._locked():
            if glossary_id not in self._kept[owner]:
                raise UnknownGlossary
            return self._kept[owner][glossary_id]
