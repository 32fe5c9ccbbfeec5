"""Lines that take turns."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from server.engine.lines import Lines

Item = tuple[str, int]
"""Owner and number."""

costs = st.integers(1, 40)
lines_of_costs = st.dictionaries(st.sampled_from("abcde"), st.lists(costs, min_size=1, max_size=30), min_size=1)


def serve(lines: Lines[Item]) -> list[Item]:
    served = []
    while lines:
        item = lines.peek()
        assert lines.pop() == item
        served.append(item)
    return served


def filled(brought: dict[str, list[int]], quantum: int) -> Lines[Item]:
    lines: Lines[Item] = Lines(quantum)
    for owner, sizes in brought.items():
        for number, cost in enumerate(sizes):
            lines.put((owner, number), cost, owner)
    return lines


@given(brought=lines_of_costs, quantum=st.integers(1, 60))
def test_all_are_served_each_line_in_its_order(brought: dict[str, list[int]], quantum: int) -> None:
    lines = filled(brought, quantum)
    assert len(lines) == sum(map(len, brought.values())) == len(list(lines))
    served = serve(lines)
    for owner, sizes in brought.items():
        assert [number for name, number in served if name == owner] == list(range(len(sizes)))
    assert len(served) == sum(map(len, brought.values()))


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
    lines: Lines[Item] = Lines()
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
