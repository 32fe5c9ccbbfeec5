"""Cells of tables whose sentences have other delimiters in them."""

from hypothesis import given
from hypothesis import strategies as st

from server.files.formats.registry import open_file


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=5),
    st.sampled_from([",", ";", "|"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_tabs_come_before_what_stands_in_sentences(counts: list[int], delimiter: str, newline: str) -> None:
    sentences = ["Yes" + f"{delimiter} no" * count for count in counts]
    text = "".join(f"key.{number}\t{sentence}{newline}" for number, sentence in enumerate(sentences))
    opened = open_file(text.encode(), "a.tsv", "de", 100_000)
    assert list(opened.texts)[1::2] == sentences
    assert opened.write([source.upper() for source in opened.texts]) == text.upper().encode()
