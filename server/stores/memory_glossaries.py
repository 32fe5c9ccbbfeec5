"""Glossaries in this process: gone when it ends, seen by no other."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from server.stores.glossaries import GlossaryLimits, UnknownGlossary, check_kept


class MemoryGlossaries:
    """A GlossaryStore in dictionaries. `locked` is the lock of the store that they belong to."""

    def __init__(self, locked: Callable[[], AbstractContextManager[None]]) -> None:
        self._locked = locked
        self._kept: defaultdict[str, dict[str, str]] = defaultdict(dict)

    def put(
        self, owner: str, glossary_id: str, body: str, limits: GlossaryLimits, instead_of: str | None = None
    ) -> None:
        with self._locked():
            kept = self._kept[owner]
            check_kept(kept.get(glossary_id), instead_of)
            then = {**kept, glossary_id: body}
            limits.check(len(then), sum(map(len, then.values())))
            self._kept[owner] = then

    def get(self, owner: str, glossary_id: str) -> str:
        with self._locked():
            if glossary_id not in self._kept[owner]:
                raise UnknownGlossary
            return self._kept[owner][glossary_id]

    def of_owner(self, owner: str) -> Mapping[str, str]:
        with self._locked():
            return dict(self._kept[owner])

    def delete(self, owner: str, glossary_id: str) -> None:
        with self._locked():
            if self._kept[owner].pop(glossary_id, None) is None:
                raise UnknownGlossary

    def page(self, limit: int, after: str = "") -> list[tuple[str, str]]:
        with self._locked():
            found = ((name, owner) for owner, kept in self._kept.items() for name in kept if name > after)
            return sorted(found)[:limit]

    def owner_of(self, glossary_id: str) -> str:
        with self._locked():
            owners = [owner for owner, kept in self._kept.items() if glossary_id in kept]
        if not owners:
            raise UnknownGlossary
        return min(owners)

    def rename_owner(self, former: str, owner: str) -> None:
        """Whoever calls holds the lock."""
        self._kept[owner] = self._kept.pop(former, {}) | self._kept[owner]
