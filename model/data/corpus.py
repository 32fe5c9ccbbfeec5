"""Parallel text on disk: NAME.en.gz and NAME.de.gz (or without .gz), one sentence a line, line by line parallel.

An empty line at the same place in both files ends a document.
"""

import gzip
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


class CorpusError(ValueError):
    """Parallel files that are missing or not parallel."""


@dataclass(frozen=True)
class SentencePair:
    """One aligned pair; `document` counts from 0 within its corpus."""

    source: str
    target: str
    document: int


def find_side(folder: Path, name: str, language: str) -> Path:
    """The file of one language of a corpus, packed by gzip or not. Raises CorpusError that names both places."""
    for path in (folder / f"{name}.{language}.gz", folder / f"{name}.{language}"):
        if path.is_file():
            return path
    raise CorpusError(f"corpus '{name}' has no {language} side: expected {folder / name}.{language}.gz or .{language}")


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file, packed by gzip or not; a file that ends with a line break has an empty last line."""
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            return file.read().split("\n")
    return path.read_text(encoding="utf-8").split("\n")


def read_corpus(folder: Path, name: str, source: str, target: str) -> list[SentencePair]:
    """All pairs of one corpus, in order. Raises CorpusError when the sides differ in length or in document ends."""
    sides = [read_lines(find_side(folder, name, language)) for language in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise CorpusError(f"corpus '{name}': {len(sides[0])} lines of {source} against {len(sides[1])} of {target}")
    return list(_pairs(name, *sides))


def _pairs(name: str, source_lines: list[str], target_lines: list[str]) -> Iterator[SentencePair]:
    document = 0
    for number, (source, target) in enumerate(zip(source_lines, target_lines, strict=True), start=1):
        if not source and not target:
            document += 1
        elif not source or not target:
            raise CorpusError(f"corpus '{name}', line {number}: one side is empty, the other is not")
        else:
            yield SentencePair(source, target, document)


def data_hash(folder: Path, names: list[str], languages: tuple[str, str]) -> str:
    """SHA-256 over the files of the named corpora, so that a checkpoint records its training data."""
    digest = hashlib.sha256()
    for name in sorted(names):
        for language in languages:
            digest.update(find_side(folder, name, language).read_bytes())
    return digest.hexdigest()
