"""The step graph: one token for every row, and the best continuations of every slot.

Beams are query positions: a slot's rows attend to the slot's source and ring, nothing is repeated per beam. The ring
never moves; `ancestry` says which entries belong to a row's own past (see server/artifact.py for all tensors).
"""

import math

import numpy as np
import onnx

from export.onnx_graph.builder import Axis, GraphBuilder
from export.onnx_graph.candidates import best_candidates, padded_vocabulary
from export.onnx_graph.linear import Array, Linear
from export.onnx_graph.shortlist import ShortlistPlan, project_shortlist
from export.onnx_graph.weights import Weights, add, attention, feed_forward, layer_norm, positions_table
from model.config import BOS_ID, PAD_ID, UNK_ID, ModelConfig

HIDDEN_ENERGY = np.float32(-1e9)


def build_step_graph(
    config: ModelConfig, weights: Weights, linear: Linear, shortlist: ShortlistPlan | None = None
) -> onnx.ModelProto:
    """With a shortlist the graph scores each slot's listed words only."""
    graph = GraphBuilder("step")
    token = graph.input("token", "int64", ["slot", "beam"])
    parent = graph.input("parent", "int64", ["slot", "beam"])
    position = graph.input("position", "int64", ["slot"])
    score = graph.input("score", "float32", ["slot", "beam"])
    is_row = graph.input("is_row", "bool", ["slot", "beam"])
    ancestry = graph.input("ancestry", "bool", ["slot", "beam", "entry"])
    own_key = graph.input("own_key", "bool", ["beam", "entry"])
    kept_key = graph.input("kept_key", "bool", ["entry"])
    write_index = graph.input("write_index", "int64", ["slot", "beam", config.num_heads, 3])
    first_row = graph.input("first_row", "int64", ["slot", 1])
    padding = graph.input("source_keep", "int32", ["slot", "source"])

    rows = graph.op("Add", parent, first_row)  # [slot, beam], over all slots
    ancestry = inherit_ancestry(graph, ancestry, rows, own_key, kept_key)  # [slot, beam, entry]
    graph.output(ancestry, "next_ancestry", "bool", ["slot", "beam", "entry"])
    ring_bias = graph.unsqueeze(bias_of(graph, "next_ancestry"), 1)  # [slot, 1, beam, entry]

    x = embed_tokens(graph, linear, token, position, config, weights)  # [slot, beam, d]
    for index in range(config.decoder_layers):
        prefix = f"decoder.layers.{index}"
        x = ring_attention(graph, linear, x, write_index, ring_bias, config, weights, index)
        x = cross_attention(graph, linear, x, padding, config, weights, index)
        y = layer_norm(graph, x, weights, f"{prefix}.ffn_norm")
        x = add(graph, x, feed_forward(graph, linear, y, weights, f"{prefix}.ffn"))
    hidden = layer_norm(graph, x, weights, "decoder.norm")

    if shortlist is None:
        weight, bias = output_projection(weights["embedding.weight"])
        logits, words, size = linear.project(graph, hidden, weight, bias, "embedding"), "", len(weight)
    else:
        logits, words = project_shortlist(graph, linear, hidden, shortlist, weights["embedding.weight"])
        size = shortlist.size
    log_probability = graph.op("LogSoftmax", logits, axis=-1)  # [slot, beam, size]
    best_candidates(graph, log_probability, score, is_row, size, words)
    return graph.model()


def output_projection(embedding: Array) -> tuple[Array, Array]:
    """The tied projection, padded to whole groups of words; PAD, UNK, BOS and the padding can't be chosen."""
    weight = np.zeros((padded_vocabulary(len(embedding)), embedding.shape[1]), np.float32)
    weight[: len(embedding)] = embedding
    bias = np.zeros(len(weight), np.float32)
    bias[[PAD_ID, UNK_ID, BOS_ID]] = HIDDEN_ENERGY
    bias[len(embedding) :] = HIDDEN_ENERGY
    return weight, bias


