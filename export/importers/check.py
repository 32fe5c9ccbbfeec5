"""Compares an imported model with what its own engine translated."""

from dataclasses import dataclass
from pathlib import Path

import sacrebleu

from export.artifact_text import ArtifactText
from export.importers import ImportRefused
from server.artifact.artifact import Artifact
from server.backends.load import load_backend
from server.engine.request import SearchOptions
from server.engine.synchronous import Source, translate_now

SHOWN = 5
"""Differing sentences in a report."""


@dataclass(frozen=True)
class Comparison:
    """Translations of an artifact's graphs and of another engine, sentence by sentence."""

    precision: str
    ours: list[str]
    theirs: list[str]

    @property
    def num_equal(self) -> int:
        return sum(ours == theirs for ours, theirs in zip(self.ours, self.theirs, strict=True))

    @property
    def bleu(self) -> float:
        """BLEU of ours with theirs as the references: 100 where all are equal."""
        return float(sacrebleu.corpus_bleu(self.ours, [self.theirs]).score)

    def report(self) -> str:
        counted = (
            f"{self.num_equal} of {len(self.ours)} sentences are the same, {self.bleu:.1f} BLEU against the others"
        )
        differing = [pair for pair in zip(self.ours, self.theirs, strict=True) if pair[0] != pair[1]]
        shown = "".join(f"\n  - {theirs}\n  + {ours}" for ours, theirs in differing[:SHOWN])
        return f"{self.precision}, beam 1: {counted}{shown}"


def compare(artifact: Artifact, precision: str, text: Path, against: Path) -> Comparison:
    """Translate the sentences of `text`, one a line, by beam 1 over the whole vocabulary, and compare them with the
    lines of `against`. Raises ImportRefused where the files differ in length."""
    sources, theirs = (path.read_text(encoding="utf-8").removesuffix("\n").split("\n") for path in (text, against))
    if len(sources) != len(theirs):
        raise ImportRefused(f"{text} has {len(sources)} lines and {against} {len(theirs)}: they must be line by line")
    words, manifest = ArtifactText(artifact.folder, artifact.manifest), artifact.manifest
    backend = load_backend(artifact, "onnx", precision, "off")
    options = SearchOptions(beam_size=1, max_length=manifest.max_target_length, follows_source=True)
    results = translate_now(backend, [Source(ids) for ids in words.readable_sources(sources)], options)
    ours = words.decode([result.hypotheses[0].ids for result in results])
    return Comparison(precision, [line.strip() for line in ours], [line.strip() for line in theirs])
