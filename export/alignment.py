"""Chooses the attention head of a model's align graphs, and compares the graphs with the model."""

from collections.abc import Sequence

import numpy as np
import torch

from export.artifact_text import ArtifactText, Ids
from export.parity import TOLERANCE, GraphPair, ParityError, padded, sample_sources
from model.alignment import AlignmentHead, Link, alignment, best_head, copied_links, default_head, lexicon_links
from model.data.batching import Pair
from model.data.lexicon import Lexicon
from model.translation_model import TranslationModel
from server.artifact.manifest import AlignmentKind, Manifest
from server.backends.alignment import Aligner

INT8_ALIGNMENT_TOLERANCE = 0.5
"""Largest share of a translation's weights that may lie on other pieces at int8 than in the model; only a gross error
exceeds it."""


def choose_head(
    model: TranslationModel,
    text: ArtifactText,
    sources: Sequence[Ids],
    translations: Sequence[list[int]],
    lexicon: Lexicon | None,
) -> AlignmentKind:
    """The head that agrees with most sure links between `sources` (ids as the encoder reads them) and the
    `translations`: links of the lexicon, where there is one, and links of equal pieces."""
    words = [model.config.source_words(ids) for ids in sources]
    pairs = [Pair(*both) for both in zip(words, translations, strict=True)]
    at, agreement = best_head(model, pairs, [sure_links(pair, text, lexicon) for pair in pairs])
    share, links = (0.0, 0) if agreement is None else agreement
    return AlignmentKind(at.layer, at.head, at.reads, round(share, 4), links)


def sure_links(pair: Pair, text: ArtifactText, lexicon: Lexicon | None) -> list[Link]:
    copied = copied_links(text.source_pieces(pair.source), text.target_pieces(pair.target))
    return sorted({*copied, *(lexicon_links(pair, lexicon) if lexicon is not None else ())})


def head_of(model: TranslationModel, manifest: Manifest) -> AlignmentHead:
    """The head that the manifest names, or the default."""
    chosen = manifest.alignment
    return default_head(model) if chosen is None else AlignmentHead(chosen.layer, chosen.head, chosen.reads)


def check_alignments(model: TranslationModel, pair: GraphPair) -> None:
    """Compare the align graph of a pair with the model, if it has one. A shortlist does not change it. Raises
    ParityError."""
    if pair.graph.align and not pair.backend.shortlist:
        aligner = pair.backend.aligner
        assert aligner is not None
        aligner.prepare()
        difference, moved = alignment_difference(model, aligner, head_of(model, pair.backend.manifest))
        is_close = difference <= TOLERANCE if pair.graph.precision == "fp32" else moved <= INT8_ALIGNMENT_TOLERANCE
        if not is_close:
            raise ParityError(
                f"{pair.kind}: alignments differ from the model's by up to {difference:.2g}, and {moved:.0%} of a "
                "translation's weights lie on other pieces"
            )


@torch.no_grad()
def alignment_difference(model: TranslationModel, aligner: Aligner, at: AlignmentHead) -> tuple[float, float]:
    """Over sentences of different lengths in one batch, with random translations: the largest difference of a weight,
    and the largest share of a translation's weights that lie on other pieces."""
    config = model.config
    sizes = (config.source_vocab_size or config.vocab_size, config.vocab_size)
    source, target = (sample_sources(size, config.max_length, seed, config.eos_id) for seed, size in enumerate(sizes))
    targets = [ids[:-1] for ids in reversed(target)]
    ids, keep = padded(source)
    read, _ = padded([[config.bos_id, *each] for each in targets])
    given = aligner.align(ids, keep, read)
    source_ids, source_keep, target_ids = (torch.from_numpy(array) for array in (ids, keep > 0, read))
    wanted = alignment(model, source_ids, source_keep, target_ids, at).numpy()
    differences = [np.abs(given[row, : len(each)] - wanted[row, : len(each)]) for row, each in enumerate(targets)]
    results = [difference for difference in differences if difference.size]
    return max(float(difference.max()) for difference in results), max(
        float(difference.sum(axis=1).mean() / 2) for difference in results
    )
