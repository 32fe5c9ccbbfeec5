"""Word alignment on ONNX Runtime."""

import threading

import numpy as np

from server.artifact.artifact import Artifact
from server.artifact.signature import ALIGNMENT
from server.backends.arrays import Array, Flags, Floats, Ints
from server.backends.memory import Encoded
from server.backends.onnx.session import Device, OnnxGraph, open_graph


class OnnxAligner:
    """Aligner beside an OnnxBackend, whose encode session it shares."""

    def __init__(self, artifact: Artifact, file: str, encode: OnnxGraph, device: Device) -> None:
        self._artifact, self._file, self._device = artifact, file, device
        self._encode, self._graph = encode, list[OnnxGraph]()
        self._opening = threading.Lock()

    @property
    def is_prepared(self) -> bool:
        return bool(self._graph)

    def prepare(self) -> None:
        with self._opening:
            if not self._graph:
                self._graph = [open_graph(self._artifact, self._file, self._device)]

    def align(self, source_ids: Ints, source_keep: Flags, target_ids: Ints) -> Floats:
        assert self._graph, "prepare comes first"
        [graph] = self._graph
        encoded = [name for name in graph.signature.input_names if name in self._encode.signature.output_names]
        feeds: dict[str, Array] = {"source_ids": source_ids, "source_keep": source_keep, "target_ids": target_ids}
        feeds |= zip(encoded, self._encode.run(encoded, feeds), strict=True)
        [weights] = graph.run([ALIGNMENT], feeds)
        return weights

    def align_encoded(self, encoded: Encoded, target_ids: Ints) -> Floats:
        assert self._graph, "prepare comes first"
        [graph] = self._graph
        keep = np.ones((1, encoded.length), np.int32)
        feeds: dict[str, Array] = {"source_keep": keep, "target_ids": target_ids[None]}
        feeds |= {name: encoded.tensors[name][None] for name in graph.signature.input_names if name not in feeds}
        [weights] = graph.run([ALIGNMENT], feeds)
        alone: Floats = weights[0]
        return alone
