from hypothesis import given
from hypothesis import strategies as st

from server.text.repetition import is_repetitive, most_copies

SEQUENCES = st.text("ab", max_size=24)


def slow_most_copies(sequence: str, max_period: int) -> int:
    """Every phrase at every place, counted by comparing."""
    most = min(1, len(sequence))
    for period in range(1, min(max_period, len(sequence)) + 1):
        for start in range(len(sequence)):
            phrase = sequence[start : start + period]
            copies = 1
            while len(phrase) == period and sequence[start + copies * period :].startswith(phrase):
                copies += 1
            most = max(most, copies)
    return most


@given(sequence=SEQUENCES, max_period=st.integers(1, 8))
def test_equals_counting_by_comparing(sequence: str, max_period: int) -> None:
    assert most_copies(sequence, max_period) == slow_most_copies(sequence, max_period)


def test_loops_are_found() -> None:
    assert is_repetitive("I like vegetables.", "Salat Salat Salat")
    assert is_repetitive("Hello.", "und der Mann, und der Mann, und der Mann")
    assert is_repetitive("Hello.", "Donau" + "dampf" * 8)


def test_ordinary_sentences_are_not() -> None:
    assert not is_repetitive("", "")
    assert not is_repetitive("He said that that was it.", "Er sagte, dass das das war.")
    assert not is_repetitive("It is 10000000000.", "Es ist 10000000000.")


def test_a_loop_in_the_source_may_be_translated() -> None:
    assert not is_repetitive("No, no, no!", "Nein, nein, nein!")
    assert is_repetitive("No, no, no!", "Nein, nein, nein, nein, nein!")
