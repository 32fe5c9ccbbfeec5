"""Word alignment on PyTorch."""

import threading
from collections.abc import Callable

import numpy as np

from server.artifact.signature import ALIGNMENT
from server.backends.arrays import Array, Flags, Floats, Ints
from server.backends.memory import Encoded
from server.backends.torchscript.graph import NamedGraph
from server.backends.torchscript.memory import EncodedOnDevice
from server.backends.torchscript.place import to_host


class TorchAligner:
    """Aligner beside a TorchScriptBackend, whose encode graph it shares. Source tensors stay on the device."""

    def __init__(self, encode: NamedGraph, load: Callable[[], NamedGraph]) -> None:
        self._encode, self._load = encode, load
        self._graph = list[NamedGraph]()
        self._loading = threading.Lock()

    @property
    def is_prepared(self) -> bool:
        return bool(self._graph)

    def prepare(self) -> None:
        with self._loading:
            if not self._graph:
                self._graph = [self._load()]

    def align(self, source_ids: Ints, source_keep: Flags, target_ids: Ints) -> Floats:
        assert self._graph, "prepare comes first"
        [graph] = self._graph
        feeds: dict[str, Array] = {"source_ids": source_ids, "source_keep": source_keep, "target_ids": target_ids}
        [weights] = to_host([graph({**feeds, **self._encode(feeds)})[ALIGNMENT]])
        return weights

    def align_encoded(self, encoded: Encoded, target_ids: Ints) -> Floats:
        assert self._graph, "prepare comes first"
        assert isinstance(encoded, EncodedOnDevice)
        [graph] = self._graph
        keep = np.ones((1, encoded.length), np.int32)
        [weights] = to_host(
            [graph({"source_keep": keep, "target_ids": target_ids[None], **encoded.named()})[ALIGNMENT]]
        )
        alone: Floats = weights[0]
        return alone
