"""Learns the shortlist of an artifact from text in its source language, which the artifact translates."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from export.artifact_text import ArtifactText
from export.onnx_graph.shortlist import ShortlistPlan, Widening
from export.shortlists.counts import Counts
from export.shortlists.recording import Translation, translations
from server.artifact.artifact import Artifact
from server.artifact.manifest import EXPORT_AGAIN, ArtifactError, Manifest
from server.backends.alignment import Aligner, align_batch
from server.backends.arrays import Floats, Ints
from server.backends.base import Backend

PORTION, ALIGNED = 1024, 16
"""Sentences that are translated at a time, and that are aligned at a time."""
RARE = 10
"""Pieces that the text has fewer times are also translated alone."""
TRANSLATIONS = 64
"""Most target words of a source word."""
FAMILIAR = 3
"""Pieces that the text has fewer times are rare: what they translate to may be on no list."""
MIN_CONFIDENCE, MIN_CONFIDENCE_RARE = 0.4, 1.0
"""Below this probability of the best listed word a step scores all words, in sentences without and with a rare
piece."""


def learn(
    artifact: Artifact,
    backend: Backend,
    lines: Sequence[str],
    source: str | None = None,
    unseen: bool = False,
    on_progress: Callable[[int], object] = lambda _: None,
) -> Counts:
    """The counts of all lines, in a model of many languages those of translations into each. `source`: the language of
    the lines there (default: the first). `unseen`: whether pieces that the lines lack are translated alone, too, which
    only serves sentences of which some steps are not over all words. `on_progress` is called with the number of each
    portion's lines. Raises ArtifactError for an artifact without a graph that aligns."""
    manifest, aligner = artifact.manifest, backend.aligner
    if aligner is None:
        raise ArtifactError(f"artifact '{manifest.name}' has no graph that aligns words: {EXPORT_AGAIN}")
    aligner.prepare()
    counts = Counts.empty(manifest.source_vocabulary_size or manifest.vocabulary_size, manifest.vocabulary_size)
    texts = [ArtifactText(artifact.folder, each) for each in pairs_of(manifest, source)]

    def add(sources: Sequence[tuple[int, ...]]) -> None:
        translated = [each for each in translations(backend, sources) if each.target]
        translated.sort(key=lambda each: len(each.source))
        counts.add(translated, aligned(backend, aligner, translated), manifest.start_length)

    for text in texts:
        for start in range(0, len(lines), PORTION):
            portion = lines[start : start + PORTION]
            add(text.readable_sources(portion))
            on_progress(len(portion))
    counts.in_text = -(-counts.seen // len(texts))
    rare = np.flatnonzero((counts.seen < RARE) & ((counts.seen > 0) | unseen)).tolist()
    for text in texts:
        for start in range(0, len(rare), PORTION):
            add([text.source_of(piece) for piece in rare[start : start + PORTION]])
    return counts


def pairs_of(manifest: Manifest, source: str | None) -> list[Manifest]:
    """The manifest with the `source_prefix` of every pair that translates `source`. Raises ArtifactError for a language
    that the model does not translate."""
    languages = manifest.languages
    if languages is None:
        return [manifest]
    source = source or languages.first_pair[0]
    targets = [target for target in languages.targets if languages.translates(source, target)]
    if not targets:
        raise ArtifactError(f"artifact '{manifest.name}' does not translate '{source}': --source names the text's")
    return [dataclasses.replace(manifest, source_prefix=languages.prefix(source, target)) for target in targets]


def aligned(backend: Backend, aligner: Aligner, translated: Sequence[Translation]) -> list[Floats]:
    """The attention weights [piece, source] of every translation."""
    manifest = backend.manifest
    longest, start = manifest.max_target_length + manifest.start_length, manifest.start_length
    weights = list[Floats]()
    for first in range(0, len(translated), ALIGNED):
        pairs = [(each.source, each.target) for each in translated[first : first + ALIGNED]]
        weights += align_batch(aligner, manifest.special_ids.bos, longest, pairs, start)
    return weights


def plan_of(
    artifact: Artifact,
    counts: Counts,
    sizes: tuple[int, int],
    min_confidence: tuple[float, float] = (MIN_CONFIDENCE, MIN_CONFIDENCE_RARE),
) -> ShortlistPlan:
    """The shortlist of `sizes` frequent and extra words. `min_confidence`: in sentences without and with a rare piece.
    Raises ValueError for sizes that do not fit."""
    text, ids = ArtifactText(artifact.folder, artifact.manifest), artifact.manifest.special_ids
    targets = len(artifact.manifest.targets)
    order = counts.by_frequency(ids.eos, [word for word in (ids.pad, ids.unk, ids.bos) if word != ids.eos])
    copies = copied_pieces(text, len(counts.seen), order)
    plan = ShortlistPlan.of(counts.lists(copies, TRANSLATIONS * targets), *sizes, order)
    if not any(min_confidence):
        return plan
    return dataclasses.replace(plan, widening=Widening(*min_confidence, counts.in_text < FAMILIAR))


def copied_pieces(text: ArtifactText, source_words: int, target: Ints) -> dict[int, int]:
    """Source word -> the target word that is the same piece."""
    words = [int(word) for word in target]
    ids = dict(zip(text.target_pieces(words), words, strict=True))
    pieces = text.source_pieces(range(source_words))
    return {word: ids[piece] for word, piece in enumerate(pieces) if piece in ids}
