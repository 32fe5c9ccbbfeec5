"""What a teacher wrote, as a corpus: pairs to train on, and pairs that only measure."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from export.distil.teacher import Row
from export.replaced import replaced

TRAIN, DEV, COUNTS = "train", "dev", "counts.json"
DEV_SHARE, MOST_DEV = 1 / 20, 1000
"""Of the pairs, those that are kept from training, about so many at most: sources are drawn by their hash, so that
equal ones are on the same side."""
HASHES = 2**64


@dataclass(frozen=True)
class Counts:
    """Of a text: its lines, the sentence pairs of either corpus, and the reasons why other sentences are left out."""

    lines: int
    train: int
    dev: int
    left_out: dict[str, int]

    def __str__(self) -> str:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.items())
        return f"{self.train:,} pairs and {self.dev:,} for dev, of {self.lines:,} lines; left out: {reasons or 'none'}"


def write_pairs(translated: Path, folder: Path, languages: tuple[str, str]) -> Counts:
    """Write train.LANGUAGE, dev.LANGUAGE and counts.json into a new `folder`, all or nothing. A line without words ends
    a document of `train`. Raises ValueError where there are too few pairs for both corpora."""
    num_pairs, lowest = 0, HASHES
    for row in _rows(translated):
        num_pairs += len(row.pairs)
        lowest = min([lowest, *(_hash(source) for source, _ in row.pairs)])
    below = max(lowest + 1, round(HASHES * min(DEV_SHARE, MOST_DEV / max(num_pairs, 1))))
    numbers, left_out = Counter[str](), Counter[str]()
    with replaced(folder, COUNTS) as new:
        train, dev = (_Corpus(new / name, languages) for name in (TRAIN, DEV))
        for row in _rows(translated):
            numbers["lines"] += 1
            left_out.update(row.left_out)
            if not (row.pairs or row.left_out):
                train.end_document()
            for source, target in row.pairs:
                (dev if _hash(source) < below else train).add(source, target)
        train.close()
        dev.close()
        counts = Counts(numbers["lines"], train.num_pairs, dev.num_pairs, dict(sorted(left_out.items())))
        if not (counts.train and counts.dev):
            raise ValueError(f"too few sentences to train on: {counts}; give more text, and another --out")
        (new / COUNTS).write_text(json.dumps(asdict(counts), indent=2) + "\n", encoding="utf-8")
    return counts


def read_counts(folder: Path) -> Counts:
    return Counts(**json.loads((folder / COUNTS).read_text(encoding="utf-8")))


class _Corpus:
    """Two files that are parallel line by line."""

    def __init__(self, path: Path, languages: tuple[str, str]) -> None:
        self._sides: list[TextIO] = [
            path.with_name(f"{path.name}.{language}").open("w", encoding="utf-8", newline="\n")
            for language in languages
        ]
        self.num_pairs = 0
        self._in_document = False

    def add(self, source: str, target: str) -> None:
        self.num_pairs += 1
        self._in_document = True
        self._write(source, target)

    def end_document(self) -> None:
        if self._in_document:
            self._write("", "")
        self._in_document = False

    def _write(self, source: str, target: str) -> None:
        for file, text in zip(self._sides, (source, target), strict=True):
            file.write(f"{text}\n")

    def close(self) -> None:
        for file in self._sides:
            file.close()


def _rows(translated: Path) -> Iterator[Row]:
    with translated.open(encoding="utf-8", newline="\n") as lines:
        yield from map(Row.from_json, lines)


def _hash(source: str) -> int:
    return int.from_bytes(hashlib.sha256(source.encode("utf-8")).digest()[:8])
