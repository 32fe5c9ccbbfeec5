from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from server.text.base.pieces import Pieces, VocabularyError


def test_ids_end_with_eos_and_come_back_as_text(pieces: Pieces) -> None:
    sentence = "The old man reads a book."
    [ids] = pieces.encode([sentence])
    assert ids[-1] == pieces.eos_id
    assert pieces.decode([ids[:-1]]) == [sentence]


def test_lengths_count_eos(pieces: Pieces) -> None:
    sentences = ["Yes.", "", "We walk home in the rain."]
    assert pieces.lengths(sentences) == [len(ids) for ids in pieces.encode(sentences)]
    assert pieces.lengths([""]) == [1]


def test_sources_of_some_models_have_no_eos(tmp_path: Path) -> None:
    """EOS stands alone where a text has no pieces: an encoder reads at least one id."""
    path = small_model(tmp_path / "other")
    for prefix in ((), (5,)):
        usual, pieces = Pieces(path, prefix=prefix), Pieces(path, prefix=prefix, ends_with_eos=False)
        for text in ("a", "a b", ""):
            [ids], [ended] = pieces.encode([text]), usual.encode([text])
            assert ids == (ended[:-1] or ended)
            assert pieces.without_eos(ids) == usual.without_eos(ended) == ended[:-1]
            assert pieces.has_pieces(ids) == usual.has_pieces(ended) == bool(text)
            assert pieces.lengths([text]) == usual.lengths([text]) == [len(ended)]


def test_a_lone_surrogate_has_ids(pieces: Pieces) -> None:
    assert pieces.encode(["a\ud800b"]) == pieces.encode(["a\ufffdb"])


@given(ids=st.lists(st.integers(0, 319), max_size=40))
def test_any_ids_give_one_line_of_valid_text(pieces: Pieces, ids: list[int]) -> None:
    [text] = pieces.decode([ids])
    assert text.encode("utf-8").decode("utf-8") == text
    assert len(text.splitlines()) <= 1
    assert "\x00" not in text


def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.model"
    path.write_bytes(b"not a model")
    with pytest.raises(VocabularyError, match=r"vocabulary\.model is not a SentencePiece model"):
        Pieces(path)


def small_model(prefix: Path, **special_ids: Any) -> Path:
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(["a b c d e f g"] * 10),
        model_prefix=str(prefix),
        vocab_size=20,
        hard_vocab_limit=False,
        minloglevel=2,
        **special_ids,
    )
    return prefix.with_suffix(".model")


def test_special_ids_come_from_the_vocabulary(tmp_path: Path) -> None:
    pieces = Pieces(small_model(tmp_path / "other", unk_id=2, bos_id=1, eos_id=0))
    assert (pieces.unk_id, pieces.eos_id) == (2, 0)
    assert pieces.encode(["a"])[0][-1] == 0


def test_a_vocabulary_without_an_end_of_sentences_is_refused(tmp_path: Path) -> None:
    path = small_model(tmp_path / "endless", eos_id=-1)
    with pytest.raises(VocabularyError, match="no piece that ends a sentence"):
        Pieces(path)


def test_pieces_beyond_the_models_size_are_unknown(tmp_path: Path) -> None:
    path = small_model(tmp_path / "other")
    [ids] = Pieces(path).encode(["a b c d"])
    size = sorted(ids)[len(ids) // 2]
    less = Pieces(path, size)
    assert less.encode(["a b c d"]) == [tuple(index if index < size else less.unk_id for index in ids)]
    assert max(less.encode(["a b c d"])[0]) < size <= max(ids)
    assert not all(map(less.spells, "abcd"))


class Cleared(dict[str, bool]):
    """As if another thread cleared it after every answer that is put into it."""

    def __setitem__(self, character: str, is_spelled: bool) -> None:
        self.clear()


def test_what_is_spelled_is_answered_though_another_thread_forgets_it(
    pieces: Pieces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "_spelled", Cleared())
    assert [pieces.spells(char) for char in "a\u732ba"] == [True, False, True]
