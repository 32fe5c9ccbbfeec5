"""The encode graph: source ids to every decoder layer's cross-attention keys and values."""

import math

import numpy as np
import onnx

from export.onnx_graph.builder import Axis, GraphBuilder
from export.onnx_graph.linear import Linear
from export.onnx_graph.shortlist import ShortlistPlan, add_shortlist
from export.onnx_graph.weights import Weights, add, attention, feed_forward, layer_norm, positions_table
from model.config import ModelConfig


def build_encode_graph(
    config: ModelConfig,
    weights: Weights,
    linear: Linear,
    shortlist: ShortlistPlan | None = None,
    with_memory: bool = False,
) -> onnx.ModelProto:
    """source_ids, source_keep [batch, source] -> source.<layer>.key and .value [batch, heads, source, head_dim], the
    sentences' shortlists and, for models with context, memory [batch, source, d]."""
    graph = GraphBuilder("encode")
    ids = graph.input("source_ids", "int64", ["batch", "source"])
    padding = graph.input("source_keep", "int32", ["batch", "source"])

    x = embed_source(graph, linear, ids, config, weights)  # [batch, source, d]
    for index in range(config.encoder_layers):
        x = encoder_layer(graph, linear, x, padding, config, weights, f"encoder.layers.{index}")
    memory = layer_norm(graph, x, weights, "encoder.norm")

    for index in range(config.decoder_layers):
        key, value = project_source(graph, linear, memory, config, weights, index)
        shape: list[Axis] = ["batch", config.num_heads, "source", config.head_dim]
        graph.output(key, f"source.{index}.key", "float32", shape)
        graph.output(value, f"source.{index}.value", "float32", shape)
    if with_memory:
        graph.output(memory, "memory", "float32", ["batch", "source", config.d_model])
    if shortlist is not None:
        add_shortlist(graph, linear, ids, padding, shortlist, weights["embedding.weight"])
    return graph.model()


def embed_source(graph: GraphBuilder, linear: Linear, ids: str, config: ModelConfig, weights: Weights) -> str:
    """Embedding times sqrt(d) plus the first `source` rows of the position table: [batch, source, d]."""
    embedded = linear.embedding(graph, ids, weights["embedding.weight"], math.sqrt(config.d_model))
    length = graph.op("Shape", ids, start=1, end=2)
    table = graph.constant(positions_table(config.max_length, config.d_model), "positions")
    return add(graph, embedded, graph.op("Slice", table, graph.constant(np.array([0])), length))


def encoder_layer(
    graph: GraphBuilder, linear: Linear, x: str, padding: str, config: ModelConfig, weights: Weights, prefix: str
) -> str:
    """Pre-norm layer: [batch, source, d] -> [batch, source, d]."""
    site = f"{prefix}.self_attention"
    y = layer_norm(graph, x, weights, f"{prefix}.self_norm")
    # Three products on one quantized input are faster than one that has to be split.
    parts = [weights.linear(f"{site}.query"), *weights.halves(f"{site}.memory")]
    query, key, value = (linear.apply(graph, y, *part, f"{site}.query") for part in parts)  # each [batch, source, d]
    mixed = attention(graph, query, key, value, config.num_heads, padding=padding)
    x = add(graph, x, linear.apply(graph, mixed, *weights.linear(f"{site}.output"), f"{site}.output"))
    y = layer_norm(graph, x, weights, f"{prefix}.ffn_norm")
    return add(graph, x, feed_forward(graph, linear, y, weights, f"{prefix}.ffn"))


def project_source(
    graph: GraphBuilder, linear: Linear, memory: str, config: ModelConfig, weights: Weights, index: int
) -> tuple[str, str]:
    """Memory [batch, source, d] -> key and value, [batch, heads, source, head_dim] each."""
    site = f"decoder.layers.{index}.cross_attention.memory"
    split = [linear.apply(graph, memory, *part, site) for part in weights.halves(site)]  # each [batch, source, d]
    heads = [graph.reshape(part, 0, 0, config.num_heads, config.head_dim) for part in split]
    key, value = (graph.op("Transpose", part, perm=[0, 2, 1, 3]) for part in heads)
    return key, value
