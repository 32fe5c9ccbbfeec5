"""Whole documents from the first on."""

from pathlib import Path

import pytest

from export.compare.documents.text import read_document_set
from model.data.corpus import CorpusError
from model.training.checkpoint import VOCABULARY
from tests.export.compare.documents.runs import SAMPLE, base_folder


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return base_folder(tmp_path_factory.mktemp("base")) / VOCABULARY


def test_documents_are_whole_and_in_order(vocabulary: Path) -> None:
    lines = (SAMPLE / "dialogues.en").read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    first = len(read_document_set(SAMPLE, "dialogues", ("en", "de"), vocabulary, 90, 99, 1).sentences)
    sizes = (first, first + 1, 10_000)
    one, two, every = (read_document_set(SAMPLE, "dialogues", ("en", "de"), vocabulary, 90, 99, n) for n in sizes)
    assert [len(found.documents) for found in (one, two, every)] == [1, 2, len(lines)]
    for document, text in zip(every.documents, lines, strict=True):
        kept = [sentence.text.source for sentence in document]
        assert kept == [line for line in text.split("\n") if line in kept]
        assert all(len(sentence.ids.target) <= 90 for sentence in document)
    assert two.documents == every.documents[:2]
    cut = read_document_set(SAMPLE, "dialogues", ("en", "de"), vocabulary, 90, 3, 10_000)
    assert cut.documents == tuple(document[:3] for document in every.documents)
    assert len({one.key, two.key, every.key}) == 3
    assert len(two.references) == len(two.sentences) > first


def test_a_set_without_documents_is_refused(vocabulary: Path) -> None:
    with pytest.raises(CorpusError, match="'tatoeba' is not divided into documents"):
        read_document_set(SAMPLE, "tatoeba", ("en", "de"), vocabulary, 90, 99, 5)
