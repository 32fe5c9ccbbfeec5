"""A long sentence is split at its clauses, and nothing of it is lost."""

from hypothesis import given, settings
from hypothesis import strategies as st

from server.text.spans.table import protected_spans
from server.text.split.clauses import MAX_PART_WORDS, MIN_PART_WORDS, MIN_WORDS, as_clause, split_at_clauses

TOKENS = (
    "word ",
    "word, ",
    "word; ",
    "and ",
    ", and ",
    "(",
    ") ",
    "\u2013 ",
    "<b a='; '> ",
    "{a; b} ",
    ": ",
    ", ",
    "  ",
)


@settings(max_examples=60)
@given(st.lists(st.sampled_from(TOKENS), min_size=40, max_size=160).map("".join))
def test_parts_are_the_sentence(sentence: str) -> None:
    parts = split_at_clauses(sentence)
    assert "".join(parts) == sentence
    if len(parts) > 1:
        assert len(sentence.split()) >= MIN_WORDS
        assert min(len(part.split()) for part in parts) >= MIN_PART_WORDS
    ends = [sum(map(len, parts[:count])) for count in range(1, len(parts))]
    assert not [end for end in ends for start, stop in protected_spans(sentence) if start < end < stop]


def test_the_best_places() -> None:
    clause = "the old man walked home in the rain with his two dogs"
    sentence = f"{clause}, {clause}; {clause}, and {clause}, {clause}."
    assert len(sentence.split()) > MAX_PART_WORDS
    assert split_at_clauses(sentence)[0] == f"{clause}, {clause}; "
    bracketed = f"{clause} ({clause}; {clause}) {clause}, and {clause}."
    assert all(part.count("(") == part.count(")") for part in split_at_clauses(bracketed))
    assert split_at_clauses(f"{clause}; {clause}.") == [f"{clause}; {clause}."]


def test_a_part_has_no_signs_of_a_sentence() -> None:
    assert as_clause("and the man;", "Und der Mann.", lambda word, other: True) == "und der Mann"
    assert as_clause("and the man;", "Mann und Hund;", lambda word, other: False) == "Mann und Hund;"
    assert as_clause("iOS and the man;", "IOS und Dr.", lambda word, other: True, ("IOS", "Dr.")) == "IOS und Dr."
    assert as_clause("The man.", "Der Mann.", lambda word, other: True) == "Der Mann."
