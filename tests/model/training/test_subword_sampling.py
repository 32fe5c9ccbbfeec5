"""Sources that are cut into pieces at random."""

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.data.batching import Pair
from model.data.documents import PlacedPair
from model.data.vocabulary import Vocabulary, train_vocabulary
from model.training.document_recipe import DocumentRecipe
from model.training.id_lists import load_id_lists, save_id_lists
from model.training.recipe import DataRecipe, Recipe
from model.training.run import TrainingRun
from model.training.subword_sampling import SampledSources
from model.training.train import Training
from model.training.train_document import DocumentTraining
from tests.model.runs import tiny
from tests.model.training.documents.some import SAMPLE
from tests.model.training.documents.some import recipe as for_documents
from tests.models import lively_model, tiny_config, write_checkpoint

LONGEST = 40


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    path = tmp_path_factory.mktemp("vocabulary") / "vocabulary.model"
    train_vocabulary(lines(), 400, path)
    return Vocabulary(path)


def lines() -> list[str]:
    return [line for line in (SAMPLE / "dialogues.en").read_text(encoding="utf-8").split("\n") if line]


def some_pairs(vocabulary: Vocabulary) -> list[Pair]:
    """Pairs with targets that tell them apart."""
    return [Pair(ids, [number]) for number, ids in enumerate(vocabulary.encode(lines())) if len(ids) <= LONGEST]


def drawing(vocabulary: Vocabulary, folder: Path, share: float = 0.5, seed: int = 1) -> SampledSources:
    return SampledSources(
        DataRecipe("en", "de", {}, {}, max_pair_length=LONGEST, drawn=share), vocabulary, seed, folder
    )


def places(pairs: list[Pair], found: list[Pair]) -> set[int]:
    return {place for place, (old, new) in enumerate(zip(pairs, found, strict=True)) if old != new}


def test_a_share_of_the_sources_is_cut_otherwise(vocabulary: Vocabulary, tmp_path: Path) -> None:
    pairs = some_pairs(vocabulary)
    result = drawing(vocabulary, tmp_path).pairs(pairs, 0)
    changed = places(pairs, result)
    assert 0.2 * len(pairs) < len(changed) <= round(0.5 * len(pairs))
    assert vocabulary.decode([pair.source for pair in result]) == vocabulary.decode([pair.source for pair in pairs])
    assert [pair.target for pair in result] == [pair.target for pair in pairs]
    assert max(len(pair.source) for pair in result) <= LONGEST
    assert drawing(vocabulary, tmp_path / "none", share=0).pairs(pairs, 0) == pairs


def test_seed_and_epoch_decide_which(vocabulary: Vocabulary, tmp_path: Path) -> None:
    """Few of those that are chosen stay as they were: drawn twice, the same places change but for some."""
    pairs = some_pairs(vocabulary)
    most = round(0.1 * len(pairs))

    def changed(seed: int, epoch: int) -> set[int]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        return places(pairs, drawing(vocabulary, folder, 0.1, seed).pairs(pairs, epoch))

    once = changed(1, 0)
    assert len(once | changed(1, 0)) <= most
    assert any(len(once | changed(1, epoch)) > most for epoch in (1, 2, 3))
    assert any(len(once | changed(seed, 0)) > most for seed in (2, 3, 4))


def test_samples_of_an_epoch_are_stored(vocabulary: Vocabulary, tmp_path: Path) -> None:
    pairs = some_pairs(vocabulary)
    first = drawing(vocabulary, tmp_path).pairs(pairs, 3)
    assert drawing(vocabulary, tmp_path).pairs(pairs, 3) == first
    assert drawing(vocabulary, tmp_path / "another").pairs(pairs, 3) != first


def test_other_text_is_sampled_again(vocabulary: Vocabulary, tmp_path: Path) -> None:
    """A run may go on after its text has grown, or was put right: sources stay with their targets."""
    pairs = some_pairs(vocabulary)
    drawing(vocabulary, tmp_path).pairs(pairs, 0)
    for other in (pairs[1:], pairs[::-1]):
        result = drawing(vocabulary, tmp_path).pairs(other, 0)
        assert [pair.target for pair in result] == [pair.target for pair in other]
        assert vocabulary.decode([pair.source for pair in result]) == vocabulary.decode([pair.source for pair in other])


