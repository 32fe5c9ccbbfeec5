"""Beam functions of the engine, and the beam step of graphs against the plain one."""

from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from export import graphs
from export.onnx_graph.builder import GraphBuilder
from export.onnx_graph.candidates import best_candidates as candidate_block
from export.onnx_graph.candidates import padded_vocabulary
from server.backends.state import DEAD_SCORE, Candidates
from server.engine.beam import backtrack, finished_candidates, is_complete, normalize
from tests.reference.beam_step import best_candidates, select

EOS = 3


def session(vocabulary: int) -> onnxruntime.InferenceSession:
    """The beam step alone: log_probability, score, is_row -> candidates and next rows."""
    graph = GraphBuilder("beam")
    log_probability = graph.input("log_probability", "float32", ["slot", "beam", vocabulary])
    score = graph.input("score", "float32", ["slot", "beam"])
    is_row = graph.input("is_row", "bool", ["slot", "beam"])
    graph.input("first_row", "int64", ["slot", 1])
    candidate_block(graph, log_probability, score, is_row, vocabulary, EOS)
    return onnxruntime.InferenceSession(graph.model().SerializeToString(), providers=["CPUExecutionProvider"])


SESSIONS = {vocabulary: session(vocabulary) for vocabulary in (128, 320)}
PRIME = 331
"""A vocabulary that no group divides, for the candidates of PyTorch."""


def random_case(seed: int, slots: int, beam: int, vocabulary: int, levels: int) -> dict[str, NDArray[Any]]:
    """Log-probabilities on few levels, so that ties are everywhere; some rows dead."""
    generator = np.random.default_rng(seed)
    log_probability = -generator.integers(0, levels, (slots, beam, vocabulary)).astype(np.float32)
    score = -generator.integers(0, 3, (slots, beam)).astype(np.float32)
    is_row = np.arange(beam) < generator.integers(1, beam + 1, (slots, 1))
    return {
        "log_probability": log_probability,
        "score": np.where(is_row, score, DEAD_SCORE).astype(np.float32),
        "is_row": is_row,
    }


@settings(deadline=None, max_examples=80)
@given(
    seed=st.integers(0, 10_000),
    slots=st.integers(1, 4),
    beam=st.integers(1, 8),
    vocabulary=st.sampled_from([128, 320]),
    levels=st.sampled_from([1, 2, 5, 1000]),
)
def test_the_graphs_choose_what_the_plain_functions_choose(
    seed: int, slots: int, beam: int, vocabulary: int, levels: int
) -> None:
    case = random_case(seed, slots, beam, vocabulary, levels)
    names = ["candidate_score", "candidate_token", "candidate_parent", "next_token", "next_parent", "next_score"]
    counts = {
        "first_row": np.arange(slots)[:, None] * beam,
        "num_rows": np.array([beam]),
        "num_candidates": np.array([2 * beam]),
    }
    onnx = SESSIONS[vocabulary].run(names, case | counts)
    by_torch = graphs.best_candidates(torch.from_numpy(case["log_probability"]), torch.from_numpy(case["score"]))
    rows_by_torch = graphs.next_rows(by_torch[0], by_torch[1], by_torch[2], torch.from_numpy(case["is_row"]), EOS)
    candidates = best_candidates(case["log_probability"], case["score"], 2 * beam)
    rows = select(candidates, case["is_row"], EOS)
    live, alive = candidates.score > DEAD_SCORE / 2, rows.score > DEAD_SCORE / 2
    for score, token, parent, next_token, next_parent, next_score in (
        onnx,
        [tensor.numpy() for tensor in (*by_torch, *rows_by_torch)],
    ):
        np.testing.assert_array_equal(score[live], candidates.score[live])
        np.testing.assert_array_equal(token[live], candidates.token[live])
        np.testing.assert_array_equal(parent[live], candidates.parent[live])
        np.testing.assert_array_equal(next_score, rows.score)
        np.testing.assert_array_equal(next_token[alive], rows.token[alive])
        np.testing.assert_array_equal(next_parent[alive], rows.parent[alive])


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), beam=st.integers(1, 8), levels=st.sampled_from([1, 2, 1000]))
def test_groups_with_padding_lose_no_candidate(seed: int, beam: int, levels: int) -> None:
    case = random_case(seed, 3, beam, PRIME, levels)
    expected = best_candidates(case["log_probability"], case["score"], 2 * beam)
    live = expected.score > DEAD_SCORE / 2
    score, token, parent = graphs.best_candidates(*(torch.from_numpy(case[n]) for n in ("log_probability", "score")))
    np.testing.assert_array_equal(score.numpy()[live], expected.score[live])
    np.testing.assert_array_equal(token.numpy()[live], expected.token[live])
    np.testing.assert_array_equal(parent.numpy()[live], expected.parent[live])


def test_vocabularies_are_padded_to_whole_groups() -> None:
    assert [padded_vocabulary(size) for size in (5, 128, 129, 8000)] == [128, 128, 192, 8000]


def test_eos_ends_only_among_the_first_candidates() -> None:
    token = np.array([[9, EOS, 8, EOS], [EOS, 9, 8, 7]])
    score = np.array([[-1, -2, -3, -4], [DEAD_SCORE, -1, -2, -3]], np.float32)
    candidates = Candidates(score, token, np.zeros_like(token))
    assert finished_candidates(candidates, np.array([2, 2]), EOS) == [(0, 1)]
    assert finished_candidates(candidates, np.array([1, 2]), EOS) == []


@pytest.mark.parametrize(
    ("num_finished", "length", "over"), [(3, 5, False), (4, 5, True), (0, 10, True), (0, 9, False)]
)
def test_a_search_is_over_when_the_beam_has_ended_or_the_length_is_reached(
    num_finished: int, length: int, over: bool
) -> None:
    assert is_complete(np.array([num_finished]), np.array([4]), np.array([length]), np.array([10])) == over


def test_normalized_scores() -> None:
    assert normalize(-6.0, 3, 1.0) == pytest.approx(-2.0)
    assert normalize(-6.0, 3, 0.0) == -6.0


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), min_size=3, max_size=3), min_size=1, max_size=8)
)
def test_backtracking_follows_parents(steps: list[list[tuple[int, int]]]) -> None:
    paths: list[list[int]] = [[], [], []]
    history = []
    for step in steps:
        paths = [[*paths[parent], token] for token, parent in step]
        history.append(([row[0] for row in step], [row[1] for row in step]))
    assert [backtrack(history, beam) for beam in range(3)] == paths
