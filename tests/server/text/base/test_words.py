"""Words of shown texts, and of texts that a model reads and writes."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from server.text.base.pieces import Pieces
from server.text.base.words import Place, Word, equal_elements, find_spans, match_words, word_ids, words_of
from server.text.protect.masking import mask

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)


def shown(text: str, places: list[tuple[int, int] | None]) -> list[str | None]:
    return [None if place is None else text[slice(*place)] for place in places]


def test_words_of_a_text() -> None:
    text = "Don't say X1, \u201eWell-known\u201c!"
    words = words_of(text, [((10, 12), 1)])
    assert [text[word.start : word.end] for word in words] == ["Don't", "say", "X1", "Well-known"]
    assert [word.mask for word in words] == [0, 0, 1, 0]
    assert words_of("") == []


def test_words_are_matched_in_any_normalization() -> None:
    text = "STRASSE 3\u00d74 \ufb01ne end"
    assert shown(text, match_words(words_of("stra\u00dfe 3x4 fine end"), words_of(text))) == [
        "STRASSE", "3\u00d74", "\ufb01ne", "end",
    ]  # fmt: skip
    assert match_words(words_of("a b c"), words_of("a c")) == [(0, 1), None, (2, 3)]


def test_what_is_protected_is_one_word() -> None:
    text = "Siehe https://example.org/a7, 7 und 7!"
    places = find_spans(["7", "https://example.org/a7", "7", "gone"], text)
    assert places == {1: (30, 31), 2: (6, 28), 3: (36, 37)}
    read = words_of("Siehe X2, X1 und X3!", [((6, 8), 2), ((10, 12), 1), ((17, 19), 3)])
    shown_words = words_of(text, sorted((place, number) for number, place in places.items()))
    assert shown(text, match_words(read, shown_words)) == ["Siehe", "https://example.org/a7", "7", "und", "7"]
    assert match_words(words_of("x y"), shown_words[:2]) == [None, None]  # never behind a mask


def test_a_piece_belongs_to_the_word_that_most_of_it_is_in() -> None:
    words = [Word(0, 3, "abc"), Word(4, 8, "defg")]
    assert word_ids(words, [(0, 3), (3, 6), (6, 8), (8, 9), (3, 3)]) == [0, 1, 1, None, None]
    assert word_ids([], [(0, 1)]) == [None]


@given(text=ANY_TEXT)
def test_every_id_has_its_place(pieces: Pieces, text: str) -> None:
    [ids] = pieces.encode([text])
    spelled, places = pieces.decode_with_offsets(ids)
    assert len(places) == len(ids)
    assert all(0 <= start <= end <= len(spelled) for start, end in places)
    assert [start for start, _ in places] == sorted(start for start, _ in places)


@given(text=st.text("abcdefghi \u00e4\u00f6\u20ac\u6f22,.", max_size=40))
def test_decoded_ids_with_offsets_are_the_text(pieces: Pieces, text: str) -> None:
    [ids] = pieces.encode([text])
    assert pieces.decode_with_offsets(ids)[0].split() == pieces.decode([ids])[0].split()


@given(text=ANY_TEXT)
def test_masks_know_where_their_spans_stand(pieces: Pieces, text: str) -> None:
    text = f"{text} see https://example.org/a and {{name}}"
    masked = mask(text, pieces.spells)
    assert [text[slice(*place)] for place in masked.places] == [span.text for span in masked.spans]
    read = masked.find_masks(masked.text)
    assert [number for _, number in read] == list(range(1, len(masked.spans) + 1))


def slow_matched(read: Sequence[Word], shown: Sequence[Word]) -> list[Place | None]:
    """By the longest rows that both have, first of all."""
    places: list[Place | None] = [None] * len(read)
    matcher = SequenceMatcher(
        None, [word.normalized for word in read], [word.normalized for word in shown], autojunk=False
    )
    for kind, first, last, start, end in matcher.get_opcodes():
        if kind == "equal":
            places[first:last] = [(word.start, word.end) for word in shown[start:end]]
        elif kind == "replace":
            places[first:last] = [(shown[start].start, shown[end - 1].end)] * (last - first)
    return places


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 9)), unique_by=lambda item: item[0], max_size=60))
def test_words_that_are_there_once_are_matched_as_by_comparing_all(words: list[tuple[int, int]]) -> None:
    """Some are not shown, some are shown as something else."""
    read = words_of(" ".join(f"w{number}" for number, _ in words))
    shown = words_of(" ".join(f"{'x' if kind == 1 else 'w'}{number}" for number, kind in words if kind))
    assert match_words(read, shown) == slow_matched(read, shown)


@given(st.text("abcd", max_size=40), st.text("abcd", max_size=40))
def test_equal_elements_are_equal_and_in_order(left: str, right: str) -> None:
    pairs = list(equal_elements(list(left), list(right)))
    assert all(left[i] == right[j] for i, j in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert len(list(equal_elements(list(left), list(left)))) == len(left)


@given(st.lists(st.text("ab", min_size=1, max_size=4), max_size=6), st.text("ab ", max_size=30))
def test_spans_are_found_as_by_trying_every_place(spans: list[str], text: str) -> None:
    places: dict[int, Place] = {}
    for number, span in sorted(enumerate(spans, 1), key=lambda item: (-len(item[1]), item[0])):
        for start in range(len(text) - len(span) + 1):
            is_free = not any(start < end and first < start + len(span) for first, end in places.values())
            if text.startswith(span, start) and is_free:
                places[number] = (start, start + len(span))
                break
    assert find_spans(spans, text) == places


@given(st.text("ab ", max_size=30), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), max_size=6))
def test_owners_as_by_asking_every_word(text: str, places: list[tuple[int, int]]) -> None:
    words, pieces = words_of(text), [(start, start + length) for start, length in places]
    results: list[int | None] = []
    for start, end in pieces:
        shared = [min(end, word.end) - max(start, word.start) for word in words]
        best = max(range(len(words)), key=shared.__getitem__, default=None)
        results.append(best if best is not None and shared[best] > 0 else None)
    assert word_ids(words, pieces) == results
