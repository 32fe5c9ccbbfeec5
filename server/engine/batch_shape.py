"""The shape of a running batch: large enough for its sentences, one of few sizes, with little idle arithmetic."""

from typing import NamedTuple

from server.backends.device import DeviceKind


class BatchShape(NamedTuple):
    """Slots for sentences, pieces of the longest source, slots of every ring."""

    slots: int
    source_length: int
    ring: int


def keep_or_round(needed: int, current: int, rounded: int) -> int:
    """The `current` size if it suffices and more than half of it is needed, else `rounded`."""
    return current if current // 2 < needed <= current else rounded


def round_up_slots(needed: int, most: int, device: DeviceKind) -> int:
    """Multiples of 8: few shapes, little idle arithmetic. Up to 8 as many as needed on a CPU, where an idle slot costs
    nearly as much as one in use; elsewhere, where steps are recorded for each shape, 1, 2, 4 and 8."""
    if device == "cpu" and needed <= 8:
        return min(most, needed)
    sizes = [size for size in (1, 2, 4, 8) if size >= needed]
    return min(most, sizes[0] if sizes else -(-needed // 8) * 8)


def ring_capacity_for(positions: int, most: int) -> int:
    """Slots of a ring for so many positions: 32, 48, 64, 96, 128, 192, ..., at most `most`. Few sizes, little idle
    attention. Multiples of 16: kernels add 16 entries side by side, so a sum has one order at every size."""
    units = max(2, -(-positions // 16))
    power = 1 << (units - 1).bit_length()
    return min(most, 16 * (power * 3 // 4 if units <= power * 3 // 4 else power))
