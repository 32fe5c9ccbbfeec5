"""The slow reference beam search, with which the tests compare every fast path.

One sentence at a time; the whole prefix is computed again at every step, without rings. The hypotheses of a step are
equally long, and so a batch without padding.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from model.config import SPECIAL_IDS, SpecialIds
from model.masks import HIDDEN
from model.translation_model import TranslationModel

NextTokens = Callable[[Tensor], Tensor]
"""Target ids [hypothesis, length] from BOS on -> logits [hypothesis, vocabulary] of the token that follows each."""
Permits = Callable[[Sequence[int], int], bool]
"""Whether a token may follow these ids of a hypothesis, which have the prefix."""


@dataclass(frozen=True)
class ReferenceHypothesis:
    """`ids` without EOS; `score` the summed log-probability; `normalized_score` = score / length**alpha, with EOS."""

    ids: tuple[int, ...]
    score: float
    normalized_score: float
    finish_reason: str


@dataclass(frozen=True)
class LiveBeam:
    ids: tuple[int, ...]
    score: float


@torch.no_grad()
def reference_search(
    model: TranslationModel,
    source_ids: list[int],
    beam_size: int = 4,
    num_hypotheses: int = 1,
    length_penalty: float = 1.0,
    max_length: int = 256,
    words: Sequence[int] | None = None,
    prefix: Sequence[int] = (),
    permits: Permits | None = None,
    min_confidence: float = 0.0,
) -> list[ReferenceHypothesis]:
    """Best hypotheses of one sentence (`source_ids` end with EOS), best first."""
    source = torch.tensor([source_ids])
    keep = torch.ones_like(source, dtype=torch.bool)
    encoder_output = model.encode(source, keep)

    def next_tokens(target: Tensor) -> Tensor:
        rows = len(target)
        hidden = model.decode(target, encoder_output.expand(rows, -1, -1), keep.expand(rows, -1))
        return model.embedding.logits(hidden[:, -1])

    ids = model.config.ids
    return beam_search(
        next_tokens, beam_size, num_hypotheses, length_penalty, max_length, words, ids, prefix, permits, min_confidence
    )


@torch.no_grad()
def beam_search(
    next_tokens: NextTokens,
    beam_size: int = 4,
    num_hypotheses: int = 1,
    length_penalty: float = 1.0,
    max_length: int = 256,
    words: Sequence[int] | None = None,
    ids: SpecialIds = SPECIAL_IDS,
    prefix: Sequence[int] = (),
    permits: Permits | None = None,
    min_confidence: float = 0.0,
) -> list[ReferenceHypothesis]:
    """Beam search over the scores of `next_tokens`: the best hypotheses, best first.

    Candidates of a step are the 2*beam_size best continuations of all beams; ties go to the lower beam, then to the
    lower token. EOS among the first `beam_size` candidates finishes a hypothesis; the best `beam_size` others stay in
    the beam. The search ends when `beam_size` hypotheses are finished or `max_length` tokens, EOS included, are
    decoded; beams that are cut there fill up missing hypotheses. With `words` only these words are candidates, and
    log-probabilities are normalised over them, except in steps in which no word of the best beam would have a
    probability of `min_confidence` or more: these have all words. Hypotheses begin with the `prefix`, whatever its
    words are; the search begins behind it, with score and length 0, but `max_length` counts the prefix. Of a step's
    candidates those that `permits` forbids are left out, unless only they could continue a search in which nothing is
    finished; the search also ends when nothing continues.
    """
    prefix_length = len(prefix)
    live, finished = [LiveBeam(tuple(prefix), 0.0)], list[ReferenceHypothesis]()
    for length in range(1, max_length - prefix_length + 1):
        candidates = best_continuations(next_tokens, live, words, 2 * beam_size, ids, min_confidence)
        if permits is not None:
            permitted = [each for each in candidates if permits(live[each[1]].ids, each[2])]
            ends = any(token == ids.eos for _, _, token in permitted[:beam_size])
            if finished or ends or any(token != ids.eos for _, _, token in permitted):
                candidates = permitted
        for score, beam, token in candidates[:beam_size]:
            if token == ids.eos:
                finished.append(ReferenceHypothesis(live[beam].ids, score, score / length**length_penalty, "eos"))
        continuing = [candidate for candidate in candidates if candidate[2] != ids.eos][:beam_size]
        live = [LiveBeam((*live[beam].ids, token), score) for score, beam, token in continuing]
        if len(finished) >= beam_size or not live:
            break
    finished.sort(key=lambda hypothesis: -hypothesis.normalized_score)
    cut = [
        ReferenceHypothesis(b.ids, b.score, b.score / (len(b.ids) - prefix_length) ** length_penalty, "length")
        for b in live
    ]
    return (finished[:num_hypotheses] + cut)[:num_hypotheses]


def suppressed_ids(words: Sequence[int] | None, vocab_size: int, ids: SpecialIds = SPECIAL_IDS) -> Tensor:
    """Every word id that is not among `words`, ascending; without `words`, the special ids that no translation
    contains."""
    if words is None:
        return torch.tensor(ids.suppressed)
    left_out = torch.ones(vocab_size, dtype=torch.bool)
    left_out[list(words)] = False
    return left_out.nonzero()[:, 0]


def best_continuations(
    next_tokens: NextTokens,
    live: list[LiveBeam],
    words: Sequence[int] | None,
    count: int,
    ids: SpecialIds = SPECIAL_IDS,
    min_confidence: float = 0.0,
) -> list[tuple[float, int, int]]:
    """(cumulative score, beam, token) of the `count` best continuations, best first."""
    logits = next_tokens(torch.tensor([[ids.bos, *hypothesis.ids] for hypothesis in live]))
    before = torch.tensor([hypothesis.score for hypothesis in live], dtype=torch.float32)
    probability = log_probabilities(logits, words, ids)
    if words is not None and float(probability[0].max().exp()) < min_confidence:
        probability = log_probabilities(logits, None, ids)
    total = probability + before[:, None]
    flat, words_a_beam = total.flatten(), total.shape[1]
    order = flat.sort(descending=True, stable=True).indices[:count]  # stable: of equals the lower beam, the lower token
    return [(float(flat[at]), *divmod(at, words_a_beam)) for at in order.tolist()]


def log_probabilities(logits: Tensor, words: Sequence[int] | None, ids: SpecialIds) -> Tensor:
    """Logits [hypothesis, vocabulary] -> log-probabilities, among `words` where there are some."""
    kept = logits.clone()
    kept[:, suppressed_ids(words, logits.shape[1], ids)] = HIDDEN
    return torch.log_softmax(kept, dim=-1)