def test_sentences_of_documents_keep_their_places(vocabulary: Vocabulary, tmp_path: Path) -> None:
    pairs = some_pairs(vocabulary)
    documents = [
        [PlacedPair(pair, number, index, (7, index), index == 1) for index, pair in enumerate(pairs[start : start + 3])]
        for number, start in enumerate(range(0, len(pairs), 3))
    ]
    result = drawing(vocabulary, tmp_path).documents(documents, 0)
    assert [item.pair for document in result for item in document] == drawing(vocabulary, tmp_path).pairs(pairs, 0)
    for document, drawn in zip(documents, result, strict=True):
        assert [dataclasses.replace(new, pair=old.pair) for new, old in zip(drawn, document, strict=True)] == document
    assert result != documents


def sentence_training(out: Path) -> Training:
    return Training(with_drawn(tiny(20)), SAMPLE, out)


def document_training(out: Path) -> DocumentTraining:
    base = out.parent / "base"
    if not base.is_dir():
        write_checkpoint(lively_model(tiny_config(max_length=130), seed=4), base)
    whole = with_drawn(for_documents(base, train="all"))
    assert isinstance(whole, DocumentRecipe)
    return DocumentTraining(whole, SAMPLE, out)


def with_drawn(recipe: Recipe) -> Recipe:
    return dataclasses.replace(recipe, data=dataclasses.replace(recipe.data, drawn=0.7))


def curve(out: Path) -> list[str]:
    """metrics.csv without times."""
    rows = [line.split(",") for line in (out / "metrics.csv").read_text(encoding="utf-8").splitlines()]
    clock = rows[0].index("seconds")
    return [",".join(row[:clock] + row[clock + 1 :]) for row in rows]


@pytest.mark.parametrize("begin", [sentence_training, document_training])
def test_a_resumed_run_uses_its_stored_samples(
    begin: Callable[[Path], TrainingRun[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begin(tmp_path / "stopped")
    evaluate = run.evaluate
    monkeypatch.setattr(run, "evaluate", lambda nll: evaluate(nll) and False)
    run.run()
    for name, drawn in (("one", "stopped"), ("other", "one"), ("forgetful", None)):
        shutil.copytree(tmp_path / "stopped", tmp_path / name)
        shutil.rmtree(tmp_path / name / "drawn")
        if drawn is not None:
            shutil.copytree(tmp_path / drawn / "drawn", tmp_path / name / "drawn")
        begin(tmp_path / name).run()
    first, other, forgetful = (curve(tmp_path / name) for name in ("one", "other", "forgetful"))
    assert first == other
    assert first != forgetful
    assert len(first) > len(curve(tmp_path / "stopped"))


@given(lists=st.lists(st.lists(st.integers(0, 2**31 - 1))))
def test_lists_of_ids_come_back(lists: list[list[int]], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("lists") / "below" / "ids.safetensors"
    save_id_lists(lists, path)
    assert load_id_lists(path) == lists


@pytest.mark.parametrize("longest", [1, 4, 12])
def test_a_sample_that_is_too_long_is_not_used(vocabulary: Vocabulary, tmp_path: Path, longest: int) -> None:
    pairs = [pair for pair in some_pairs(vocabulary) if len(pair.source) <= 12]
    recipe = DataRecipe("en", "de", {}, {}, max_pair_length=longest, drawn=1.0)
    result = SampledSources(recipe, vocabulary, 1, tmp_path).pairs(pairs, 0)
    assert all(
        new.source == old.source or 0 < len(new.source) <= longest for old, new in zip(pairs, result, strict=True)
    )
    unlimited = SampledSources(dataclasses.replace(recipe, max_pair_length=10_000), vocabulary, 1, tmp_path)
    assert any(len(pair.source) > 12 for epoch in range(50) for pair in unlimited.pairs(pairs, epoch))
