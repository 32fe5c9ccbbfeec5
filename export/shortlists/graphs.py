"""Puts a shortlist into the graphs of an artifact. No model is needed: its output projection is read from a step graph.

At int8 it has the same levels again (see export.unpack).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from export.onnx_graph.builder import GraphBuilder
from export.onnx_graph.linear import Array, FloatProjection, Int8Projection, Projection
from export.onnx_graph.shortlist import ShortlistPlan, add_shortlist
from export.onnx_graph.step import choose_words
from export.onnx_graph.words import Words
from model.config import SpecialIds
from server.artifact.manifest import GraphFiles, Manifest
from server.artifact.signature import CHOSEN


class NoProjection(ValueError):
    """A step graph whose output projection is not one that is written here."""


@dataclass(frozen=True)
class OutputMap:
    """The output projection of a step graph."""

    projection: Projection
    words: Words

    @classmethod
    def of(cls, step: GraphBuilder, manifest: Manifest) -> "OutputMap":
        """Raises NoProjection."""
        softmax = step.nodes("LogSoftmax")
        product = step.maker(softmax[-1].input[0], "MatMulIntegerToFloat", "Add") if softmax else None
        if product is None:
            raise NoProjection("the step graph does not end with a linear map to words")
        ids, size = SpecialIds(*vars(manifest.special_ids).values()), manifest.vocabulary_size
        if product.op_type == "Add":
            matrix = step.maker(product.input[0], "MatMul")
            weight = None if matrix is None else rows_of(step, matrix.input[1])
            projection: Projection = FloatProjection()
            bias = step.array(product.input[1])
        else:
            values, scale = rows_of(step, product.input[1]), step.array(product.input[3])
            weight = None if values is None or scale is None else values * scale[:, None]
            width = step.array(product.input[2])
            bias = step.array(product.input[6]) if len(product.input) > 6 else None
            quantized = Int8Projection(1.0)
            quantized.step = np.float32(0 if width is None else width)
            projection = quantized
        if weight is None or bias is None:
            raise NoProjection("the weights of the step graph's linear map to words are no constants")
        bias = bias[:size].astype(np.float32)
        bias[list(ids.suppressed)] = 0
        return cls(projection, Words(weight[:size].astype(np.float32), bias, ids))


def rows_of(graph: GraphBuilder, columns: str) -> Array | None:
    """The constant whose transpose is `columns`, at fp32."""
    turn = graph.maker(columns, "Transpose")
    rows = None if turn is None else graph.array(turn.input[0])
    return None if rows is None else rows.astype(np.float32)


def listed_graphs(
    models: Mapping[str, onnx.ModelProto], graph: GraphFiles, manifest: Manifest, plan: ShortlistPlan
) -> dict[str, onnx.ModelProto]:
    """`models` by file name, all of one precision, with a shortlist: `graph` names the files. A shortlist that they
    have is replaced. Raises NoProjection."""
    step = GraphBuilder.resumed(models[graph.step], "listed")
    output = OutputMap.of(step, manifest)
    for name in CHOSEN:
        step.drop_output(name)
    words, encode = output.words, without_lists(models[graph.encode])
    add_shortlist(encode, output.projection, "source_ids", "source_keep", plan, words.weight, words.bias)
    listed = choose_words(step, manifest, output.projection, words, plan)
    return {**models, graph.encode: encode.model(), graph.step_shortlist: listed}


def without_lists(encode: onnx.ModelProto) -> GraphBuilder:
    """An encode graph without the outputs of a shortlist, and without what only they need, to be continued."""
    graph = GraphBuilder.of(encode, "encode")
    for output in graph.output_names():
        if output.startswith("shortlist."):
            graph.drop_output(output)
    return GraphBuilder.resumed(graph.model(), "lists")
