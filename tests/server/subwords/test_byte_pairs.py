"""Words are cut as subword-nmt cuts them, whatever the codes, in O(n log n)."""

import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from subword_nmt.apply_bpe import BPE

from server.subwords.byte_pairs import BytePairs, SubwordsError, read_codes
from tests.growth import assert_linear
from tests.subwords import TEXT, codes, theirs

inner = st.text("ab</w>", min_size=1, max_size=4)
units = inner | inner.map("{}</w>".format)
pairs = st.lists(st.tuples(units, units), min_size=1, max_size=25)
words = st.lists(st.text("ab</w>c", min_size=1, max_size=14), max_size=6)


def grown(draws: list[tuple[int, int]], ends_apart: bool) -> list[tuple[str, str]]:
    """Codes whose pairs are of units that others made, as learnt ones are, in any order."""
    made = ["a", "b", *(["</w>"] if ends_apart else ["a</w>", "b</w>"])]
    found: list[tuple[str, str]] = []
    for left, right in draws:
        pair = made[left % len(made)], made[right % len(made)]
        if not pair[0].endswith("</w>"):
            found.append(pair)
            made.append("".join(pair))
    return found[::-1] if ends_apart else found


def expected(lines: list[tuple[str, str]], version: str, known: set[str] | None, text: list[str]) -> list[str]:
    header = "#version: 0.2\n" if version == "0.2" else ""
    bpe = BPE(io.StringIO(header + "".join(f"{left} {right}\n" for left, right in lines)), vocab=known)
    result: list[str] = bpe.segment_tokens(text)
    return result


@given(pairs, st.sampled_from(["0.1", "0.2"]), st.none() | st.sets(st.text("ab@", max_size=5), max_size=12), words)
@example([("a", "a"), ("aa", "a")], "0.2", None, ["aaaaaaa"])
@example([("aa", "a"), ("a", "a")], "0.1", None, ["aaaaaaaa"])
@example([("a", "</w>"), ("a", "a</w>")], "0.1", {"b"}, ["aa", "ba"])
def test_any_codes_cut_as_subword_nmt_does(
    lines: list[tuple[str, str]], version: str, known: set[str] | None, text: list[str]
) -> None:
    assert BytePairs(version, lines, known=known).segmented(text) == expected(lines, version, known, text)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=25),
    st.booleans(),
    st.none() | st.sets(st.text("ab", min_size=1, max_size=5).flatmap(lambda w: st.sampled_from([w, w + "@@"]))),
    st.lists(st.text("ab", min_size=1, max_size=40), max_size=4),
)
def test_codes_that_grow_cut_as_subword_nmt_does(
    draws: list[tuple[int, int]], ends_apart: bool, known: set[str] | None, text: list[str]
) -> None:
    lines = grown(draws, ends_apart)
    if lines:
        version = "0.1" if ends_apart else "0.2"
        assert BytePairs(version, lines, known=known).segmented(text) == expected(lines, version, known, text)


@pytest.mark.parametrize("version", ["0.1", "0.2"])
def test_learnt_codes_cut_as_subword_nmt_does(version: str) -> None:
    text = codes(version=version)
    read, lines = read_codes(text)
    assert read == version
    seen = {piece for line in TEXT for piece in theirs(text).segment_tokens(line.split())}
    for known in (None, {piece for piece in seen if len(piece) < 5}):
        ours, bpe = BytePairs(read, lines, known=known), theirs(text, known)
        for line in TEXT:
            assert ours.segmented(line.split(" ")) == bpe.segment_tokens(line.split(" "))
    assert any(piece.endswith("@@") for piece in seen)


@given(st.text("ab .#:0123456789version\n\r\t", max_size=60))
@example("#version: 0.2\na b\r\n")
@example("#version: 0.2.0\na b\n\n\n")
@example("#version: 0.3\na b")
@example("a b 12")
@example("")
def test_codes_are_read_as_subword_nmt_reads_them(text: str) -> None:
    try:
        version, lines = read_codes(text)
    except SubwordsError:
        return
    bpe = theirs(text)
    assert bpe.version == tuple(map(int, version.split(".")))
    assert bpe.bpe_codes == {pair: rank for rank, pair in reversed([*enumerate(lines)])}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#version: 0.3\na b", "is of version 0.3"),
        ("#version: new\na b", "no version that is read"),
        ("#version: 0.2\na b\na b c", "no pair of units in line 3: 'a b c'"),
        ("a", "in line 1"),
        ("", "in line 1"),
        ("a  b", "in line 1"),
    ],
)
def test_what_are_no_codes_is_named(text: str, message: str) -> None:
    with pytest.raises(SubwordsError, match=message):
        read_codes(text)


def test_no_word_takes_more_than_linear_time() -> None:
    """A client's whole text may be one word."""
    _, lines = read_codes(codes())
    doubled = [("a" * 2**n, "a" * 2**n) for n in range(17)]
    for ours in (BytePairs("0.2", lines), BytePairs("0.1", [*doubled, ("a", "b"), ("b", "a")], known={"ab"})):

        def cut(text: str, ours: BytePairs = ours) -> None:
            ours.segmented([text])

        assert_linear(cut, ("a", "ab", "b", "the", "th", "</w>"), count=15, ordinary=None)
