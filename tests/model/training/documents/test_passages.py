"""Documents on disk, and passages of them."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.data.batching import Pair
from model.data.corpus import CorpusError
from model.data.documents import (
    Passage,
    PlacedPair,
    by_length,
    cut_documents,
    epoch_documents,
    foreign_documents,
    passages,
    read_documents,
    width,
)
from model.data.vocabulary import Vocabulary
from model.training.checkpoint import VOCABULARY
from tests.model.training.documents.some import SAMPLE, some_documents


def test_empty_lines_divide_documents(base: Path) -> None:
    documents = read_documents(SAMPLE, "dialogues", ("en", "de"), Vocabulary(base / VOCABULARY), 200)
    lines = (SAMPLE / "dialogues.en").read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    assert [len(document) for document in documents] == [len(part.split("\n")) for part in lines]
    vocabulary = Vocabulary(base / VOCABULARY)
    assert vocabulary.encode([lines[1].split("\n")[2]])[0] == documents[1][2].pair.source
    for number, document in enumerate(documents):
        assert [(sentence.document, sentence.index) for sentence in document] == [
            (number, i) for i in range(len(document))
        ]
    few = read_documents(SAMPLE, "dialogues", ("en", "de"), vocabulary, 200, limit=17)
    assert sum(map(len, few)) == 17


def test_long_pairs_leave_their_document(base: Path) -> None:
    vocabulary = Vocabulary(base / VOCABULARY)
    documents = read_documents(SAMPLE, "dialogues", ("en", "de"), vocabulary, 30)
    longest = max(max(len(s.pair.source), len(s.pair.target)) for document in documents for s in document)
    assert longest <= 30
    assert [s.index for s in documents[0]] == list(range(len(documents[0])))


def test_a_corpus_without_documents_is_refused(base: Path) -> None:
    with pytest.raises(CorpusError, match="not divided into documents"):
        read_documents(SAMPLE, "tatoeba", ("en", "de"), Vocabulary(base / VOCABULARY), 200)


def test_sentences_of_a_corpus_without_documents_may_stand_alone(base: Path) -> None:
    documents = read_documents(SAMPLE, "tatoeba", ("en", "de"), Vocabulary(base / VOCABULARY), 200, 50, alone=True)
    assert len(documents) == 50
    assert all(len(document) == 1 and document[0].index == 0 for document in documents)
    assert len({document[0].document for document in documents}) == 50
    divided = read_documents(SAMPLE, "dialogues", ("en", "de"), Vocabulary(base / VOCABULARY), 200, alone=True)
    assert max(map(len, divided)) > 1


def test_made_corpora_are_known_by_their_name(base: Path, tmp_path: Path) -> None:
    for name in ("context-swap", "other"):
        for language in ("en", "de"):
            (tmp_path / f"{name}.{language}").write_bytes((SAMPLE / f"dialogues.{language}").read_bytes())
    for name, made in (("context-swap", True), ("other", False)):
        documents = read_documents(tmp_path, name, ("en", "de"), Vocabulary(base / VOCABULARY), 200)
        assert {sentence.needs_context for document in documents for sentence in document} == {made}


@settings(deadline=None, max_examples=50)
@given(lengths=st.lists(st.integers(1, 25), min_size=1, max_size=6), most=st.integers(2, 12), tokens=st.integers(4, 90))
def test_passages_hold_whole_pieces_of_limited_length(lengths: list[int], most: int, tokens: int) -> None:
    documents = some_documents(tuple(lengths))
    pieces = cut_documents(documents, most)
    assert [s.pair for piece in pieces for s in piece] == [s.pair for document in documents for s in document]
    assert max(map(len, pieces)) <= most
    numbered = by_length(epoch_documents({"x": pieces}, {"x": 1}, 1, 0), "seed")
    packed = passages(numbered, tokens)
    for passage in packed:
        first = len({s.document for s in passage.queries}) == 1
        assert passage.keys is passage.queries
        assert first or len(passage.queries) * width(passage.queries) <= tokens
    assert [s for passage in packed for s in passage.queries] == [s for document in numbered for s in document]


@settings(deadline=None, max_examples=30)
@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=5), foreign=st.booleans())
def test_the_grids_of_a_passage_name_every_sentence_in_its_documents_row(lengths: list[int], foreign: bool) -> None:
    documents = epoch_documents({"x": some_documents(tuple(lengths))}, {"x": 1}, 0, 0)
    (passage,) = passages(documents, 10_000, foreign_documents(documents, "seed") if foreign else None)
    for grid, sentences in zip(passage.grids(), (passage.queries, passage.keys), strict=True):
        assert sorted(grid[grid >= 0].tolist()) == list(range(len(sentences)))
        for row, document in zip(grid.tolist(), documents, strict=True):
            assert all(sentences[number].document == document[0].document for number in row if number >= 0)


def test_an_epoch_is_decided_by_its_number() -> None:
    corpora = {"a": some_documents((2, 3, 4)), "b": some_documents((5,) * 8)}
    first, again, other = (epoch_documents(corpora, {"a": 1, "b": 0.5}, 1, epoch) for epoch in (0, 0, 1))
    assert first == again != other
    assert sorted(map(len, first)) == [2, 3, 4, 5, 5, 5, 5]
    assert [document[0].document for document in first] == list(range(7))


def test_a_foreign_document_replaces_the_keys() -> None:
    documents = some_documents((3, 4, 2, 5))
    foreign = foreign_documents(documents, "seed")
    (passage,) = passages(documents, 10_000, foreign)
    for number in range(4):
        shown = [s for s in passage.keys if s.document == number]
        assert [s.pair for s in shown] == [s.pair for s in foreign[number]]
        assert foreign[number][0].document != number
    keep = passage.distance(online=False)
    assert keep.shape == (14, 14)
    assert bool(keep.any(dim=1).all())


def test_distances_of_a_passage_are_those_of_its_documents() -> None:
    sentences = [sentence for document in some_documents((2, 2)) for sentence in document]
    keep = Passage(sentences, sentences).distance(online=True)
    assert keep.int().tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]]


def test_a_long_document_does_not_make_the_next_passages_small() -> None:
    def document(number: int, length: int) -> list[PlacedPair]:
        return [PlacedPair(Pair([5] * length, [6]), number, 0)]

    wide, narrow = document(0, 99), [document(number, 9) for number in range(1, 21)]
    assert [len(passage.queries) for passage in passages([wide, *narrow], 100)] == [1, 10, 10]
    assert width(wide) == 100  # with EOS
