"""Word alignment on PyTorch."""

import threading
from collections.abc import Callable

from server.artifact.signature import ALIGNMENT
from server.backends.arrays import Array, Flags, Floats, Ints
from server.backends.torchscript.graph import NamedGraph
from server.backends.torchscript.place import to_host


class TorchAligner:
    """Aligner beside a TorchScriptBackend, whose encode graph it shares. Source tensors stay on the device."""

    def __init__(self, encode: NamedGraph, load: Callable[[], NamedGraph]) -> None:
        self._encode, self._load = encode, load
        self._graph = list[NamedGraph]()
        self._loading = threading.Lock()

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
