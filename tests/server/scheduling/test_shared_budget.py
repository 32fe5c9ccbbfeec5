"""A budget that several owners share."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from server.scheduling.shared_budget import SharedBudget

steps = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(1, 40)), max_size=60)


@settings(deadline=None)
@given(steps=steps, limit=st.integers(1, 100))
def test_an_owner_leaves_as_much_free_as_it_holds(steps: list[tuple[str, int]], limit: int) -> None:
    budget, held = SharedBudget(limit), Counter[str]()
    for owner, amount in steps:
        may = held[owner] + amount <= max(1, 2 * limit - held.total() - amount) and held.total() + amount <= 2 * limit
        assert budget.fits(owner, amount) is may
        if may:
            budget.acquire(owner, amount)
            held[owner] += amount
        assert budget.total == held.total() <= 2 * limit
        assert budget.held(owner) == held[owner] <= limit
        free = 2 * limit - held.total()
        assert free == 0 or budget.fits("new", max(1, free // 2))
    for owner, amount in held.items():
        budget.release(owner, amount)
    assert budget.total == 0
    assert budget.fits("a", limit)
    assert not budget.fits("a", limit + 1)


@settings(deadline=None)
@given(limit=st.integers(2, 100), owners=st.integers(1, 5))
def test_owners_that_always_acquire_more_converge_to_equal_parts(limit: int, owners: int) -> None:
    """Each in turn releases a unit, like a queue that is served, and acquires as much as fits."""
    budget = SharedBudget(limit)
    names = "abcde"[:owners]
    for _ in range(8 * limit):
        for owner in names:
            if budget.held(owner):
                budget.release(owner, 1)
            while budget.fits(owner, 1):
                budget.acquire(owner, 1)
    for owner in names:
        assert abs(budget.held(owner) - 2 * limit / (owners + 1)) <= 2
