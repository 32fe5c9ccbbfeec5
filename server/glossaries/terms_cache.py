"""A cache of indexed terms, within a budget of bytes."""

from collections import OrderedDict
from dataclasses import dataclass

from server.text.protect.terms import Terms

TermsKey = tuple[str, tuple[str, ...], str, str]
"""Owner, ids of glossaries, source and target language."""


@dataclass(frozen=True)
class _Cached:
    versions: tuple[str, ...]
    terms: Terms
    num_bytes: int


class TermsCache:
    """The terms of glossaries, of the version that was requested last. Evicts the least recently used. Use it in one
    thread."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes, self.num_bytes = budget_bytes, 0
        self._cached: OrderedDict[TermsKey, _Cached] = OrderedDict()
        """Least recently used first."""

    def get(self, key: TermsKey, versions: tuple[str, ...]) -> Terms | None:
        """None unless the terms of these versions of the glossaries are cached."""
        cached = self._cached.get(key)
        if cached is None or cached.versions != versions:
            return None
        self._cached.move_to_end(key)
        return cached.terms

    def put(self, key: TermsKey, versions: tuple[str, ...], terms: Terms, num_bytes: int) -> None:
        """Terms that are larger than the whole budget are not kept."""
        self._remove(key)
        if num_bytes > self.budget_bytes:
            return
        self._cached[key] = _Cached(versions, terms, num_bytes)
        self.num_bytes += num_bytes
        while self.num_bytes > self.budget_bytes:
            self._remove(next(iter(self._cached)))

    def _remove(self, key: TermsKey) -> None:
        cached = self._cached.pop(key, None)
        if cached is not None:
            self.num_bytes -= cached.num_bytes
