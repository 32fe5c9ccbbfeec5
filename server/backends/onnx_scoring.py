"""Step graphs that say how probable every word is.

A step graph gives out its best candidates only. The log-probabilities that they are chosen from are a tensor inside of
it: declared as one more output they can be fetched, from artifacts of any age and without a second copy of the graph.
A message in the protobuf format is continued by appending to it, so the declaration is a few bytes at the end.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import onnxruntime

from server.artifact import ArtifactError
from server.backends.onnx_session import open_session

MODEL_GRAPH, GRAPH_NODE, GRAPH_OUTPUT, NODE_OUTPUT, NODE_KIND, VALUE_NAME = 7, 1, 12, 2, 4, 1
"""Numbers of fields in ONNX's messages."""


@dataclass(frozen=True)
class ScoreGraph:
    """A step graph whose output `log_probabilities` is [slot, beam, word]."""

    session: onnxruntime.InferenceSession
    log_probabilities: str


def open_score_graph(path: Path) -> ScoreGraph:
    """The step graph of a file. Raises ArtifactError for one that computes no log-probabilities."""
    model = path.read_bytes()
    try:
        name = chosen_from(memoryview(model))
    except (IndexError, ValueError) as error:
        raise ArtifactError(f"{path} is no ONNX graph: {error}") from error
    if name is None:
        raise ArtifactError(f"{path} computes no log-probabilities: repeat `ringmt export`")
    output = field(MODEL_GRAPH, field(GRAPH_OUTPUT, field(VALUE_NAME, name)))
    return ScoreGraph(open_session(path, model + output), name.decode())


def chosen_from(model: memoryview) -> bytes | None:
    """The name of what the graph's last LogSoftmax gives: words are chosen at the end."""
    found = None
    for graph in fields(model, MODEL_GRAPH):
        for node in fields(graph, GRAPH_NODE):
            if [bytes(kind) for kind in fields(node, NODE_KIND)] == [b"LogSoftmax"]:
                found = bytes(next(fields(node, NODE_OUTPUT)))
    return found


def fields(message: memoryview, wanted: int) -> Iterator[memoryview]:
    """The contents of a message's fields of one number, in order. Raises IndexError and ValueError for no message."""
    at = 0
    while at < len(message):
        key, at = read_number(message, at)
        match key & 7:
            case 0:
                _, at = read_number(message, at)
            case 1:
                at += 8
            case 2:
                length, at = read_number(message, at)
                if key >> 3 == wanted:
                    yield message[at : at + length]
                at += length
            case 5:
                at += 4
            case kind:
                raise ValueError(f"a field of unknown type {kind}")


def read_number(message: memoryview, at: int) -> tuple[int, int]:
    """The number that begins at byte `at`, seven bits a byte, lowest first, and where it ends."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def number(value: int) -> bytes:
    """The inverse of `read_number`."""
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + number(value >> 7)


def field(index: int, content: bytes) -> bytes:
    return number(index << 3 | 2) + number(len(content)) + content
