"""Checks that an artifact computes what the model computes, by the server's own backends, before it is written."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch

from model.config import SPECIAL_IDS, SpecialIds
from model.decoder import Decoder, LayerMemory
from model.masks import HIDDEN
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact
from server.artifact.manifest import GraphFiles, Manifest
from server.artifact.signature import LISTED_WORDS
from server.backends.base import Backend
from server.backends.load import UseShortlist, load_backend
from server.backends.state import DEAD_SCORE, DecoderState, Encoded, Flags, Floats, Ints, document_layout

TOLERANCE = 1e-4
"""Largest difference of a log-probability at fp32."""
INT8_TOLERANCE = 1.0
"""Largest difference of a cumulative log-probability after the steps of `step_difference` at int8. Gross errors are far
larger; the cost of int8 is measured in BLEU."""


class Stepwise(Protocol):
    """The interface of a model here: a TranslationModel, or a document model with its document."""

    @property
    def decoder(self) -> Decoder: ...

    @property
    def empty_rings(self) -> Callable[[int], list[LayerMemory]]: ...

    @property
    def step(self) -> Callable[..., tuple[torch.Tensor, list[LayerMemory]]]: ...


class ParityError(ValueError):
    """An exported graph that does not compute what the model computes."""


def sample_sources(
    vocabulary_size: int, max_length: int, seed: int = 0, eos_id: int = SPECIAL_IDS.eos
) -> list[list[int]]:
    """Sentences of very different lengths, so that their batch is padded."""
    generator = np.random.default_rng(seed)
    lengths = [1, 2, 5, 11, min(23, max_length - 1)]
    return [[*generator.integers(4, vocabulary_size, length - 1).tolist(), eos_id] for length in lengths]


def padded(sources: Sequence[Sequence[int]]) -> tuple[Ints, Flags]:
    width = max(len(ids) for ids in sources)
    keep = np.array([[index < len(ids) for index in range(width)] for ids in sources])
    return np.array([[*ids, *[0] * (width - len(ids))] for ids in sources], np.int64), keep.astype(np.int32)


@torch.no_grad()
def step_difference(
    model: TranslationModel, backend: Backend, steps: int, sources: Sequence[Sequence[int]] = ()
) -> float:
    """Largest difference between a backend's candidate scores and the model's, over a beam of 2 on a padded batch.

    The model side keeps one ring per row, the graphs share a ring per slot: after more steps than the ring has slots
    the comparison covers wrapped rings and inherited ancestry. Both sides follow the backend's choices. Without
    `sources` random sentences are compared.
    """
    config = model.config
    size = config.source_vocab_size or config.vocab_size
    ids, keep = padded([*sources] or sample_sources(size, config.max_length, eos_id=config.eos_id))
    encoder_output = model.encode(torch.from_numpy(ids), torch.from_numpy(keep > 0))
    return decoding_difference(model, backend, backend.encode(ids, keep), encoder_output, steps, config.ids)


@torch.no_grad()
def decoding_difference(
    model: Stepwise,
    backend: Backend,
    sentences: Sequence[Encoded],
    encoder_output: torch.Tensor,
    steps: int,
    ids: SpecialIds = SPECIAL_IDS,
) -> float:
    """The difference over sentences that a backend has encoded; `encoder_output` [sentence, source, d] is that of the
    model, padded to the longest."""
    slots, width, beam = len(sentences), encoder_output.shape[1], 2
    state = backend.new_state(slots, beam, width, document_layout(sentences))
    for slot, sentence in enumerate(sentences):
        state.admit(slot, sentence, ids.bos, beam)
    step = backend.bind(state)
    listed = None if state.memory.document else listed_words(sentences)

    row_keep = torch.from_numpy(state.source_keep > 0).repeat_interleave(beam, dim=0)
    encoder_output = encoder_output.repeat_interleave(beam, dim=0)
    cross, rings = model.decoder.project_source(encoder_output), model.empty_rings(slots * beam)
    worst = 0.0
    for _ in range(steps):
        expected, rings = model_candidates(model, state, rings, cross, row_keep, ids, listed)
        step()
        worst = max(worst, candidate_difference(state, expected))
        swap_beams(state)
        state.tick()
    return worst


def listed_words(sentences: Sequence[Encoded]) -> Ints | None:
    """Every sentence's shortlist [sentence, word]; None where all words are scored."""
    found = [words for sentence in sentences if (words := sentence.on_host(LISTED_WORDS)) is not None]
    return np.stack(found) if found else None


