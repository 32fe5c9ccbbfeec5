"""The text that rows are measured on."""

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path

from model.data.corpus import read_corpus


@dataclass(frozen=True)
class TextSet:
    """The first sentences of a corpus; `key` changes with any of them."""

    name: str
    sources: tuple[str, ...]
    references: tuple[str, ...]
    key: str


@functools.cache
def read_set(data: Path, name: str, languages: tuple[str, str], limit: int | None) -> TextSet:
    """Raises CorpusError for a corpus that is not below `data`."""
    pairs = read_corpus(data, name, *languages)[:limit]
    sources, references = tuple(pair.source for pair in pairs), tuple(pair.target for pair in pairs)
    digest = hashlib.sha256("\n".join(sources + references).encode()).hexdigest()
    return TextSet(name, sources, references, f"{name} {len(pairs)} {digest[:16]}")
