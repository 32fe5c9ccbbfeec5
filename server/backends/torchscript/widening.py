"""Steps that score all words in the slots that are unsure among the words of their shortlists.

Which slots are unsure comes to the host with the candidates. Only where one is, a second run scores all words for these
slots. On the device alone, a step of fixed shape would have to score them for every slot, which is what a shortlist
saves; and a shape that depends on data cannot be recorded.
"""

from collections.abc import Callable, Mapping

import numpy as np
import torch

from server.backends.arrays import Array, Ints
from server.backends.memory import Layout
from server.backends.torchscript.graph import NamedGraph
from server.backends.torchscript.step import DeviceStep
from server.backends.torchscript.transfer import Transfer

Repeat = Callable[[Callable[[], None]], Callable[[], None]]
"""A function of fixed shape -> the same, which waits for the device, to be called again and again."""


class Widening:
    """The second run of a step that is bound to one state. On a device that records runs slots are rounded up to powers
    of two, so that there are few shapes."""

    def __init__(self, graph: NamedGraph, step: DeviceStep, results: Mapping[str, Array], repeat: Repeat) -> None:
        """`results`: arrays of a step's results, as its outputs are shaped."""
        self._graph, self._step, self._repeat = graph, step, repeat
        self._layouts = {
            name: Layout(results[name].shape[1:], results[name].dtype.type) for name in graph.signature.output_names
        }
        self._slots = len(results[graph.signature.output_names[0]])
        self._parts = dict[int, WidePart]()

    def run(self, slots: Ints, results: Mapping[str, Array]) -> None:
        """Score all words for `slots` after their step, and write what follows into their rows of `results`."""
        count = len(slots)
        size = num_slots_for(count, self._slots, self._graph.place.device.type)
        part = self._parts.get(size)
        if part is None:
            part = self._parts[size] = WidePart(self._graph, self._step, self._layouts, size, self._repeat)
        part.run(slots)
        for name, array in part.outbox.host.items():
            results[name][slots] = array[:count]


def num_slots_for(count: int, most: int, device: str) -> int:
    """The slots of a run over `count` of at most `most` slots."""
    return count if device == "cpu" else min(1 << (count - 1).bit_length(), most)


class WidePart:
    """Runs over `size` slots."""

    def __init__(
        self, graph: NamedGraph, step: DeviceStep, layouts: Mapping[str, Layout], size: int, repeat: Repeat
    ) -> None:
        device = graph.place.device
        self._graph, self._step = graph, step
        self.inbox = Transfer({"slot": Layout((size,), np.int64)}, device)
        self.outbox = Transfer(
            {name: Layout((size, *each.shape), each.dtype) for name, each in layouts.items()}, device
        )
        self._run = repeat(torch.inference_mode()(self._device_run))

    def run(self, slots: Ints) -> None:
        """Score all words for up to `size` slots; the rest repeat the first."""
        sent = self.inbox.host["slot"]
        sent[: len(slots)], sent[len(slots) :] = slots, slots[0]
        self._run()

    def _device_run(self) -> None:
        self.inbox.to_device()
        self.compute()
        self.outbox.to_host()

    def compute(self) -> None:
        """The part that is on the device as a whole."""
        slot = self.inbox.values["slot"]
        read = [self._step.rows(name).index_select(0, slot) for name in self._graph.signature.input_names]
        for name, tensor in zip(self._graph.signature.output_names, self._graph.graph(read), strict=True):
            self.outbox.values[name].copy_(tensor)