def model_candidates(
    model: Stepwise,
    state: DecoderState,
    rings: list[LayerMemory],
    cross: list[LayerMemory],
    keep: torch.Tensor,
    ids: SpecialIds,
    listed: Ints | None = None,
) -> tuple[Floats, list[LayerMemory]]:
    """Cumulative log-probabilities [slot, beam, vocabulary] of every continuation, and the rings after this step. With
    `listed` [slot, word] only these words are candidates."""
    before, (slots, beam) = state.current, state.is_row.shape
    parents = torch.from_numpy(before.parent + np.arange(slots)[:, None] * beam).flatten()
    rings = [tuple(buffer.index_select(0, parents) for buffer in layer) for layer in rings]
    position = torch.from_numpy(state.position).repeat_interleave(beam)
    logits, rings = model.step(torch.from_numpy(before.token).flatten(), position, rings, cross, keep)
    logits[:, list(ids.suppressed)] = HIDDEN
    if listed is not None:
        words = torch.from_numpy(listed).repeat_interleave(beam, dim=0)
        logits = torch.full_like(logits, HIDDEN).scatter(1, words, logits.gather(1, words))
    total = torch.log_softmax(logits, dim=-1).view(slots, beam, -1) + torch.from_numpy(before.score)[:, :, None]
    return total.numpy(), rings


def candidate_difference(state: DecoderState, expected: Floats) -> float:
    """Largest |score - expected score| over the candidates that continue a live row; infinite where a score is NaN."""
    if not np.isfinite(state.candidates.score).all():
        return math.inf
    slots = np.arange(state.slots)[:, None]
    wanted = expected[slots, state.candidates.parent, state.candidates.token]
    live = np.take_along_axis(state.current.score, state.candidates.parent, axis=1) > DEAD_SCORE / 2
    return float(np.abs(state.candidates.score - wanted)[live].max())


def swap_beams(state: DecoderState) -> None:
    """Reverse the order of the next rows, so that parents change often."""
    rows = state.following
    for array in (rows.token, rows.parent, rows.score):
        array[:] = array[:, ::-1].copy()


class GraphPair(NamedTuple):
    """One pair of an artifact's graphs, and the backend that runs it."""

    graph: GraphFiles
    backend: Backend

    @property
    def kind(self) -> str:
        """Its name, for messages."""
        return f"{self.graph.format} {self.graph.precision}" + (" shortlist" if self.backend.shortlist else "")


def graph_pairs(artifact: Artifact) -> Iterator[GraphPair]:
    """All graphs without a shortlist, and again with the shortlist where there is one. Each backend is loaded on demand
    and released: together they may exceed the memory."""
    for graph in artifact.manifest.graphs:
        shortlists: tuple[UseShortlist, ...] = ("off", "on") if graph.step_shortlist else ("off",)
        for shortlist in shortlists:
            yield GraphPair(graph, load_backend(artifact, graph.format, graph.precision, shortlist))


def check_parity(model: TranslationModel, pair: GraphPair, sources: Sequence[Sequence[int]] = ()) -> dict[str, float]:
    """Compare a pair of graphs with the model over two wraps of the ring, on `sources` or random ones. Returns the
    difference by the pair's kind. Raises ParityError."""
    difference = step_difference(model, pair.backend, two_wraps(pair.backend.manifest), sources)
    allowed = TOLERANCE if pair.graph.precision == "fp32" else INT8_TOLERANCE
    return {pair.kind: check_difference(difference, pair.kind, allowed)}


def two_wraps(manifest: Manifest) -> int:
    """Steps in which the ring wraps twice, at most 24 and at most the maximum length; without a ring the most."""
    steps = 2 * manifest.ring_capacity + 2 if manifest.wraps_after else 24
    return min(steps, 24, manifest.max_target_length - 1)


INT8_ADVICE = (
    ": rounding to int8 changes this model's words. Give sentences like those that it will translate by --calibration, "
    "or write it without int8 (--graphs onnx-fp32)"
)


def check_difference(difference: float, kind: str, allowed: float) -> float:
    """`difference`. Raises ParityError if it is too large or NaN; at int8 the message says what to do."""
    if not difference <= allowed:
        advice = INT8_ADVICE if math.isfinite(difference) and allowed == INT8_TOLERANCE else ""
        raise ParityError(
            f"{kind}: log-probabilities differ from the model's by {difference:.2g}, allowed {allowed:.2g}{advice}"
        )
    return difference
