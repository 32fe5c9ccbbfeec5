"""Flows that take turns."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from server.scheduling.fair_queue import FairQueue, FlowPath

Item = tuple[str, int]
"""Owner and number."""

costs = st.integers(1, 40)
costs_by_owner = st.dictionaries(st.sampled_from("abcde"), st.lists(costs, min_size=1, max_size=30), min_size=1)


def serve(queue: FairQueue[Item]) -> list[Item]:
    served = []
    while queue:
        item = queue.peek()
        assert queue.pop() == item
        served.append(item)
    return served


def filled(costs_of: dict[str, list[int]], quantum: int) -> FairQueue[Item]:
    queue: FairQueue[Item] = FairQueue(quantum)
    for owner, sizes in costs_of.items():
        for number, cost in enumerate(sizes):
            queue.put((owner, number), cost, owner)
    return queue


@settings(deadline=None)
@given(costs_of=costs_by_owner, quantum=st.integers(1, 60))
def test_every_item_is_served_and_each_flow_in_order(costs_of: dict[str, list[int]], quantum: int) -> None:
    queue = filled(costs_of, quantum)
    assert len(queue) == sum(map(len, costs_of.values())) == len(list(queue))
    served = serve(queue)
    for owner, sizes in costs_of.items():
        assert [number for name, number in served if name == owner] == list(range(len(sizes)))
    assert len(served) == sum(map(len, costs_of.values()))


@settings(deadline=None)
@given(costs_of=costs_by_owner, quantum=st.integers(1, 60))
def test_waiting_flows_are_served_equally(costs_of: dict[str, list[int]], quantum: int) -> None:
    """While two flows wait, the cost that they were served differs by at most a turn and an item."""
    served = Counter[str]()
    left = Counter({owner: len(sizes) for owner, sizes in costs_of.items()})
    for owner, number in serve(filled(costs_of, quantum)):
        served[owner] += costs_of[owner][number]
        left[owner] -= 1
        waiting = [served[name] for name in left if left[name]]
        assert not waiting or max(waiting) - min(waiting) <= quantum + 40


@settings(deadline=None)
@given(present=st.lists(costs, max_size=60), quantum=st.integers(1, 60), cost=costs)
def test_a_new_flow_waits_for_one_turn_of_each_flow(present: list[int], quantum: int, cost: int) -> None:
    queue = filled({"a": present, "b": present}, quantum)
    queue.put(("new", 0), cost, "new")
    before = serve(queue).index(("new", 0))
    assert before <= 2 * quantum


def test_no_flow_starves_however_many_are_added() -> None:
    queue = filled({"a": [10] * 5}, quantum=10)
    served: list[Item] = []
    for number in range(30):
        queue.put((f"new{number}", 0), 10)
        queue.put((f"new{number}", 1), 10)
        served.append(queue.pop())
    assert sum(owner == "a" for owner, _ in served) >= 3


def test_items_without_a_flow_are_first_in_first_out() -> None:
    queue: FairQueue[Item] = FairQueue()
    items = [("", number) for number in range(9)]
    for item in items:
        queue.put(item, 500)
    assert serve(queue) == items


def test_an_uncharged_item_costs_no_turn() -> None:
    queue = filled({"a": [10] * 4, "b": [10]}, quantum=20)
    assert [queue.pop(charge=False), *serve(queue)] == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("a", 3)]


def test_a_cleared_queue_is_empty() -> None:
    queue = filled({"a": [1], "b": [2]}, quantum=1)
    queue.clear()
    assert not len(queue)
    assert serve(queue) == []


@dataclass
class SlowGroup:
    """The slow reference: the docstring of `FairQueue` word for word, with everything counted again at each step."""

    quantum: int
    balance: int
    members: list[tuple[object, "SlowGroup"]] = field(default_factory=list)
    items: list[tuple[Item, int]] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not self.items and all(member.is_empty for _, member in self.members)

    def member(self, key: object, quantum: int) -> "SlowGroup":
        for known, member in self.members:
            if known == key:
                return member
        self.members.append((key, SlowGroup(quantum, quantum)))
        return self.members[-1][1]

    def pop(self, charge: bool) -> tuple[Item, int]:
        if self.items:
            return self.items.pop(0)
        served = self.members[0][1]
        item, cost = served.pop(charge)
        served.balance -= cost if charge else 0
        self.rotate()
        return item, cost

    def remove(self, item: Item) -> bool:
        """Whether the item was queued."""
        before = len(self.items)
        self.items = [entry for entry in self.items if entry[0] is not item]
        is_removed = len(self.items) < before or sum(member.remove(item) for _, member in self.members) > 0
        self.rotate()
        return is_removed

    def rotate(self) -> None:
        self.members = [(key, member) for key, member in self.members if not member.is_empty]
        while self.members and self.members[0][1].balance <= 0:
            first = self.members.pop(0)
            first[1].balance += first[1].quantum
            self.members.append(first)


@settings(deadline=None)
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.tuples(*[st.sampled_from("abc")] * 3), costs),  # an item is put at a path
            st.booleans(),  # an item is popped: charged or not
            st.integers(0, 79),  # the item of this number is removed, if it is queued
        ),
        max_size=80,
    ),
    quantum=st.integers(1, 60),
)
def test_the_order_equals_the_slow_reference(
    steps: Sequence[tuple[tuple[str, str, str], int] | bool | int], quantum: int
) -> None:
    weights: dict[Hashable, int] = {"b": 4}
    queue: FairQueue[Item] = FairQueue(quantum, weights)
    slow, count, put = SlowGroup(0, 0), 0, dict[int, tuple[Item, str, str, str]]()
    for number, step in enumerate([*steps, *[False] * len(steps)]):
        if isinstance(step, bool):
            if count:
                count -= 1
                expected = slow.pop(step)[0]
                assert queue.peek() == expected
                assert queue.pop(step) == expected
        elif isinstance(step, int):
            if step in put:
                queue.remove(*put[step])
                count -= slow.remove(put[step][0])
        else:
            path, cost = step
            item = ("", number)
            put[number] = (item, *path)
            count += 1
            queue.put(item, cost, *path)
            group = slow
            for key in path:
                group = group.member(key, quantum * weights.get(key, 1))
            group.items.append((item, cost))
        assert len(queue) == count == len(list(queue))
    assert count == 0


@settings(deadline=None)
@given(
    documents=st.dictionaries(st.sampled_from("abcd"), st.integers(1, 40), min_size=2),
    sizes=st.lists(costs, min_size=5, max_size=40),
    quantum=st.integers(1, 60),
)
def test_a_tenant_has_the_turns_of_one_tenant_with_any_number_of_documents(
    documents: dict[str, int], sizes: list[int], quantum: int
) -> None:
    """While two tenants wait, the cost that they were served differs by at most a turn and an item."""
    queue: FairQueue[Item] = FairQueue(quantum)
    left = Counter[str]()
    for tenant, count in documents.items():
        for document in range(count):
            for cost in sizes:
                left[tenant] += 1
                queue.put((tenant, cost), cost, tenant, "background", document)
    served = Counter[str]()
    while queue:
        tenant, cost = queue.pop()
        served[tenant] += cost
        left[tenant] -= 1
        waiting = [served[name] for name in left if left[name]]
        assert not waiting or max(waiting) - min(waiting) <= quantum + 40


def test_a_heavier_member_has_more_turns() -> None:
    queue: FairQueue[Item] = FairQueue(10, {"interactive": 4})
    paths: list[FlowPath] = [("a", "background", 1), ("a", "interactive", 2)]
    for path in paths:
        for number in range(200):
            queue.put((str(path[1]), number), 10, *path)
    assert Counter(queue.pop()[0] for _ in range(100)) == {"interactive": 80, "background": 20}
