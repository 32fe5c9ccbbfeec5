"""Sources with their translations, and those that are found for a text."""

from dataclasses import dataclass
from typing import Final

EXACT: Final = 100
"""The likeness of equal sources."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A source and its translation, as people wrote them."""

    source: str
    target: str


@dataclass(frozen=True)
class EntryMatch:
    """An entry for a text. `likeness`: EXACT for an equal source, less for a similar one, at least 0."""

    pair: Pair
    likeness: int
