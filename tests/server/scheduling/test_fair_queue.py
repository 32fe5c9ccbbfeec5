"""Lines that take turns."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from server.scheduling.fair_queue import FairQueue, Path

Item = tuple[str, int]
"""Owner and number."""

costs = st.integers(1, 40)
lines_of_costs = st.dictionaries(st.sampled_from("abcde"), st.lists(costs, min_size=1, max_size=30), min_size=1)


def serve(lines: FairQueue[Item]) -> list[Item]:
    served = []
    while lines:
        item = lines.peek()
        assert lines.pop() == item
        served.append(item)
    return served


def filled(brought: dict[str, list[int]], quantum: int) -> FairQueue[Item]:
    lines: FairQueue[Item] = FairQueue(quantum)
    for owner, sizes in brought.items():
        for number, cost in enumerate(sizes):
            lines.put((owner, number), cost, owner)
    return lines


@settings(deadline=None)
@given(brought=lines_of_costs, quantum=st.integers(1, 60))
def test_all_are_served_each_line_in_its_order(brought: dict[str, list[int]], quantum: int) -> None:
    lines = filled(brought, quantum)
    assert len(lines) == sum(map(len, brought.values())) == len(list(lines))
    served = serve(lines)
    for owner, sizes in brought.items():
        assert [number for name, number in served if name == owner] == list(range(len(sizes)))
    assert len(served) == sum(map(len, brought.values()))


@settings(deadline=None)
@given(brought=lines_of_costs, quantum=st.integers(1, 60))
def test_lines_that_wait_are_served_alike(brought: dict[str, list[int]], quantum: int) -> None:
    """While two lines wait, what they were served differs by a turn and an item at most."""
    served = Counter[str]()
    left = Counter({owner: len(sizes) for owner, sizes in brought.items()})
    for owner, number in serve(filled(brought, quantum)):
        served[owner] += brought[owner][number]
        left[owner] -= 1
        waiting = [served[name] for name in left if left[name]]
        assert not waiting or max(waiting) - min(waiting) <= quantum + 40


@settings(deadline=None)
@given(crowd=st.lists(costs, max_size=60), quantum=st.integers(1, 60), late=costs)
def test_a_newcomer_waits_for_one_turn_of_each_line(crowd: list[int], quantum: int, late: int) -> None:
    lines = filled({"a": crowd, "b": crowd}, quantum)
    lines.put(("new", 0), late, "new")
    before = serve(lines).index(("new", 0))
    assert before <= 2 * quantum


def test_however_many_newcomers_there_are_nobody_waits_for_ever() -> None:
    lines = filled({"a": [10] * 5}, quantum=10)
    served: list[Item] = []
    for number in range(30):
        lines.put((f"new{number}", 0), 10)
        lines.put((f"new{number}", 1), 10)
        served.append(lines.pop())
    assert sum(owner == "a" for owner, _ in served) >= 3


def test_items_of_nobody_are_served_as_they_came() -> None:
    lines: FairQueue[Item] = FairQueue()
    items = [("", number) for number in range(9)]
    for item in items:
        lines.put(item, 500)
    assert serve(lines) == items


def test_what_is_free_is_not_charged() -> None:
    lines = filled({"a": [10] * 4, "b": [10]}, quantum=20)
    assert [lines.pop(is_free=True), *serve(lines)] == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("a", 3)]


def test_a_cleared_room_is_empty() -> None:
    lines = filled({"a": [1], "b": [2]}, quantum=1)
    lines.clear()
    assert not len(lines)
    assert serve(lines) == []


@dataclass
class SlowGroup:
    """What `FairQueue` says of itself, word for word: members in the order of their turns, everything counted anew."""

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

    def pop(self, is_free: bool) -> tuple[Item, int]:
        if self.items:
            return self.items.pop(0)
        served = self.members[0][1]
        item, cost = served.pop(is_free)
        served.balance -= 0 if is_free else cost
        self.pass_on()
        return item, cost

    def remove(self, item: Item) -> bool:
        """Whether it was there."""
        before = len(self.items)
        self.items = [one for one in self.items if one[0] is not item]
        found = len(self.items) < before or sum(member.remove(item) for _, member in self.members) > 0
        self.pass_on()
        return found

    def pass_on(self) -> None:
        self.members = [one for one in self.members if not one[1].is_empty]
        while self.members and self.members[0][1].balance <= 0:
            first = self.members.pop(0)
            first[1].balance += first[1].quantum
            self.members.append(first)


@settings(deadline=None)
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.tuples(*[st.sampled_from("abc")] * 3), costs),  # a path, and what is put there
            st.booleans(),  # one is taken: charged or free
            st.integers(0, 79),  # the item of this number leaves, if it is there
        ),
        max_size=80,
    ),
    quantum=st.integers(1, 60),
)
def test_groups_are_served_as_the_slow_twin_serves_them(
    steps: Sequence[tuple[tuple[str, str, str], int] | bool | int], quantum: int
) -> None:
    weights: dict[Hashable, int] = {"b": 4}
    lines: FairQueue[Item] = FairQueue(quantum, weights)
    slow, count, put = SlowGroup(0, 0), 0, dict[int, tuple[Item, str, str, str]]()
    for number, step in enumerate([*steps, *[False] * len(steps)]):
        if isinstance(step, bool):
            if count:
                count -= 1
                expected = slow.pop(step)[0]
                assert lines.peek() == expected
                assert lines.pop(step) == expected
        elif isinstance(step, int):
            if step in put:
                lines.remove(*put[step])
                count -= slow.remove(put[step][0])
        else:
            path, cost = step
            item = ("", number)
            put[number] = (item, *path)
            count += 1
            lines.put(item, cost, *path)
            group = slow
            for key in path:
                group = group.member(key, quantum * weights.get(key, 1))
            group.items.append((item, cost))
        assert len(lines) == count == len(list(lines))
    assert count == 0


@settings(deadline=None)
@given(
    documents=st.dictionaries(st.sampled_from("abcd"), st.integers(1, 40), min_size=2),
    sizes=st.lists(costs, min_size=5, max_size=40),
    quantum=st.integers(1, 60),
)
def test_a_tenant_has_the_turns_of_one_however_many_documents_it_has(
    documents: dict[str, int], sizes: list[int], quantum: int
) -> None:
    """While two tenants wait, what they were served differs by a turn and an item at most."""
    lines: FairQueue[Item] = FairQueue(quantum)
    left = Counter[str]()
    for tenant, count in documents.items():
        for document in range(count):
            for cost in sizes:
                left[tenant] += 1
                lines.put((tenant, cost), cost, tenant, "background", document)
    served = Counter[str]()
    while lines:
        tenant, cost = lines.pop()
        served[tenant] += cost
        left[tenant] -= 1
        waiting = [served[name] for name in left if left[name]]
        assert not waiting or max(waiting) - min(waiting) <= quantum + 40


def test_a_heavier_member_has_more_turns() -> None:
    lines: FairQueue[Item] = FairQueue(10, {"interactive": 4})
    paths: list[Path] = [("a", "background", 1), ("a", "interactive", 2)]
    for path in paths:
        for number in range(200):
            lines.put((str(path[1]), number), 10, *path)
    assert Counter(lines.pop()[0] for _ in range(100)) == {"interactive": 80, "background": 20}
