"""Checks that rings may be written in place."""

from collections.abc import Sequence

import onnx


class InPlaceError(ValueError):
    """A step graph that would read a ring after it was overwritten."""


def check_in_place(model: onnx.ModelProto, rings: Sequence[str]) -> None:
    """Raise InPlaceError unless every ring is read by nothing but the ScatterND whose output is its `next_` tensor.

    The server binds a ring and its `next_` output to the same memory. ScatterND then copies nothing and writes its
    entries; whatever else reads the ring would see them or not, depending on the order of nodes. (Shape reads no data.)
    """
    for ring in rings:
        readers = [node for node in model.graph.node if ring in node.input and node.op_type != "Shape"]
        wanted = [(node.op_type, node.input[0], list(node.output)) for node in readers]
        if wanted != [("ScatterND", ring, [f"next_{ring}"])]:
            kinds = ", ".join(node.op_type for node in readers) or "nothing"
            raise InPlaceError(
                f"the step graph reads {ring} in {kinds}: a mechanism must attend to the rings as written in this step "
                f"(export.graphs.write_ring), never to the ring before it"
            )