def inherit_ancestry(graph: GraphBuilder, ancestry: str, rows: str, own_key: str, kept_key: str) -> str:
    """Every row takes the past of its parent (`rows` [slot, beam] counts over all slots); of the ring slot that this
    step writes it keeps its own entry only."""
    inherited = graph.op("Gather", graph.op("Flatten", ancestry, axis=2), rows)  # from [slot*beam, entry]
    return graph.op("Or", graph.op("And", inherited, kept_key), own_key)


def bias_of(graph: GraphBuilder, keep: str) -> str:
    """Keep mask to additive bias: 0 or -1e9."""
    return graph.op("Where", keep, graph.constant(np.float32(0)), graph.constant(HIDDEN_ENERGY))


def embed_tokens(
    graph: GraphBuilder, linear: Linear, token: str, position: str, config: ModelConfig, weights: Weights
) -> str:
    """token [slot, beam], position [slot] -> [slot, beam, d]."""
    weight, _ = output_projection(weights["embedding.weight"])
    embedded = linear.embedding(graph, token, weight, math.sqrt(config.d_model))
    table = graph.constant(positions_table(config.max_length, config.d_model)[:, None], "positions")
    return add(graph, embedded, graph.op("Gather", table, position))


def ring_attention(
    graph: GraphBuilder,
    linear: Linear,
    x: str,
    write_index: str,
    ring_bias: str,
    config: ModelConfig,
    weights: Weights,
    index: int,
) -> str:
    """Write this step's keys and values into the ring, then attend: [slot, beam, d] -> [slot, beam, d]."""
    site = f"decoder.layers.{index}.self_attention"
    y = layer_norm(graph, x, weights, f"decoder.layers.{index}.self_norm")
    query = linear.apply(graph, y, *weights.linear(f"{site}.query"), f"{site}.query")
    entries = []
    for name, part in zip(("key", "value"), weights.halves(f"{site}.memory"), strict=True):
        new = linear.apply(graph, y, *part, f"{site}.query")  # [slot, beam, d]; one input, one range
        entries.append(write_ring(graph, new, write_index, config, f"ring.{index}.{name}"))
    mixed = attention(graph, query, entries[0], entries[1], config.num_heads, bias=ring_bias)
    return add(graph, x, linear.apply(graph, mixed, *weights.linear(f"{site}.output"), f"{site}.output"))


def write_ring(graph: GraphBuilder, new: str, write_index: str, config: ModelConfig, name: str) -> str:
    """new [slot, beam, d] goes into the ring `name`; returns all its entries [slot, heads, entry, head_dim]."""
    shape: list[Axis] = ["slot", config.num_heads, "entry", config.head_dim]
    ring = graph.input(name, "float32", shape)
    heads = graph.reshape(new, 0, 0, config.num_heads, config.head_dim)  # [slot, beam, heads, head_dim]
    graph.output(graph.op("ScatterND", ring, write_index, heads), f"next_{name}", "float32", shape)
    return f"next_{name}"


def cross_attention(
    graph: GraphBuilder, linear: Linear, x: str, padding: str, config: ModelConfig, weights: Weights, index: int
) -> str:
    """Attend to the slot's source memory: [slot, beam, d] -> [slot, beam, d]."""
    site = f"decoder.layers.{index}.cross_attention"
    shape: list[Axis] = ["slot", config.num_heads, "source", config.head_dim]
    key = graph.input(f"source.{index}.key", "float32", shape)
    value = graph.input(f"source.{index}.value", "float32", shape)
    y = layer_norm(graph, x, weights, f"decoder.layers.{index}.cross_norm")
    query = linear.apply(graph, y, *weights.linear(f"{site}.query"), f"{site}.query")
    mixed = attention(graph, query, key, value, config.num_heads, padding=padding)
    return add(graph, x, linear.apply(graph, mixed, *weights.linear(f"{site}.output"), f"{site}.output"))
