"""Beam candidates inside the step graph: the 2*beam best continuations of every slot.

tests/reference/beam_step.py is its slow reference. Each row contributes at most one EOS, so `beam` of 2*beam candidates
always continue. Words are compared in groups of 64: only groups whose best word is among the 2*beam best groups can
contain a candidate, so at most 2*beam*64 scores are sorted.
"""

import numpy as np

from export.onnx_graph.builder import GraphBuilder
from server.backends.state import DEAD_SCORE

GROUP = 64
BELOW_DEAD = np.float32(2 * DEAD_SCORE)
"""The score of EOS in the choice of next rows: below that of dead candidates, so that no row continues with it."""


def padded_vocabulary(size: int) -> int:
    """The next multiple of GROUP, at least two groups (a slot of one beam takes its two best groups)."""
    return max(2 * GROUP, -(-size // GROUP) * GROUP)


def best_candidates(
    graph: GraphBuilder, log_probability: str, score: str, is_row: str, vocabulary: int, eos_id: int, scored: str = ""
) -> None:
    """log_probability [slot, beam, vocabulary], score and is_row [slot, beam] -> the graph's candidate outputs
    [slot, 2*beam] and the next rows. `scored` [slot, vocabulary] are the ids of these tokens, where not all are scored.

    Ties go to the lower parent, then to the token that is scored first: groups and words keep their order wherever
    scores are equal.
    """
    give_candidates(graph, *choose(graph, log_probability, score, vocabulary, "first_row", scored), is_row, eos_id)


def give_candidates(graph: GraphBuilder, best: str, token: str, parent: str, is_row: str, eos_id: int) -> None:
    """The candidate outputs, each [slot, 2*beam], and the next rows."""
    graph.output(best, "candidate_score", "float32", ["slot", "candidate"])
    graph.output(token, "candidate_token", "int64", ["slot", "candidate"])
    graph.output(parent, "candidate_parent", "int64", ["slot", "candidate"])
    next_rows(graph, is_row, eos_id)


def choose(
    graph: GraphBuilder, log_probability: str, score: str, vocabulary: int, first_row: str, scored: str = ""
) -> tuple[str, str, str]:
    """Score, token and parent of the candidates of every slot, each [slot, 2*beam]; `first_row` [slot, 1] are the first
    rows of the slots among all rows."""
    groups = vocabulary // GROUP
    count = graph.input("num_candidates", "int64", [1])

    grouped = graph.reshape(log_probability, 0, 0, groups, GROUP)
    best_in_group = graph.op("ReduceMax", grouped, graph.constant(np.array([3])), keepdims=0)  # [slot, beam, groups]
    best_in_group = graph.op("Flatten", graph.op("Add", best_in_group, graph.unsqueeze(score, 2)), axis=1)
    _, chosen = graph.node("TopK", [best_in_group, count], 2, axis=1)  # [slot, 2*beam], numbered over beam x groups
    chosen, _ = graph.node("TopK", [chosen, count], 2, axis=1, largest=0)  # in ascending order, for ties

    parent = graph.op("Div", chosen, graph.constant(np.array(groups)))
    first_token = graph.op(
        "Mul", graph.op("Mod", chosen, graph.constant(np.array(groups))), graph.constant(np.array(GROUP))
    )
    words = gather_groups(graph, log_probability, chosen, groups, first_row)  # [slot, 2*beam, GROUP]
    words = graph.op("Add", words, graph.unsqueeze(graph.op("GatherElements", score, parent, axis=1), 2))
    best, place = graph.node("TopK", [graph.op("Flatten", words, axis=1), count], 2, axis=1)
    group = graph.op("Div", place, graph.constant(np.array(GROUP)))
    token = graph.op(
        "Add",
        graph.op("GatherElements", first_token, group, axis=1),
        graph.op("Mod", place, graph.constant(np.array(GROUP))),
    )
    if scored:
        token = graph.op("GatherElements", scored, token, axis=1)
    return best, token, graph.op("GatherElements", parent, group, axis=1)


def next_rows(graph: GraphBuilder, is_row: str, eos_id: int) -> None:
    """The rows of the following step: the best candidates that are not EOS."""
    dead = graph.constant(DEAD_SCORE)
    beams = graph.input("num_rows", "int64", [1])
    is_eos = graph.op("Equal", "candidate_token", graph.constant(np.array(eos_id)))
    going_on = graph.op("Where", is_eos, graph.constant(BELOW_DEAD), "candidate_score")
    score, place = graph.node("TopK", [going_on, beams], 2, axis=1)
    rows = ["slot", "beam"]
    graph.output(graph.op("Where", is_row, score, dead), "next_score", "float32", rows)
    graph.output(graph.op("GatherElements", "candidate_token", place, axis=1), "next_token", "int64", rows)
    graph.output(graph.op("GatherElements", "candidate_parent", place, axis=1), "next_parent", "int64", rows)


def gather_groups(graph: GraphBuilder, log_probability: str, chosen: str, groups: int, first_row: str) -> str:
    """The words of each slot's chosen groups: chosen [slot, n] -> [slot, n, GROUP]."""
    offset = graph.op("Mul", first_row, graph.constant(np.array(groups)))  # [slot, 1]
    return graph.op("Gather", graph.reshape(log_probability, -1, GROUP), graph.op("Add", chosen, offset))
