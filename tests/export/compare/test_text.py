"""Whole documents from the first on."""

from pathlib import Path

import pytest

from export.compare.text import TextChoice, TextSet, read_set
from model.training.checkpoint import VOCABULARY
from tests.export.compare.runs import SAMPLE, base_folder

LANGUAGES = ("en", "de")


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return base_folder(tmp_path_factory.mktemp("base")) / VOCABULARY


def read(vocabulary: Path, name: str, most: int | None, limit: int | None, longest: int = 90) -> TextSet:
    return read_set(SAMPLE, name, LANGUAGES, vocabulary, TextChoice(longest, most, limit))


def test_documents_are_whole_and_in_order(vocabulary: Path) -> None:
    lines = (SAMPLE / "dialogues.en").read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    first = len(read(vocabulary, "dialogues", None, 1).sentences)
    short, two, every = (read(vocabulary, "dialogues", None, limit) for limit in (first, first + 1, None))
    assert [len(item.documents) for item in (short, two, every)] == [1, 2, len(lines)]
    for document, text in zip(every.documents, lines, strict=True):
        kept = [sentence.text.source for sentence in document]
        assert kept == [line for line in text.split("\n") if line in kept]
        assert all(len(sentence.ids.target) <= 90 for sentence in document)
    assert two.documents == every.documents[:2]
    cut = read(vocabulary, "dialogues", 3, None)
    assert cut.documents == tuple(document[:3] for document in every.documents)
    assert len({short.key, two.key, every.key, cut.key}) == 4
    assert len(two.references) == len(two.sources) == len(two.sentences) > first


def test_without_documents_every_sentence_is_one(vocabulary: Path) -> None:
    result = read(vocabulary, "tatoeba-dev", None, 12)
    assert [len(document) for document in result.documents] == [1] * 12
    assert not result.is_divided
    assert read(vocabulary, "dialogues", None, None).is_divided
    short = read(vocabulary, "tatoeba-dev", None, 12, longest=25)
    assert len(short.sentences) == 12
    assert short.sources != result.sources
    assert all(max(len(pair.source), len(pair.target)) <= 25 for (pair,) in short.pairs)
