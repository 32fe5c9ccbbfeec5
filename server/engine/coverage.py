"""The coverage of a translation, while its encoded source is at hand."""

import dataclasses
import logging

from server.backends.alignment import align_one, coverage_of
from server.backends.base import Backend
from server.engine.request import Hypothesis
from server.engine.running_sentence import EncodedSentence

MOST_PIECES = 128
"""Pieces of source and translation, at most: running sentences wait meanwhile. Longer ones are aligned by side tasks,
which take turns with other work."""

logger = logging.getLogger("ringmt")


def with_coverage(
    backend: Backend, sentence: EncodedSentence, hypotheses: tuple[Hypothesis, ...]
) -> tuple[Hypothesis, ...]:
    """The hypotheses, the best one with its coverage if the request wants that. It is not known of long sentences, in
    context (a sentence is aligned without), and where the model does not align words or is not prepared to."""
    request, aligner, best = sentence.request, backend.aligner, hypotheses[0]
    if request.wants_coverage is None or request.context is not None or aligner is None or not aligner.is_prepared:
        return hypotheses
    pair, manifest = (request.source_ids, best.ids), backend.manifest
    if len(request.source_ids) + len(best.ids) > MOST_PIECES or not request.wants_coverage(pair):
        return hypotheses
    start, longest = manifest.start_length, manifest.max_target_length + manifest.start_length
    try:
        weights = align_one(aligner, manifest.special_ids.bos, longest, pair, sentence.content, start)
    except Exception:  # the translation is complete without it
        logger.exception("a translation could not be aligned with its source")
        return hypotheses
    return (dataclasses.replace(best, coverage=coverage_of(weights)), *hypotheses[1:])
