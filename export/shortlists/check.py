"""Checks that graphs with a shortlist choose what those without choose among the same words."""

from collections.abc import Sequence

import numpy as np

from export.parity import ParityError, listed_words, padded
from server.artifact.signature import CONFIDENCE
from server.backends.base import Backend
from server.backends.state import DEAD_SCORE, DecoderState, Encoded, Floats, Ints

TOLERANCE = 1e-3
"""Largest difference of a cumulative log-probability, in nats: both graphs compute the same states."""
BEAM, STEPS = 2, 12


def check_listed(listing: Backend, plain: Backend, sources: Sequence[tuple[int, ...]]) -> float:
    """The largest difference between the candidates of `listing` and those that follow from the probabilities of
    `plain`, over some steps of `sources` (ids as the encoder reads them). Raises ParityError."""
    manifest, (ids, keep) = listing.manifest, padded(sources)
    plain.prepare_scores()
    states, words, least = list[DecoderState](), None, np.zeros(0, np.float32)
    for backend in (listing, plain):
        sentences = backend.encode(ids, keep)
        state = backend.new_state(len(sources), BEAM, ids.shape[1], scores=backend is plain)
        for slot, sentence in enumerate(sentences):
            state.admit(slot, sentence, manifest.special_ids.bos, BEAM)
        states.append(state)
        if backend is listing:
            words, least = listed_words(sentences), thresholds(sentences)
    ours, theirs = states
    assert words is not None
    step, score, worst = listing.bind(ours), plain.bind_scores(theirs), 0.0
    for _ in range(min(STEPS, manifest.max_target_length - 1)):
        step()
        expected = listed_scores(score(), theirs, words, least)
        worst = max(worst, largest_difference(ours, expected))
        for name in ("token", "parent", "score"):
            getattr(theirs.following, name)[:] = getattr(ours.following, name)
        ours.tick()
        theirs.tick()
    if not worst <= TOLERANCE:
        raise ParityError(
            f"scores with the shortlist differ by {worst:.2g} nats from those of the same words without, allowed "
            f"{TOLERANCE:.2g}"
        )
    return worst


def thresholds(sentences: Sequence[Encoded]) -> Floats:
    """What `least_confidence` gives for each sentence; minus infinity where steps are never widened."""
    never = np.full(1, -np.inf, np.float32)
    found = (sentence.on_host(CONFIDENCE) for sentence in sentences)
    return np.concatenate([never if each is None else each for each in found])


def listed_scores(log_probability: Floats, state: DecoderState, listed: Ints, least: Floats) -> Floats:
    """log_probability [slot, beam, word] of all words, listed [slot, listed], least [slot] (see `least_confidence`) ->
    cumulative scores [slot, beam, word] of a step over the lists, minus infinity for words that it does not score."""
    score = state.current.score
    words = np.broadcast_to(listed[:, None], (*score.shape, listed.shape[1]))
    among = np.take_along_axis(log_probability, words, axis=2)
    among = among - np.logaddexp.reduce(among, axis=2, keepdims=True)
    result: Floats = np.full(log_probability.shape, -np.inf, np.float32)
    np.put_along_axis(result, words, among, axis=2)
    unsure = among[:, 0].max(axis=1) < least
    wide = unsure & (score[:, 0] > DEAD_SCORE / 2)
    result[wide] = log_probability[wide]
    return result + score[:, :, None]


def largest_difference(state: DecoderState, expected: Floats) -> float:
    """Of the scores of candidates that continue a live row, and of the best scores that there are."""
    given, slots = state.candidates, np.arange(state.slots)[:, None]
    live = given.score > DEAD_SCORE / 2
    same = np.abs(given.score - expected[slots, given.parent, given.token])[live]
    best = -np.sort(-expected.reshape(state.slots, -1), axis=1)[:, : given.score.shape[1]]
    return float(max(same.max(initial=0), np.abs(best - given.score)[live].max(initial=0)))
