"""Waiting lines that take turns, so that an owner with many items does not delay those with few. No lock, no clock."""

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item")

QUANTUM = 32
"""Source tokens that a line may send before it is the next one's turn: a long sentence or a few short ones."""


@dataclass
class _Line(Generic[Item]):
    """Items with their costs. `balance`: the cost that the line may still send in this turn; a negative one is taken
    off its next turns."""

    balance: int
    items: deque[tuple[Item, int]] = field(default_factory=deque)


class Lines(Generic[Item]):
    """One line per owner, first in first out; the lines are served round robin, `quantum` cost each. A line that
    overdraws its turn by its last item pays in its next turns (deficit round robin, Shreedhar and Varghese 1996, in the
    form that needs no look at the next item).

    A new line stands behind all others: it waits for at most one turn of each, and they for at most one of its own. So
    nobody waits for ever, however many lines come.
    """

    def __init__(self, quantum: int = QUANTUM) -> None:
        self.quantum = quantum
        self._lines: OrderedDict[Hashable, _Line[Item]] = OrderedDict()
        """Lines in the order of their turns: it is always the first one's turn, and its balance is above zero."""
        self._count = 0
        self.cost = 0
        """The cost of all items that wait."""

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        """All items, line by line."""
        return (item for line in self._lines.values() for item, _ in line.items)

    def put(self, item: Item, cost: int, owner: Hashable = None) -> None:
        """Put an item at the end of its owner's line. An item without an owner gets a line of its own."""
        owner = object() if owner is None else owner
        self._lines.setdefault(owner, _Line(self.quantum)).items.append((item, cost))
        self._count += 1
        self.cost += cost

    def peek(self) -> Item:
        """The item whose turn it is. Raises StopIteration when there is none."""
        return next(iter(self._lines.values())).items[0][0]

    def pop(self, is_free: bool = False) -> Item:
        """Take the item of `peek`; `is_free` does not charge its line."""
        owner, line = next(iter(self._lines.items()))
        item, cost = line.items.popleft()
        self._count -= 1
        self.cost -= cost
        if not line.items:
            del self._lines[owner]
        elif not is_free:
            line.balance -= cost
        self._pass_on()
        return item

    def clear(self) -> None:
        self._lines.clear()
        self._count = self.cost = 0

    def _pass_on(self) -> None:
        """Move lines that have nothing left behind the others, until one may send."""
        while self._lines:
            owner, line = next(iter(self._lines.items()))
            if line.balance > 0:
                return
            line.balance += self.quantum
            self._lines.move_to_end(owner)
