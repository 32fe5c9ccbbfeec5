"""Times of the day in hours of the whole day and of its halves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.checks.clock import clock_changed
from server.text.checks.flags import find_flags


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("um 9 Uhr", "at 9:00 pm"),
        ("12 Uhr", "12 a.m."),
        ("um 15.30 Uhr", "at 3:30 am"),
        ("at 3 PM", "um 3 Uhr"),
        ("from 9 am to 5 pm", "von 9 Uhr bis 5 Uhr"),
    ],
)
def test_another_half_of_the_day(source: str, target: str) -> None:
    assert clock_changed(source, target)
    assert "numbers_changed" in find_flags(source, target)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("um 9 Uhr", "at 9 o'clock"),
        ("um 9 Uhr", "at 9 a.m."),
        ("um 3 Uhr nachmittags", "at 3 p.m."),
        ("at 3 pm", "um 3 Uhr nachmittags"),
        ("9 bis 17 Uhr", "9 a.m. to 5 p.m."),
        ("0 Uhr", "12 a.m."),
        ("24 Uhr", "12 am"),
        ("12 Uhr", "12 pm"),
        ("7.05 Uhr und 19 Uhr", "7:05 a.m. and 7 p.m."),
    ],
)
def test_the_same_time(source: str, target: str) -> None:
    assert not clock_changed(source, target)


@given(st.integers(0, 23), st.integers(0, 59), st.integers(0, 23))
def test_every_hour_is_itself_alone(hour: int, minute: int, other: int) -> None:
    english = f"at {other % 12 or 12}:{minute:02} {'pm' if other >= 12 else 'am'}"
    assert clock_changed(f"um {hour}:{minute:02} Uhr", english) == (hour != other)
    assert clock_changed(english, f"um {hour}.{minute:02} Uhr") == (hour != other)
