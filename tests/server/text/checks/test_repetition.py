from hypothesis import example, given
from hypothesis import strategies as st

from server.text.checks.repetition import MIN_CHARACTER_COPIES, MIN_WORD_COPIES, is_repetitive, most_copies

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


def slow_is_repetitive(source: str, target: str) -> bool:
    """The counts themselves, without a first look."""
    words, characters = target.casefold().split(), "".join(target.casefold().split())
    of_source = source.casefold().split()
    copies = most_copies(words)
    if copies >= MIN_WORD_COPIES and copies > most_copies(of_source):
        return True
    copies = most_copies(characters)
    return copies >= MIN_CHARACTER_COPIES and copies > most_copies("".join(of_source))


@given(source=st.text("ab ", max_size=30), target=st.text("ab ", max_size=60))
@example(source="a", target="ab" * 8)
@example(source="ab" * 8, target="ab" * 8)
@example(source="", target="a b c d e f g h " * 3)
@example(source="", target="a b c d e f g h " * 3 + "x")
def test_the_quick_check_changes_no_result(source: str, target: str) -> None:
    assert is_repetitive(source, target) == slow_is_repetitive(source, target)


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
