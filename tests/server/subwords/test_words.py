"""Vocabularies of words: a file is what was written, ids and pieces and their places, and what is refused."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from server.subwords.byte_pairs import SubwordsError
from server.subwords.moses import Moses
from server.subwords.words import Words, WordsFile
from server.text.base.pieces import Pieces, VocabularyError
from server.text.split.plan import plan_text
from tests.growth import assert_linear
from tests.server.text import hostile
from tests.subwords import TEXT, words_file, write_words

MOSES = Moses("en", normalizes=True, splits_dashes=True)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_words(tmp_path_factory.mktemp("words") / "vocabulary.model", MOSES)


@pytest.fixture(scope="module")
def words(path: Path) -> Words:
    return Words(path)


@pytest.fixture(scope="module")
def pieces(path: Path) -> Pieces:
    return Pieces(path)


@given(
    st.lists(st.text(min_size=1), min_size=2, unique=True),
    st.none() | st.builds(Moses, st.text(max_size=3), st.booleans(), st.booleans()),
    st.none() | st.frozensets(st.text(), min_size=1),
    st.lists(st.tuples(st.text(), st.text())),
)
def test_a_file_is_read_as_it_was_written(
    listed: list[str], moses: Moses | None, known: frozenset[str] | None, pairs: list[tuple[str, str]]
) -> None:
    file = WordsFile(tuple(listed), 0, 1, frozenset((0, 1)), "0.1", tuple(pairs), moses, "@@", known)
    assert WordsFile.parsed(file.text()) == file


def test_texts_come_back(pieces: Pieces) -> None:
    """But for blanks beside signs, and punctuation as it was normalized."""
    for text in (*TEXT, "well-known \u201cbread\u201d"):
        [ids] = pieces.encode([text])
        assert ids[-1] == pieces.eos_id
        expected = text.replace("\u201c", '"').replace("\u201d", '"').replace("<left>", "< left >")
        assert pieces.decode([ids]) == [expected]


@given(data=st.data())
def test_any_ids_have_a_line_of_text_and_places_in_it(data: st.DataObject, pieces: Pieces) -> None:
    ids = data.draw(st.lists(st.integers(0, len(pieces) - 1), max_size=20))
    [text] = pieces.decode([ids])
    assert len(text.splitlines()) <= 1
    spelled, places = pieces.decode_with_offsets(ids)
    assert "".join(spelled[start:end] for start, end in places) == spelled
    assert "".join(surface.replace("\u2581", " ") for surface in pieces.spelled(ids)) == spelled
    # Beginnings that are shown while it is decoded hold: whole words only.
    for end in range(len(ids)):
        beginning = pieces.decode_beginning(ids[:end])
        assert text.startswith(beginning)


@given(st.lists(st.sampled_from(" ".join(TEXT).split()), max_size=20).map(" ".join))
def test_places_are_of_the_words_of_the_text(pieces: Pieces, text: str) -> None:
    """Nothing but blanks differs from a text without quotations, which punctuation rules move."""
    text = text.replace('"', "").replace("\u201c", "")
    [ids] = pieces.encode([text])
    assume(pieces.unk_id not in ids)
    spelled, _ = pieces.decode_with_offsets(ids[:-1])
    assert "".join(spelled.split()) == "".join(text.split())


def test_a_dash_that_was_split_off_joins_its_words(pieces: Pieces) -> None:
    [ids] = pieces.encode(["The well-known & old man isn't it?"])
    assert "-" in pieces.spelled(ids)
    assert pieces.decode_with_offsets(ids[:-1])[0] == " The well-known & old man isn 't it ?"


def test_a_continuation_begins_with_a_space_where_the_whole_text_has_one(pieces: Pieces) -> None:
    [before] = pieces.encode(["The man"])
    for following, is_apart in (("old", True), ("?", False), ("'s house", False), ("(twice", True), (")", False)):
        [ids] = pieces.encode([following])
        assert pieces.begins_word(before[:-1], ids[:-1]) == is_apart, following
    [ids] = pieces.encode(["house"])
    assert pieces.begins_word((), ids) is False


def test_what_stands_for_no_text_ends_a_word(words: Words) -> None:
    known = {piece: index for index, piece in enumerate(words.pieces(range(len(words))))}
    begun, end = known["h@@"], known["e"]
    assert words.text([begun, end]) == "he"
    assert words.text([begun, words.unk_id, end]) == "h e"
    assert words.surfaces([begun, words.unk_id, end]) == ["\u2581h", "<unk>", "\u2581e"]


def test_special_words_are_never_in_a_text(tmp_path: Path) -> None:
    plain = Words(write_words(tmp_path / "words", None))
    ids = plain.ids("</s> <blank> the <unk> @@")
    assert not {1, 2, 3} & {*ids}
    assert plain.ids("the")[0] in ids
    assert plain.segmented("  the   man\n") == [*plain.segmented("the"), *plain.segmented("man")]
    assert plain.text([*plain.ids("the old man"), 3]) == "the old man"


def test_a_character_is_spelled_at_the_end_of_a_word_or_before_it(tmp_path: Path) -> None:
    file = words_file(MOSES)
    kept = tuple(word for word in file.words if word not in ("z", "z@@", "q@@", "q", "k"))
    changed = (*kept, "k@@") if "k@@" not in kept else kept
    path = tmp_path / "words"
    path.write_text(dataclasses.replace(file, words=(*changed, "q")).text(), encoding="utf-8")
    ours = Pieces(path)
    assert [ours.spells(char) for char in "qk\u201ca"] == [True, True, True, True]
    assert [ours.spells(char) for char in "z\u6f22\U000f0000"] == [False, False, False]


def test_what_is_no_vocabulary_is_named(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.model"
    values: dict[str, Any] = json.loads(words_file(MOSES).text())
    for damaged, message in (
        ("{", "is no vocabulary of words"),
        (json.dumps(values | {"format": 2}), "is of another kind than this version reads"),
        (json.dumps(values | {"words": []}), "has no words for UNK or EOS"),
        (json.dumps(values | {"version": "0.3"}), "is of version 0.3"),
        (json.dumps(values | {"more": 1}), "is no vocabulary of words"),
        (json.dumps(values | {"pairs": [["a"]]}), "is no vocabulary of words"),
    ):
        path.write_text(damaged, encoding="utf-8")
        with pytest.raises(SubwordsError, match=message):
            Words(path)
        with pytest.raises(VocabularyError, match=rf"vocabulary\.model {message}"):
            Pieces(path)


def test_planning_takes_linear_time(pieces: Pieces) -> None:
    assert_linear(lambda text: plan_text(text, "en", pieces, 64), hostile.TEXT[::5], count=12)


def test_spelling_takes_linear_time(pieces: Pieces) -> None:
    tokens = tuple(map(chr, range(0, len(pieces), 7)))

    def spell(text: str) -> None:
        ids = [ord(char) % len(pieces) for char in text]
        pieces.decode_with_offsets(ids)
        pieces.decode([ids])
        pieces.decode_beginning(ids)

    assert_linear(spell, tokens[::3], count=8, ordinary=None)
