"""A queue of flows that take turns, so that an owner with many items does not delay owners with few. No lock, no
clock."""

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator, Mapping
from typing import Generic, TypeVar

Item = TypeVar("Item")

FlowPath = tuple[Hashable, ...]
"""The flow of an item, from the outside in: for example the tenant, the class of service, the document."""

QUANTUM = 32
"""Source tokens that a flow may send in a turn: a long sentence or a few short ones."""


class _Group(Generic[Item]):
    """A flow of items with their costs, or a group of `members` that take turns, in the order of their turns: it is
    always the first member's turn, and its balance is above zero. `balance`: the cost that the group itself may still
    send in this turn; a negative one is subtracted from its next turns. `quantum`: what a turn adds to it."""

    __slots__ = ("balance", "items", "members", "quantum")

    def __init__(self, quantum: int) -> None:
        self.balance = self.quantum = quantum
        self.members: OrderedDict[Hashable, _Group[Item]] = OrderedDict()
        self.items: deque[tuple[Item, int]] = deque()

    def __iter__(self) -> Iterator[Item]:
        yield from (item for item, _ in self.items)
        for member in self.members.values():
            yield from member

    def rotate(self) -> None:
        """Move members that have used up their turn behind the others, until the first may send."""
        while self.members:
            key, member = next(iter(self.members.items()))
            if member.balance > 0:
                return
            member.balance += member.quantum
            self.members.move_to_end(key)


class FairQueue(Generic[Item]):
    """Flows, first in first out, in groups within groups: the members of a group are served round robin, a quantum of
    cost each. A member whose last item exceeds its quantum pays in its next turns (deficit round robin, Shreedhar and
    Varghese 1996, in the form that needs no look-ahead to the next item), at every level. A tenant with a hundred
    documents therefore gets the turns of one tenant, and each of these documents a hundredth of them.

    A new flow stands behind all others of its group: it waits for at most one turn of each, and each of them for at
    most one of its own. No flow starves, however many are added.
    """

    def __init__(self, quantum: int = QUANTUM, weights: Mapping[Hashable, int] | None = None) -> None:
        """`weights`: how many quanta a member with this key gets in a turn, by default one."""
        self.quantum = quantum
        self._weights = weights or {}
        self._root: _Group[Item] = _Group(0)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        """All items, flow by flow."""
        return iter(self._root)

    def put(self, item: Item, cost: int, *path: Hashable) -> None:
        """Put an item at the end of the flow at `path`; all paths have the same length. If the last key is None, the
        item becomes a flow of its own."""
        group = self._root
        for key in path or (None,):
            key = object() if key is None else key
            member = group.members.get(key)
            if member is None:
                member = group.members[key] = _Group(self.quantum * self._weights.get(key, 1))
            group = member
        group.items.append((item, cost))
        self._count += 1

    def peek(self) -> Item:
        """The next item. Raises StopIteration when the queue is empty."""
        group = self._root
        while not group.items:
            group = next(iter(group.members.values()))
        return group.items[0][0]

    def pop(self, charge: bool = True) -> Item:
        """Take the item of `peek`. `charge`: whether its cost counts against its flow's turn."""
        group = self._root
        groups = [group]
        while not group.items:
            group = next(iter(group.members.values()))
            groups.append(group)
        item, cost = group.items.popleft()
        self._count -= 1
        while len(groups) > 1:
            member = groups.pop()
            if not (member.items or member.members):
                groups[-1].members.popitem(last=False)
            elif charge:
                member.balance -= cost
            groups[-1].rotate()
        return item

    def remove(self, item: Item, *path: Hashable) -> None:
        """Remove an item from the flow at `path`, if it is still queued."""
        groups = [self._root]
        for key in path:
            if key not in groups[-1].members:
                return
            groups.append(groups[-1].members[key])
        for index, (waiting, _) in enumerate(groups[-1].items):
            if waiting is item:
                del groups[-1].items[index]
                self._count -= 1
                break
        for key in reversed(path):
            member = groups.pop()
            if not (member.items or member.members):
                del groups[-1].members[key]
                groups[-1].rotate()

    def clear(self) -> None:
        self._root = _Group(0)
        self._count = 0
