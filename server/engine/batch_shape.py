"""The shape of a running batch: large enough for its sentences, one of few sizes, with little idle arithmetic."""

from typing import NamedTuple

from server.backends.device import DeviceKind

FEW = 8
"""Batches on a CPU have up to so many slots as their sentences need, or else a multiple of it."""
MIN_SOURCE = 16
"""Pieces for which every batch has room: steps of shorter sentences take at most 2% longer (bundled model), and few
arrivals change the shape."""
MAX_SPARE_BYTES = 2**22
"""Of FEW slots at MIN_SOURCE pieces, for a batch to have them from the beginning."""


class BatchShape(NamedTuple):
    """Slots for sentences, pieces of the longest source, slots of every ring."""

    slots: int
    source_length: int
    ring: int


def keep_or_round(needed: int, current: int, rounded: int) -> int:
    """The `current` size if it suffices and more than half of it is needed, else `rounded`."""
    return current if current // 2 < needed <= current else rounded


def round_up_slots(needed: int, most: int, device: DeviceKind) -> int:
    """Multiples of FEW: few shapes, little idle arithmetic. Up to FEW as many as needed on a CPU; elsewhere, where
    steps are recorded for each shape, 1, 2, 4 and 8."""
    if device == "cpu" and needed <= FEW:
        return min(most, needed)
    sizes = [size for size in (1, 2, 4, FEW) if size >= needed]
    return min(most, sizes[0] if sizes else -(-needed // FEW) * FEW)


def round_up_source(needed: int) -> int:
    """Multiples of 8, at least MIN_SOURCE."""
    return max(MIN_SOURCE, -(-needed // 8) * 8)


def min_slots(bytes_of_one: int) -> int:
    """Slots that a batch has at least, where steps may run over some of them: FEW, if they are small. To move a few
    sentences to other arrays takes as long as a step of theirs."""
    return FEW if FEW * bytes_of_one <= MAX_SPARE_BYTES else 1


def ring_capacity_for(positions: int, most: int) -> int:
    """Slots of a ring for so many positions: 32, 48, 64, 96, 128, 192, ..., at most `most`. Few sizes, little idle
    attention. Multiples of 16: kernels add 16 entries side by side, so a sum has one order at every size."""
    units = max(2, -(-positions // 16))
    power = 1 << (units - 1).bit_length()
    return min(most, 16 * (power * 3 // 4 if units <= power * 3 // 4 else power))
